// src/resilin/ops/view/shape.h -- views that rearrange axes: reshape, permute, expand.
#pragma once

#include <span>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kShapeOps;

struct ReshapeAttrs {
  Shape shape;
  static constexpr auto fields() { return std::tuple{field("shape", &ReshapeAttrs::shape, "Sizes of the result.")}; }
};
struct PermuteAttrs {
  SmallVector<i64, 5> axes;
  static constexpr auto fields() {
    return std::tuple{field("axes", &PermuteAttrs::axes, "Axis of the input for each axis of the result.")};
  }
};
/// The same elements in row-major order under another shape; one size may be -1. An alias where the layouts compose, else a copy.
RESILIN_API Tensor reshape(const Tensor& x, std::span<const Dim> shape);
RESILIN_API Tensor reshape(const Tensor& x, std::initializer_list<Dim> shape);
/// Axes in another order; always an alias.
RESILIN_API Tensor permute(const Tensor& x, const SmallVector<i64, 5>& axes);
RESILIN_API Tensor transpose(const Tensor& x, i64 axis_a, i64 axis_b);
/// Axes of size 1 (and new leading axes) repeated without copying; a size of -1 keeps the axis; always an alias.
RESILIN_API Tensor expand(const Tensor& x, std::span<const Dim> shape);
RESILIN_API Tensor expand(const Tensor& x, std::initializer_list<Dim> shape);
}  // namespace resilin
