// src/resilin/ops/activation/softmax.h -- softmax and its logarithm along an axis.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kSoftmaxOps;

struct SoftmaxAttrs {
  i64 axis = -1;
  static constexpr auto fields() { return std::tuple{field("axis", &SoftmaxAttrs::axis, "Axis to normalise over.")}; }
};

/// exp(x - max) / sum(exp(x - max)) along the axis. [...] -> [...]; floats only; a row of -inf gives NaN as PyTorch's does.
RESILIN_API Tensor softmax(const Tensor& x, const SoftmaxAttrs& attrs = {});
/// x - max - log(sum(exp(x - max))) along the axis: the logarithm of softmax, finite where softmax itself is too small for the dtype. [...] -> [...].
RESILIN_API Tensor log_softmax(const Tensor& x, const SoftmaxAttrs& attrs = {});

}  // namespace resilin
