// src/resilin/ops/pointwise/power.h -- powers: pow, and the square.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kPowerOps;

/// base to the power exponent. [...], [...] broadcast -> [...]; PyTorch's type promotion, then floats or integers; Bools with Bools are DtypeError.
///
/// Floats  C's special cases, at most 2 ULP in f32 and f64; a constant exponent of 2 is one multiplication
/// Integers exact modulo the dtype's width; a negative exponent is ArgumentError
/// The gradient of the base is 0 where the exponent is 0, that of the exponent is 0 where the base is 0 and the exponent not negative.
RESILIN_API Tensor pow(Input base, Input exponent);
/// x = pow(x, exponent) in x's memory; gives back x.
RESILIN_API const Tensor& pow_(const Tensor& x, Input exponent);
/// pow(x, 2): of Bools an i64.
RESILIN_API Tensor square(const Tensor& x);
RESILIN_API const Tensor& square_(const Tensor& x);

}  // namespace resilin
