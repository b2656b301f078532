// src/resilin/ops/index/index.h -- x[...]: integers, slices, None and Ellipsis, tensors of positions and masks.
#pragma once

#include <initializer_list>
#include <span>

#include "resilin/tensor/index.h"

namespace resilin {

/// x[...] with Python's rules: an alias for integers, slices, None and Ellipsis alone, otherwise a copy with PyTorch's rules for tensors: those of positions
/// (i64, i32; negative ones count from the end) broadcast together, a mask (bool) stands for the positions of its true elements, one tensor for each
/// of its axes. Their axes lie where the indexed ones were, or first when a kept axis lies between those.
///
/// Errors  IndexError for positions outside an axis, too many indices, shapes that do not broadcast, a mask of another shape; DtypeError for other tensors;
///         UnsupportedError for a mask without axes
RESILIN_API Tensor index(const Tensor& x, std::span<const Index> indices);
RESILIN_API Tensor index(const Tensor& x, std::initializer_list<Index> indices);

}  // namespace resilin
