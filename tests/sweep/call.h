// tests/sweep/call.h -- a case made concrete: arrays, tensors, numbers and attributes of one call.
#pragma once

#include <optional>
#include <vector>

#include "resilin/dispatch/apply.h"

#include "tests/sweep/case.h"

namespace resilin::sweep {

/// One input: an array with its tensor, a number, or nothing.
struct CallInput {
  std::optional<ir::Array> array;
  Tensor tensor;
  std::optional<Number> number;
};

struct Call {
  const ir::OpDef* op = nullptr;
  ir::Attrs attrs;
  std::vector<CallInput> inputs;
  bool has_bad_index = false;  // an index lies outside its axis

  std::vector<Input> arguments() const;
  /// As a graph of the call takes them: tensors, sizes of the attributes, numbers of the inputs and then of the attributes.
  std::vector<const Tensor*> tensors() const;
  std::vector<i64> parameters() const;
  std::vector<Number> numbers() const;
};

/// Nothing when a layout of the case is no other than row-major for its shape, or when a size would be negative.
std::optional<Call> make_call(const Case& c);

}  // namespace resilin::sweep
