// src/resilin/tensor/index.h -- the things between the brackets of x[...]: integers, slices, None, Ellipsis; and their meaning for a shape.
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "resilin/sym/dim.h"

namespace resilin {

/// start:stop:step as in Python; step must be >= 1.
struct Slice {
  std::optional<i64> start, stop;
  i64 step = 1;
};
struct Ellipsis {};
struct NewAxis {};
using Index = std::variant<i64, Slice, Ellipsis, NewAxis>;

/// What an index does to one axis of the input, resolved and clamped; in order of the input's axes with new axes between.
struct AxisIndex {
  enum class Kind : std::uint8_t { Select, Slice, NewAxis } kind;
  i64 start = 0;  // Select: the position
  i64 stop = 0;
  i64 step = 1;
};
/// Applies Python's rules for a concrete shape; IndexError with torch's words for a position outside its axis or too many indices.
std::vector<AxisIndex> resolve_index(std::span<const Dim> shape, std::span<const Index> indices);

}  // namespace resilin
