// src/resilin/ops/pointwise/select.h -- one of two values per element: where, masked_fill, maximum, minimum.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kSelectOps;

/// a where the condition holds, else b. Bool [...], [...], [...] broadcast -> [...]; a and b are promoted as in PyTorch, two floating numbers give f32.
/// DtypeError when the condition is not Bool.
RESILIN_API Tensor where(const Tensor& condition, Input a, Input b);
/// x with `value`, a number or a tensor without axes, where the mask holds. [...], Bool [...] broadcast -> x's dtype; a floating value for integers is
/// truncated. DtypeError when the mask is not Bool; ShapeError when the value has axes.
RESILIN_API Tensor masked_fill(const Tensor& x, const Tensor& mask, Input value);
/// The same in x's memory; gives back x.
RESILIN_API const Tensor& masked_fill_(const Tensor& x, const Tensor& mask, Input value);
/// The larger (smaller) of two elements; NaN wins; of equal ones the gradient goes half to each. Of Bools: or (and).
RESILIN_API Tensor maximum(Input a, Input b);
RESILIN_API Tensor minimum(Input a, Input b);

}  // namespace resilin
