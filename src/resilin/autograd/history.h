// src/resilin/autograd/history.h -- which tensors require gradients, the gradients they have, and tensors without their history.
#pragma once

#include "resilin/tensor/tensor.h"

namespace resilin {

/// Whether backward makes a gradient for x: a leaf that was asked to, or the result of an op on such a tensor.
RESILIN_API bool requires_grad(const Tensor& x);
/// Makes x a leaf that requires a gradient, or one that does not; gives back x. DtypeError for a dtype that is no float; ArgumentError when x was recorded
/// and `required` is false.
RESILIN_API const Tensor& requires_grad_(const Tensor& x, bool required = true);
/// False for a result of a recorded op.
RESILIN_API bool is_leaf(const Tensor& x);

/// The gradient that backward has summed for a leaf, or kept after retain_grad; undefined when there is none.
RESILIN_API Tensor grad(const Tensor& x);
/// Replaces it; an undefined tensor clears it. The dtype and shape must be x's: DtypeError, ShapeError.
RESILIN_API void set_grad(const Tensor& x, const Tensor& grad);
RESILIN_API void clear_grad(const Tensor& x);
/// Backward writes the first gradient of the leaf x into `memory` and gives that as its gradient, so that gradients of many leaves lie in one memory. The
/// dtype and shape must be x's: DtypeError, ShapeError. An undefined tensor ends it.
RESILIN_API void set_grad_memory(const Tensor& x, const Tensor& memory);

/// That memory, or an undefined tensor.
RESILIN_API Tensor grad_memory(const Tensor& x);

/// A tensor on the same memory and version counter without history: it requires no gradient.
RESILIN_API Tensor detach(const Tensor& x);

}  // namespace resilin
