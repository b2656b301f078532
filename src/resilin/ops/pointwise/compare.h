// src/resilin/ops/pointwise/compare.h -- comparisons, logic, and questions about floats.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kCompareOps;

/// [...], [...] broadcast -> Bool [...]; the inputs are brought to one dtype by PyTorch's promotion first. NaN is unequal to everything and in no order.
/// ArgumentError when both are numbers.
RESILIN_API Tensor eq(Input a, Input b);
RESILIN_API Tensor ne(Input a, Input b);
RESILIN_API Tensor lt(Input a, Input b);
RESILIN_API Tensor le(Input a, Input b);
RESILIN_API Tensor gt(Input a, Input b);
RESILIN_API Tensor ge(Input a, Input b);
/// [...] -> Bool [...]: true where x is 0 or false.
RESILIN_API Tensor logical_not(const Tensor& x);
/// [...], [...] broadcast -> Bool [...]: of "is not 0" of either; the inputs may have different dtypes.
RESILIN_API Tensor logical_and(Input a, Input b);
RESILIN_API Tensor logical_or(Input a, Input b);
RESILIN_API Tensor logical_xor(Input a, Input b);
/// [...] -> Bool [...]; integers and Bools are finite.
RESILIN_API Tensor isnan(const Tensor& x);
RESILIN_API Tensor isinf(const Tensor& x);
RESILIN_API Tensor isfinite(const Tensor& x);

}  // namespace resilin
