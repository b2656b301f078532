// src/resilin/ops/reduce/reduce.h -- reductions over axes: sum, mean, prod, any, all.
#pragma once

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
/// Sums over axes. Integers and Bools sum as i64; f16 and bf16 accumulate in f32. The sum of nothing is 0.
/// The order is fixed: 64 lanes along rows (4 along columns), then a halving tree; the same for any number of threads.
RESILIN_API Tensor sum(const Tensor& x, const ReduceAttrs& attrs = {});
/// Sum divided by the number of elements; floats only; of nothing NaN.
RESILIN_API Tensor mean(const Tensor& x, const ReduceAttrs& attrs = {});
/// Product over axes, with the dtypes of sum; of nothing 1. Second derivatives are 0 where an element is 0.
RESILIN_API Tensor prod(const Tensor& x, const ReduceAttrs& attrs = {});
/// Whether any element (every element) is not 0: Bool, of u8 u8. Of nothing false (true).
RESILIN_API Tensor any(const Tensor& x, const ReduceAttrs& attrs = {});
RESILIN_API Tensor all(const Tensor& x, const ReduceAttrs& attrs = {});

}  // namespace resilin
