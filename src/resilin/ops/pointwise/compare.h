// src/resilin/ops/pointwise/compare.h -- comparisons and logical negation.
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

}  // namespace resilin
