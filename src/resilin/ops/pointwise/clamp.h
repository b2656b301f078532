// src/resilin/ops/pointwise/clamp.h -- elements kept between bounds: clamp, clamp_min, clamp_max.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kClampOps;

/// min where x is smaller, max where it is larger, else x; max where min > max. [...] with bounds that are numbers, tensors or left out -> [...].
///
/// Dtypes  PyTorch's promotion of all three, then floats and integers
/// NaN     stays NaN, as an element and as a bound
/// Errors  ArgumentError without any bound; ShapeError; DtypeError
/// Elements at a bound keep their gradient; a tensor of bounds gets the gradient of the elements it replaces.
RESILIN_API Tensor clamp(const Tensor& x, Input min = {}, Input max = {});
RESILIN_API Tensor clamp_min(const Tensor& x, Input min);
RESILIN_API Tensor clamp_max(const Tensor& x, Input max);
/// The same in x's memory; gives back x.
RESILIN_API const Tensor& clamp_(const Tensor& x, Input min = {}, Input max = {});

}  // namespace resilin
