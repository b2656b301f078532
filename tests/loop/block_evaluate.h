// tests/loop/block_evaluate.h -- evaluates a formula over many elements at once: a second, independent statement of what primitives do.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "resilin/loop/scalar.h"

namespace resilin::loop {

/// A formula over Inputs as a flat list of steps. Knows the operations and dtypes that elementary functions use: Bool, I32, I64, F32, F64.
class BlockFormula {
 public:
  explicit BlockFormula(const Scalar& formula) { result_ = add(formula); }

  /// inputs[k] holds the bits of Input k for `count` elements, at most kBlock; gives back the bits of the results.
  static constexpr int kBlock = 1024;
  std::span<const std::uint64_t> evaluate(std::span<const std::vector<std::uint64_t>> inputs, int count);
  int step_count() const { return static_cast<int>(steps_.size()); }

 private:
  struct Step {
    Code code;
    DType dtype, from;
    int index;
    std::uint64_t bits;
    int args[3];
  };
  int add(const Scalar& a);

  std::vector<Step> steps_;
  std::vector<std::vector<std::uint64_t>> values_;
  std::unordered_map<const void*, int> known_;
  int result_;
};

}  // namespace resilin::loop
