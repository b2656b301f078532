// src/resilin/autograd/hooks.h -- functions that backward calls with gradients of a tensor, and gradients kept of tensors that are no leaves.
#pragma once

#include <functional>

#include "resilin/autograd/hook_list.h"
#include "resilin/tensor/tensor.h"

namespace resilin {

/// Calls `hook` with the gradient of x before it goes further, in the order of registration; a defined result replaces the gradient.
/// ArgumentError when x requires no gradient. On a tensor that is later written in place the hook sees the gradient of the old elements.
RESILIN_API HookHandle register_hook(const Tensor& x, std::function<Tensor(const Tensor& grad)> hook);
/// Calls `hook` with the leaf whenever a backward has added to its gradient. ArgumentError when it is no leaf that requires a gradient.
RESILIN_API HookHandle register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor& leaf)> hook);
/// Keeps the gradient of x, as hooks have left it, for `grad(x)`; nothing for a leaf. ArgumentError when x requires no gradient.
RESILIN_API void retain_grad(const Tensor& x);

}  // namespace resilin
