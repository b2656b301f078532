// src/resilin/ops/reduce/extreme.h -- largest and smallest elements over axes: amax, amin, argmax, argmin.
#pragma once

#include <optional>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/reduce/reduce.h"

namespace resilin {

extern const OpTable kExtremeOps;

struct ArgReduceAttrs {
  std::optional<i64> axis;
  bool keepdim = false;
  static constexpr auto fields() {
    return std::tuple{field("axis", &ArgReduceAttrs::axis, "Axis to search; none: all, in row-major order."),
                      field("keepdim", &ArgReduceAttrs::keepdim, "The reduced axis stays with size 1.")};
  }
};

/// Largest (smallest) element; NaN wins. IndexError when an axis that is reduced is empty. Equal elements share the gradient.
RESILIN_API Tensor amax(const Tensor& x, const ReduceAttrs& attrs = {});
RESILIN_API Tensor amin(const Tensor& x, const ReduceAttrs& attrs = {});
/// Position (i64) of the first largest (smallest) element; the first NaN wins. IndexError when there is none.
RESILIN_API Tensor argmax(const Tensor& x, const ArgReduceAttrs& attrs = {});
RESILIN_API Tensor argmin(const Tensor& x, const ArgReduceAttrs& attrs = {});

}  // namespace resilin
