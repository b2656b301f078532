// src/resilin/ops/pointwise/unary.h -- functions of one number that keep its dtype: abs, sign, and rounding to whole numbers.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kUnaryOps;

/// |x|. [...] -> [...] of the same dtype, floats and integers; of the lowest integer it is that integer. The gradient at 0 is 0.
RESILIN_API Tensor abs(const Tensor& x);
/// -1, 0 or 1: 0 for both zeros and for NaN. Bools stay as they are. The gradient is 0 everywhere.
RESILIN_API Tensor sign(const Tensor& x);
/// The nearest whole number below, above, towards zero; integers stay as they are. The gradient is 0 everywhere. DtypeError for Bools.
RESILIN_API Tensor floor(const Tensor& x);
RESILIN_API Tensor ceil(const Tensor& x);
RESILIN_API Tensor trunc(const Tensor& x);
/// The nearest whole number, of two equally near ones the even one.
RESILIN_API Tensor round(const Tensor& x);
/// The same in x's memory; gives back x.
RESILIN_API const Tensor& abs_(const Tensor& x);
RESILIN_API const Tensor& sign_(const Tensor& x);
RESILIN_API const Tensor& floor_(const Tensor& x);
RESILIN_API const Tensor& ceil_(const Tensor& x);
RESILIN_API const Tensor& trunc_(const Tensor& x);
RESILIN_API const Tensor& round_(const Tensor& x);

}  // namespace resilin
