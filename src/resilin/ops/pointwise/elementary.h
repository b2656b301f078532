// src/resilin/ops/pointwise/elementary.h -- elementary functions of one tensor.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kElementaryOps;

/// [...] -> [...]; integers and Bools become f32; f16 and bf16 are computed in f32 and rounded once; at most 2 ULP in f32 and f64.
RESILIN_API Tensor exp(const Tensor& x);
RESILIN_API Tensor log(const Tensor& x);
RESILIN_API Tensor tanh(const Tensor& x);
RESILIN_API Tensor erf(const Tensor& x);
RESILIN_API Tensor sigmoid(const Tensor& x);
/// Correctly rounded.
RESILIN_API Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x): two correctly rounded operations.
RESILIN_API Tensor rsqrt(const Tensor& x);

}  // namespace resilin
