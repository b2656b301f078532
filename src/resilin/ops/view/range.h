// src/resilin/ops/view/range.h -- views that choose or add positions along axes: slice, flip, pad.
#pragma once

#include <optional>
#include <span>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kRangeOps;

struct SliceAttrs {
  i64 axis = 0;
  Dim start = 0;
  Dim stop = 0;
  std::optional<Dim> step;  // absent: 1, which kernels and gradients know then
  static constexpr auto fields() {
    return std::tuple{field("axis", &SliceAttrs::axis, "Axis that is cut."),
                      field("start", &SliceAttrs::start, "First position, in [0, size]."),
                      field("stop", &SliceAttrs::stop, "One past the last position, in [start, size]."),
                      field("step", &SliceAttrs::step, "Distance of positions, >= 1; absent: 1.")};
  }
  Dim distance() const { return step.value_or(Dim(1)); }
};
struct FlipAttrs {
  SmallVector<i64, 5> axes;
  static constexpr auto fields() { return std::tuple{field("axes", &FlipAttrs::axes, "Axes to reverse.")}; }
};
struct PadAttrs {
  Shape before;
  Shape after;
  Number value = 0.0;
  static constexpr auto fields() {
    return std::tuple{field("before", &PadAttrs::before, "Elements added before each axis; negative crops."),
                      field("after", &PadAttrs::after, "Elements added after each axis; negative crops."),
                      field("value", &PadAttrs::value, "The added element.")};
  }
};

/// Positions start, start + step, ... below stop of one axis; start and stop count from the end when negative and are clamped as in Python; an alias.
RESILIN_API Tensor slice(const Tensor& x, i64 axis, i64 start, i64 stop, i64 step = 1);
/// The same with sizes that may be symbols, 0 <= start <= stop <= size.
RESILIN_API Tensor slice(const Tensor& x, const SliceAttrs& attrs);
/// The order of elements reversed along axes; a copy.
RESILIN_API Tensor flip(const Tensor& x, const SmallVector<i64, 5>& axes);
/// Elements added around x: pairs (before, after) from the last axis backwards, as in PyTorch; negative amounts crop.
RESILIN_API Tensor pad(const Tensor& x, std::span<const i64> amounts, Number value = 0.0);
RESILIN_API Tensor pad(const Tensor& x, std::initializer_list<i64> amounts, Number value = 0.0);
/// The same with one amount before and after every axis; they may be symbols.
RESILIN_API Tensor pad(const Tensor& x, const PadAttrs& attrs);

}  // namespace resilin
