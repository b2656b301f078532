// src/resilin/tensor/index.cpp -- Python's index rules for a concrete shape.
#include "resilin/tensor/index.h"

#include <algorithm>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin {
namespace {

AxisIndex resolve_select(i64 position, i64 axis, i64 size) {
  if (position < -size || position >= size) {
    throw IndexError(cat("index ", position, " is out of bounds for dimension ", axis, " with size ", size));
  }
  return {.kind = AxisIndex::Kind::Select, .start = position < 0 ? position + size : position};
}

/// A bound of a slice counts from the end when negative and is clamped into [0, size].
i64 resolve_bound(i64 bound, i64 size) { return std::clamp<i64>(bound < 0 ? bound + size : bound, 0, size); }

AxisIndex resolve_slice(const Slice& slice, i64 size) {
  if (slice.step < 1) throw ArgumentError(cat("slice step must be positive: the step is ", slice.step));
  const i64 start = resolve_bound(slice.start.value_or(0), size);
  const i64 stop = resolve_bound(slice.stop.value_or(size), size);
  return {.kind = AxisIndex::Kind::Slice, .start = start, .stop = std::max(start, stop), .step = slice.step};
}

bool takes_axis(const Index& index) { return !std::holds_alternative<Ellipsis>(index) && !std::holds_alternative<NewAxis>(index); }

/// Throws unless the axes that the indices name exist and at most one Ellipsis stands for the rest. Returns how many they name.
i64 check_count(i64 ndim, std::span<const Index> indices) {
  const i64 taken = std::count_if(indices.begin(), indices.end(), takes_axis);
  const bool has_tensor = std::any_of(indices.begin(), indices.end(), [](const Index& i) { return std::holds_alternative<Tensor>(i); });
  if (ndim == 0 && taken == 1 && !has_tensor) {
    const bool selects = std::any_of(indices.begin(), indices.end(), [](const Index& i) { return std::holds_alternative<i64>(i); });
    throw IndexError(selects ? "invalid index of a 0-dim tensor. Use item() to convert a 0-dim tensor to a number"
                             : "slice() cannot be applied to a 0-dim tensor.");
  }
  if (taken > ndim) throw IndexError(cat("too many indices for tensor of dimension ", ndim, ": ", taken, " are given"));
  const auto ellipses = std::count_if(indices.begin(), indices.end(), [](const Index& i) { return std::holds_alternative<Ellipsis>(i); });
  if (ellipses > 1) throw IndexError(cat("an index can only have a single ellipsis ('...'): ", ellipses, " are given"));
  return taken;
}

}  // namespace

std::vector<AxisIndex> resolve_index(std::span<const Dim> shape, std::span<const Index> indices) {
  const i64 ndim = static_cast<i64>(shape.size());
  const i64 taken = check_count(ndim, indices);
  std::vector<AxisIndex> out;
  i64 axis = 0;
  const auto take_whole = [&](i64 count) {
    for (; count > 0; --count) out.push_back(resolve_slice({}, shape[static_cast<std::size_t>(axis++)].value()));
  };
  for (const Index& index : indices) {
    if (std::holds_alternative<NewAxis>(index)) {
      out.push_back({.kind = AxisIndex::Kind::NewAxis, .start = 0, .stop = 1});
    } else if (std::holds_alternative<Ellipsis>(index)) {
      take_whole(ndim - taken);
    } else if (const i64* position = std::get_if<i64>(&index)) {
      out.push_back(resolve_select(*position, axis, shape[static_cast<std::size_t>(axis)].value()));
      ++axis;
    } else if (std::holds_alternative<Tensor>(index)) {
      out.push_back({.kind = AxisIndex::Kind::Positions, .start = &index - indices.data()});
      ++axis;
    } else {
      out.push_back(resolve_slice(std::get<Slice>(index), shape[static_cast<std::size_t>(axis)].value()));
      ++axis;
    }
  }
  take_whole(ndim - axis);
  return out;
}

}  // namespace resilin
