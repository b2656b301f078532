// src/resilin/codegen/generate.h -- Internal: programs to code, through the LLVM plug-in, which the first call opens.
#pragma once

#include <string>

#include "resilin/codegen/cpu.h"
#include "resilin/codegen/link.h"
#include "resilin/loop/nest.h"
#include "resilin/loop/vectorize.h"

namespace resilin {

/// What code is made for; decided by the instruction set alone, so that all machines that have it share kernels.
struct Target {
  Isa isa = Isa::Avx2;
  std::string features;  // LLVM's spelling, complete
  std::string tune;      // the processor whose latencies the scheduler assumes
  loop::VectorTarget vector;
};
Target describe_target(Isa isa);

/// Code of a program whose table rows have `table_words` words; `name` is for RESILIN_SHOW. Throws UnsupportedError when the plug-in cannot be opened
/// (naming file and reason), InternalError when it refuses the program.
LinkedCode generate(const loop::Program& program, i64 table_words, const Target& target, const std::string& name);

/// Words of a row of Launch::table: the pointers of the Entry buffers and the integers of the table loop.
i64 table_words(const loop::Nest& nest);

}  // namespace resilin
