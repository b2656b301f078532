// src/resilin/ops/scan/cumsum.h -- running sums along an axis.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kCumsumOps;

struct CumsumAttrs {
  i64 axis = -1;
  static constexpr auto fields() { return std::tuple{field("axis", &CumsumAttrs::axis, "Axis to sum along.")}; }
};

/// Element i along the axis is the sum of elements 0..i. [...] -> [...]; integers and Bools give i64 and wrap; f16 and bf16 accumulate in f32, and each
/// result is rounded. The order is fixed: blocks of 64 along rows, one after another along columns; the same for any number of threads.
/// IndexError for an axis out of range.
RESILIN_API Tensor cumsum(const Tensor& x, i64 axis);

}  // namespace resilin
