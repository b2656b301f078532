// src/resilin/ops/reduce/variance.h -- variance and standard deviation over axes.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kVarianceOps;

struct VarianceAttrs {
  SmallVector<i64, 5> axes;
  Number correction = 1;
  bool keepdim = false;
  static constexpr auto fields() {
    return std::tuple{field("axes", &VarianceAttrs::axes, "Axes to reduce; none: all."),
                      field("correction", &VarianceAttrs::correction, "Taken off the number of elements before it divides."),
                      field("keepdim", &VarianceAttrs::keepdim, "Reduced axes stay with size 1.")};
  }
};

/// Sum of squared distances from the mean, divided by max(number of elements - correction, 0); NaN where that is 0 / 0. Floats only.
/// The mean comes first, the distances in a second pass of the same kernel; f16 and bf16 are computed in f32 and rounded once.
RESILIN_API Tensor var(const Tensor& x, const VarianceAttrs& attrs = {});
/// Its square root: the op `std`, a name that C++ keeps for itself. The gradient is 0 where it is 0.
RESILIN_API Tensor stddev(const Tensor& x, const VarianceAttrs& attrs = {});

}  // namespace resilin
