// src/resilin/ops/optimizer/update.h -- one step of an optimizer on a parameter, its gradient and its state: one kernel.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kOptimizerOps;

struct AdamWAttrs {
  Number decay = 1.0;  // each a number of the step: see adamw_
  Number beta1 = 0.9;
  Number beta2 = 0.999;
  Number gain1 = 0.1;
  Number gain2 = 0.001;
  Number eps = 1e-8;
  Number step_size = 1e-3;
  Number correction = 1.0;
  static constexpr auto fields() {
    return std::tuple{field("decay", &AdamWAttrs::decay, "1 - lr weight_decay."),
                      field("beta1", &AdamWAttrs::beta1, "Share of the old average that stays."),
                      field("beta2", &AdamWAttrs::beta2, "The same for the average of squares."),
                      field("gain1", &AdamWAttrs::gain1, "1 - beta1."),
                      field("gain2", &AdamWAttrs::gain2, "1 - beta2."),
                      field("eps", &AdamWAttrs::eps, "Added to the root."),
                      field("step_size", &AdamWAttrs::step_size, "lr / (1 - beta1^t)."),
                      field("correction", &AdamWAttrs::correction, "sqrt(1 - beta2^t).")};
  }
};
struct SgdAttrs {
  Number lr = 1e-3;
  Number momentum = 0.0;
  Number gain = 1.0;
  Number weight_decay = 0.0;
  bool nesterov = false;
  static constexpr auto fields() {
    return std::tuple{field("lr", &SgdAttrs::lr, "Length of the step."),
                      field("momentum", &SgdAttrs::momentum, "Share of the old buffer that stays."),
                      field("gain", &SgdAttrs::gain, "Share of the gradient that is added: 1 - dampening, at the first step 1."),
                      field("weight_decay", &SgdAttrs::weight_decay, "Factor of the parameter that is added to the gradient."),
                      field("nesterov", &SgdAttrs::nesterov, "Steps along gradient + momentum * buffer.")};
  }
};

/// What an optimizer keeps of a parameter, all of its shape and dtype.
struct AdamWState {
  Tensor exp_avg, exp_avg_sq;
};

/// In place, each operation rounded as PyTorch's: param *= decay; exp_avg = beta1 exp_avg + gain1 grad; exp_avg_sq = beta2 exp_avg_sq + gain2 grad^2;
/// param -= step_size exp_avg / (sqrt(exp_avg_sq) / correction + eps). One launch.
///
/// Errors  ShapeError, DtypeError where the four differ; UnsupportedError when one of them has a history and grad mode is on
RESILIN_API void adamw_(const Tensor& param, const Tensor& grad, const AdamWState& state, const AdamWAttrs& attrs);
/// In place: param -= lr (grad + weight_decay param).
RESILIN_API void sgd_(const Tensor& param, const Tensor& grad, const SgdAttrs& attrs);
/// In place: buffer = momentum buffer + gain g, param -= lr buffer, or lr (g + momentum buffer) with nesterov, where g = grad + weight_decay param.
RESILIN_API void sgd_momentum_(const Tensor& param, const Tensor& grad, const Tensor& buffer, const SgdAttrs& attrs);

}  // namespace resilin
