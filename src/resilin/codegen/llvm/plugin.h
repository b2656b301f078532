// src/resilin/codegen/llvm/plugin.h -- Internal: the C table between the library and the LLVM plug-in; plain data only, no exception crosses it.
#pragma once

#include <cstdint>

#include "resilin/base/text.h"
#include "resilin/loop/program.h"

namespace resilin {

/// Grows with every change of this header or of loop/program.h.
inline constexpr i64 kCompilerTableVersion = 1;
inline constexpr char kCompilerTableSymbol[] = "resilin_llvm_table";

/// The code of one phase.
struct PhaseView {
  const loop::Instruction* code;
  i64 code_count;
  const std::int32_t* extra;
  i64 extra_count;
};

/// A kernel: phase p becomes the symbol phase<p> of the object.
struct ProgramView {
  const PhaseView* phases;
  i64 phase_count;
  i64 table_words;  // 8-byte words of one row of Launch::table
};

/// What code is made for.
struct TargetView {
  i64 vector_bytes;      // 32: AVX2, 64: AVX-512
  const char* features;  // LLVM feature string, complete: nothing is asked of LLVM's host detection
  const char* tune;      // LLVM processor name, used for scheduling only
  i64 keep_llvm;         // 1: also give back the IR as text
  i64 keep_assembly;     // 1: also give back the assembly
};

/// What the compiler gives back: an ELF relocatable object and texts; allocated by the plug-in, freed by CompilerTable::release.
struct CompilerOutput {
  char* object;
  i64 object_bytes;
  char* llvm_text;      // zero-terminated or null
  char* assembly_text;  // zero-terminated or null
  double emit_ms;
  double codegen_ms;
};

/// What libresilin_llvm.so exports under kCompilerTableSymbol.
struct CompilerTable {
  i64 version;
  i64 instruction_bytes;  // sizeof(loop::Instruction), so that a plug-in of another build is refused
  /// Gives back 0, or 1 with a sentence in `error` (cut to error_bytes, zero-terminated). Safe to call from several threads.
  int (*compile)(const ProgramView* program, const TargetView* target, CompilerOutput* out, char* error, i64 error_bytes);
  void (*release)(CompilerOutput* out);
};

}  // namespace resilin
