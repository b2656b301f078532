// src/resilin/ops/pointwise/gradient.h -- Internal: what the gradients of broadcasting ops share.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ir/op.h"

namespace resilin::ops {

/// Input i of the call: its tensor, or its number.
Input operand(const ir::VjpCall& call, std::size_t i);
/// `grad` summed over the axes that broadcasting added to `like`, and cast to its dtype. Undefined when `like` is no tensor of floats.
Tensor reduce_to(const Tensor& grad, const Tensor& like);
/// f16 and bf16 as f32, so that a gradient of several steps is rounded once; other tensors as they are.
Tensor widened(const Tensor& x);
/// x / count, where count may be a size that only a run knows.
Tensor divided_by_size(const Tensor& x, Dim count);

}  // namespace resilin::ops
