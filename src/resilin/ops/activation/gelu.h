// src/resilin/ops/activation/gelu.h -- pointwise activations: gelu, silu, relu.
#pragma once

#include <array>
#include <string_view>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kGeluOps;

enum class GeluApproximation : std::uint8_t { None, Tanh };
constexpr std::array<std::string_view, 2> enum_names(const GeluApproximation*) { return {"none", "tanh"}; }

struct GeluAttrs {
  GeluApproximation approximate = GeluApproximation::None;
  static constexpr auto fields() {
    return std::tuple{field("approximate", &GeluAttrs::approximate,
                            "tanh: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) instead of the error function.")};
  }
};

/// x times the normal distribution's probability of less than x. [...] -> [...]; floats only; f16 and bf16 are computed in f32.
RESILIN_API Tensor gelu(const Tensor& x, const GeluAttrs& attrs = {});
/// x sigmoid(x). [...] -> [...]; floats only; f16 and bf16 are computed in f32.
RESILIN_API Tensor silu(const Tensor& x);
/// max(x, 0); NaN stays NaN, its gradient at 0 is 0. [...] -> [...]; floats and integers.
RESILIN_API Tensor relu(const Tensor& x);

}  // namespace resilin
