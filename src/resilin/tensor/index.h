// src/resilin/tensor/index.h -- the things between the brackets of x[...]: integers, slices, None, Ellipsis, tensors; and their meaning for a shape.
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "resilin/tensor/tensor.h"

namespace resilin {

/// start:stop:step as in Python; step must be >= 1.
struct Slice {
  std::optional<i64> start, stop;
  i64 step = 1;
};
struct Ellipsis {};
struct NewAxis {};
/// A tensor holds positions of one axis, or is a mask.
using Index = std::variant<i64, Slice, Ellipsis, NewAxis, Tensor>;

/// What an index does to one axis of the input, resolved and clamped; in order of the input's axes with new axes between.
struct AxisIndex {
  enum class Kind : std::uint8_t { Select, Slice, NewAxis, Positions } kind;
  i64 start = 0;  // Select: the position; Positions: which of the indices holds them
  i64 stop = 0;
  i64 step = 1;
};
/// Applies Python's rules for a concrete shape, where a tensor stands for one axis; IndexError with torch's words for a position outside its axis or too many indices.
std::vector<AxisIndex> resolve_index(std::span<const Dim> shape, std::span<const Index> indices);

}  // namespace resilin
