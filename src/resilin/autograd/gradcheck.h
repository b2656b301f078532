// src/resilin/autograd/gradcheck.h -- gradients against finite differences.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "resilin/tensor/tensor.h"

namespace resilin {

struct GradcheckOptions {
  double eps = 1e-6;   // half the distance of the two values
  double atol = 1e-5;  // |gradient - difference| <= atol + rtol * |difference|
  double rtol = 1e-3;
};
using GradcheckFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

/// Compares the Jacobian of f that backward gives with central differences, for each f64 input that requires a gradient. NumericError naming output, input
/// and element where they differ; DtypeError when an input that requires a gradient is no f64; ArgumentError when there is none.
RESILIN_API void gradcheck(const GradcheckFunction& f, std::span<const Tensor> inputs, const GradcheckOptions& options = {});
/// The same for the gradients of f, as functions of its inputs and of the gradients of its outputs.
RESILIN_API void gradgradcheck(const GradcheckFunction& f, std::span<const Tensor> inputs, const GradcheckOptions& options = {});

}  // namespace resilin
