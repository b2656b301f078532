// src/resilin/ops/norm/trailing_axes.h -- Internal: what normalisations over trailing axes ask of their inputs.
#pragma once

#include <span>
#include <string_view>

#include "resilin/ir/infer.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/tensor/tensor.h"

namespace resilin::ops {

/// Reduces the last `count` axes, which stay with size 1.
ReduceAttrs trailing_axes(i64 count);
/// ShapeError unless input 0 has `count` >= 1 axes.
void require_axis_count(const ir::InferContext& c, i64 count);
/// Input `input`, unless it is absent, is of a floating dtype and has the shape of the last `count` axes of input 0.
void require_of_trailing_shape(ir::InferContext& c, int input, i64 count);
/// What a caller names as normalized_shape are the last sizes of x: torch's words otherwise.
void require_trailing(std::string_view op, const Tensor& x, std::span<const Dim> normalized_shape);

}  // namespace resilin::ops
