// src/resilin/ops/index/nonzero.h -- positions of the elements that are not zero.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kNonzeroOps;

/// Indices of the elements that are not 0 or false, in row-major order: [...] of ndim axes -> i64 [count, ndim]. NaN is not zero.
/// The count is known only after the op ran, so a graph carries it as a size between 0 and the number of elements.
RESILIN_API Tensor nonzero(const Tensor& x);

}  // namespace resilin
