// src/resilin/ops/reduce/reduce.h -- reductions over axes: sum, mean, amax, argmax.
#pragma once

#include <optional>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kReduceOps;

struct ReduceAttrs {
  SmallVector<i64, 5> axes;
  bool keepdim = false;
  bool plain = false;
  static constexpr auto fields() {
    return std::tuple{
        field("axes", &ReduceAttrs::axes, "Axes to reduce; none: all."),
        field("keepdim", &ReduceAttrs::keepdim, "Reduced axes stay with size 1."),
        field("plain", &ReduceAttrs::plain, "amax passes over NaN, and of nothing it is the lowest number instead of an error.")};
  }
};
struct ArgReduceAttrs {
  std::optional<i64> axis;
  bool keepdim = false;
  static constexpr auto fields() {
    return std::tuple{field("axis", &ArgReduceAttrs::axis, "Axis to search; none: all, in row-major order."),
                      field("keepdim", &ArgReduceAttrs::keepdim, "The reduced axis stays with size 1.")};
  }
};

/// Sums over axes. Integers and Bools sum as i64; f16 and bf16 accumulate in f32. The sum of nothing is 0.
/// The order is fixed: 64 lanes along rows (4 along columns), then a halving tree; the same for any number of threads.
RESILIN_API Tensor sum(const Tensor& x, const ReduceAttrs& attrs = {});
/// Sum divided by the number of elements; floats only; of nothing NaN.
RESILIN_API Tensor mean(const Tensor& x, const ReduceAttrs& attrs = {});
/// Largest element; NaN wins. IndexError when an axis that is reduced is empty.
RESILIN_API Tensor amax(const Tensor& x, const ReduceAttrs& attrs = {});
/// Position (i64) of the first largest element; the first NaN wins. IndexError when there is none.
RESILIN_API Tensor argmax(const Tensor& x, const ArgReduceAttrs& attrs = {});

}  // namespace resilin
