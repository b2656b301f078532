// src/resilin/sym/evaluate.h -- Internal: a list of Dims compiled to a tiny stack program, evaluated at every kernel launch.
#pragma once

#include <span>
#include <vector>

#include "resilin/sym/dim.h"

namespace resilin {

/// Evaluates many Dims over the symbols s0, s1, ... in a few nanoseconds each; plain symbols and constants cost one load.
/// Products and sums are checked: overflow throws ArgumentError; floordiv or mod by zero gives 0 (an empty tensor has no element to
/// address).
class DimProgram {
 public:
  DimProgram() = default;
  /// Every symbol must be of space 's'.
  explicit DimProgram(std::span<const Dim> dims);
  std::size_t size() const { return results_.size(); }
  /// out must have room for size() values; symbols[k] is the value of s<k>.
  void evaluate(std::span<const i64> symbols, i64* out) const;
  /// The largest symbol index used plus one.
  int symbol_count() const { return symbol_count_; }

 private:
  enum class Code : std::uint8_t { Constant, Symbol, Add, Multiply, FloorDiv, Mod, Min, Max, Store };
  struct Step {
    Code code;
    i64 operand;
  };
  struct Result {
    Code code;  // Constant, Symbol, or Store: computed by steps
    i64 operand;
  };
  i64 symbol_of(Dim dim);
  void compile(Dim dim);
  void compile_sum(const DimView& parts);
  void compile_chain(const DimView& parts, Code code);
  void run_steps(std::span<const i64> symbols, i64* out) const;

  std::vector<Step> steps_;
  std::vector<Result> results_;
  int symbol_count_ = 0;
};

}  // namespace resilin
