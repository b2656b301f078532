// tests/support/program_interpreter.h -- runs a loop::Program instruction by instruction, checking every access to memory.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "resilin/loop/interpret.h"
#include "resilin/loop/program.h"

namespace resilin::test {

/// Bytes a program may touch.
struct Region {
  const std::byte* begin;
  i64 size_bytes;
  bool writable;
};

/// Runs all phases, each as ranges in descending order, so that nothing can lean on their order: of 64 iterations along a vector axis, else
/// of `grain`. Throws std::runtime_error for an access outside the regions, a value used outside its block, or operands whose lanes or
/// types do not fit.
std::optional<loop::Failure> run_program(const loop::Program& program, const loop::Nest& nest, const loop::Arguments& arguments,
                                         std::span<const Region> regions, i64 grain);

}  // namespace resilin::test
