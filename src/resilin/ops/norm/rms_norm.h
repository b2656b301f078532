// src/resilin/ops/norm/rms_norm.h -- root mean square normalisation.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kRmsNormOps;

struct RmsNormAttrs {
  i64 axis_count = 1;
  Number eps = 1e-5;
  static constexpr auto fields() {
    return std::tuple{field("axis_count", &RmsNormAttrs::axis_count, "How many trailing axes are normalised together."),
                      field("eps", &RmsNormAttrs::eps, "Added to the mean square.")};
  }
};

/// x / sqrt(mean(x^2) + eps) * weight over the trailing axes that have the sizes `normalized_shape`. One kernel.
///
/// Shapes  x [..., *normalized_shape] -> x's; weight normalized_shape, may be undefined
/// Dtypes  f32 f64 f16 bf16, computed in f32 (f64 where an input is f64); the result has x's
/// eps     absent: the machine epsilon of x's dtype
/// Errors  ArgumentError for an empty normalized_shape, ShapeError where sizes differ, DtypeError
RESILIN_API Tensor rms_norm(const Tensor& x, std::span<const Dim> normalized_shape, const Tensor& weight = {},
                            std::optional<double> eps = std::nullopt);
RESILIN_API Tensor rms_norm(const Tensor& x, std::initializer_list<Dim> normalized_shape, const Tensor& weight = {},
                            std::optional<double> eps = std::nullopt);

}  // namespace resilin
