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
RESILIN_API Tensor expm1(const Tensor& x);
RESILIN_API Tensor log1p(const Tensor& x);
/// NaN for |x| > 2^48.
RESILIN_API Tensor sin(const Tensor& x);
RESILIN_API Tensor cos(const Tensor& x);
/// Correctly rounded.
RESILIN_API Tensor sqrt(const Tensor& x);
RESILIN_API Tensor reciprocal(const Tensor& x);
/// 1 / sqrt(x): two correctly rounded operations.
RESILIN_API Tensor rsqrt(const Tensor& x);
/// The same in the memory of x, which is a float; gives back x.
RESILIN_API const Tensor& exp_(const Tensor& x);
RESILIN_API const Tensor& log_(const Tensor& x);
RESILIN_API const Tensor& tanh_(const Tensor& x);
RESILIN_API const Tensor& erf_(const Tensor& x);
RESILIN_API const Tensor& sigmoid_(const Tensor& x);
RESILIN_API const Tensor& sqrt_(const Tensor& x);
RESILIN_API const Tensor& rsqrt_(const Tensor& x);
RESILIN_API const Tensor& reciprocal_(const Tensor& x);
RESILIN_API const Tensor& expm1_(const Tensor& x);
RESILIN_API const Tensor& log1p_(const Tensor& x);
RESILIN_API const Tensor& sin_(const Tensor& x);
RESILIN_API const Tensor& cos_(const Tensor& x);

}  // namespace resilin
