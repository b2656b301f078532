// src/resilin/ops/view/axes.h -- single axes dropped, added and joined, and copies: squeeze, unsqueeze, select, flatten, clone, contiguous.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kAxesOps;

/// Without the axes of size 1, or without the given one if its size is 1. An alias. A size that is a symbol is not 1.
RESILIN_API Tensor squeeze(const Tensor& x);
RESILIN_API Tensor squeeze(const Tensor& x, i64 axis);
/// A new axis of size 1 at a position of the result, in [-ndim - 1, ndim]. An alias.
RESILIN_API Tensor unsqueeze(const Tensor& x, i64 axis);
/// One position of an axis, which is dropped; negative positions count from the end. An alias; IndexError outside the axis.
RESILIN_API Tensor select(const Tensor& x, i64 axis, i64 position);
/// The axes from start to end joined into one; a 0-d tensor gets one axis. An alias where the layout allows it, else a copy.
/// ArgumentError when start comes after end.
RESILIN_API Tensor flatten(const Tensor& x, i64 start = 0, i64 end = -1);
/// A copy in memory of its own, with the order of axes in memory kept where x is dense.
RESILIN_API Tensor clone(const Tensor& x);
/// x itself when it is row-major, else a row-major copy.
RESILIN_API Tensor contiguous(const Tensor& x);

}  // namespace resilin
