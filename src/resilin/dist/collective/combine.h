// src/resilin/dist/collective/combine.h -- Internal: the arithmetic of reductions over ranks.
#pragma once

#include <cstddef>
#include <span>

#include "resilin/base/text.h"
#include "resilin/dist/collective/kind.h"
#include "resilin/tensor/dtype.h"

namespace resilin::dist {

/// into[i] = from[0][i] op from[1][i] op ..., in this order, for `count` elements. `into` may be one of `from`, or apart from all of them.
/// No memory needs to be aligned. With one source and nothing to divide it is a copy.
///
/// f16, bf16 and the 8-bit floats are combined in f32 and rounded once, to nearest even, an average after its division. Integers wrap; u8 and
/// bool follow tensors: Sum of bools is or, Product and. Min and Max of floats give NaN when an element is NaN, and -0 counts as below +0. Every
/// NaN that comes out is the positive quiet one without payload. Complex numbers have Sum and Avg. Avg is Sum, then `average_over` divides: floats
/// exactly rounded, integers toward zero; 0 leaves the sum, for partial results.
///
/// The bits do not depend on the processor. Throws UnsupportedError for an op that the dtype does not have, before it writes.
void combine(ReduceOp op, DType dtype, std::byte* into, std::span<const std::byte* const> from, i64 count, i64 average_over);

/// What `combine` would throw, without doing anything.
void check_combine(ReduceOp op, DType dtype);

}  // namespace resilin::dist
