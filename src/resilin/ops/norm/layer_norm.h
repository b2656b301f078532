// src/resilin/ops/norm/layer_norm.h -- layer normalisation.
#pragma once

#include <initializer_list>
#include <span>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kLayerNormOps;

struct LayerNormAttrs {
  i64 axis_count = 1;
  Number eps = 1e-5;
  static constexpr auto fields() {
    return std::tuple{field("axis_count", &LayerNormAttrs::axis_count, "How many trailing axes are normalised together."),
                      field("eps", &LayerNormAttrs::eps, "Added to the variance.")};
  }
};

/// (x - mean) / sqrt(variance + eps) * weight + bias over the trailing axes that have the sizes `normalized_shape`; the variance is that of the centred
/// elements (two passes), divided by their number. One kernel.
///
/// Shapes  x [..., *normalized_shape] -> x's; weight and bias normalized_shape, each may be undefined
/// Dtypes  f32 f64 f16 bf16, computed in f32 (f64 where an input is f64); the result has x's
/// Errors  ArgumentError for an empty normalized_shape, ShapeError where sizes differ, DtypeError
RESILIN_API Tensor layer_norm(const Tensor& x, std::span<const Dim> normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                              Number eps = 1e-5);
RESILIN_API Tensor layer_norm(const Tensor& x, std::initializer_list<Dim> normalized_shape, const Tensor& weight = {},
                              const Tensor& bias = {}, Number eps = 1e-5);

}  // namespace resilin
