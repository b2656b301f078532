// src/resilin/autograd/checkpoint.h -- a part of a computation that keeps its inputs only and runs again in backward.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "resilin/tensor/tensor.h"

namespace resilin {

/// f(inputs), whose saved tensors are dropped and made again, by a second run of f, when backward asks for the first of them.
///
/// f must make the same tensors both times (ArgumentError when number, dtypes or shapes differ) and must not write into what it captures; random numbers
/// of this thread's generator are drawn again. Works with create_graph and retain_graph: each backward runs f once more.
RESILIN_API std::vector<Tensor> checkpoint(const std::function<std::vector<Tensor>(std::span<const Tensor>)>& f,
                                           std::span<const Tensor> inputs);

}  // namespace resilin
