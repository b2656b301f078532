// src/resilin/ops/index/index_rule.h -- Internal: what ops with an index tensor ask of it, and their sample inputs.
#pragma once

#include "resilin/ir/op.h"

namespace resilin::ops {

/// DtypeError unless the input is i64 or i32.
void require_index_dtype(const ir::InferContext& c, int input);
/// The index has as many axes as x and is nowhere longer than it but along the axis. ShapeError in PyTorch's words.
void require_index_shape(ir::InferContext& c, const Shape& x, const Shape& index, i64 axis);
/// An attribute's axis counted from the front.
inline std::size_t front_axis(i64 axis, std::size_t ndim) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<i64>(ndim) : axis);
}
/// The index of the reference at a position; IndexError outside [0, size).
i64 checked_index(std::string_view op, const ir::Array& index, i64 at, i64 size);
/// A sample's index tensor with values below `bound`.
ir::SampleInput index_input(Shape shape, Dim bound, DType dtype = DType::I64);

}  // namespace resilin::ops
