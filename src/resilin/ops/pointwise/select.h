// src/resilin/ops/pointwise/select.h -- one of two values per element: where, maximum, minimum.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kSelectOps;

/// a where the condition holds, else b. Bool [...], [...], [...] broadcast -> [...]; a and b are promoted as in PyTorch, two floating numbers give f32.
/// DtypeError when the condition is not Bool.
RESILIN_API Tensor where(const Tensor& condition, Input a, Input b);
/// The larger (smaller) of two elements; NaN wins; of equal ones the gradient goes half to each. Of Bools: or (and).
RESILIN_API Tensor maximum(const Tensor& a, const Tensor& b);
RESILIN_API Tensor minimum(const Tensor& a, const Tensor& b);

}  // namespace resilin
