// tests/sweep/expected.h -- what a call must give: the inferred types and the outputs of the op's plain reference, or an error.
#pragma once

#include <string>
#include <typeinfo>
#include <vector>

#include "tests/sweep/call.h"

namespace resilin::sweep {

struct Expected {
  std::vector<ir::Array> outputs;                // in double or i64; empty after an error
  std::vector<std::optional<ir::Array>> inputs;  // after promotion, numbers as 0-d arrays
  const std::type_info* error = nullptr;         // the type of the error that the call must throw
  std::string message;
  bool is_refused = false;  // the error is of promotion or infer, before any element was looked at
};

Expected expect(const Call& call);

/// The reference once more with every real input multiplied by 1 + direction * 2^-bits; direction -1, 0 or 1 per input.
std::vector<ir::Array> perturbed_outputs(const Call& call, const Expected& expected, std::span<const int> directions, int bits);

}  // namespace resilin::sweep
