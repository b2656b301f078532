// src/resilin/autograd/hooks.h -- functions that backward calls with gradients of a tensor, and gradients kept of tensors that are no leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "resilin/base/hook_list.h"
#include "resilin/tensor/tensor.h"

namespace resilin {

/// Calls `hook` with the gradient of x before it goes further, in the order of registration; a defined result replaces the gradient.
/// ArgumentError when x requires no gradient. On a tensor that is later written in place the hook sees the gradient of the old elements.
RESILIN_API HookHandle register_hook(const Tensor& x, std::function<Tensor(const Tensor& grad)> hook);
enum class MultiGradMode : std::uint8_t {
  All,  // once the gradients of all tensors that a backward reaches are there; those of the others are undefined
  Any   // as soon as the first is there; the others are undefined
};
using MultiGradHook = std::function<void(std::span<const Tensor> grads)>;
/// Calls `hook` once in each backward that reaches a tensor of the list, with one gradient per tensor. ArgumentError when a tensor requires no gradient.
RESILIN_API HookHandle register_multi_grad_hook(std::span<const Tensor> tensors, MultiGradHook hook,
                                                MultiGradMode mode = MultiGradMode::All);
/// Calls `hook` with the leaf whenever a backward has added to its gradient. ArgumentError when it is no leaf that requires a gradient.
RESILIN_API HookHandle register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor& leaf)> hook);
/// Keeps the gradient of x, as hooks have left it, for `grad(x)`; nothing for a leaf. ArgumentError when x requires no gradient.
RESILIN_API void retain_grad(const Tensor& x);

}  // namespace resilin
