// src/resilin/ops/view/triangle.h -- one triangle of a matrix, zeros elsewhere: tril, triu.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kTriangleOps;

struct TriangleAttrs {
  Dim diagonal = 0;
  static constexpr auto fields() {
    return std::tuple{field("diagonal", &TriangleAttrs::diagonal, "The last diagonal that is kept: 0 the main one, above it positive.")};
  }
};

/// The elements on and below (above) a diagonal of the last two axes, 0 elsewhere; 0 is the main diagonal, positive ones lie above it and may be symbols.
/// [..., m, n] -> [..., m, n], a copy. ShapeError for less than two axes.
RESILIN_API Tensor tril(const Tensor& x, Dim diagonal = 0);
RESILIN_API Tensor triu(const Tensor& x, Dim diagonal = 0);

}  // namespace resilin
