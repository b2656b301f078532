// src/resilin/ops/index/embedding.h -- rows of a table chosen by an index tensor.
#pragma once

#include <optional>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kEmbeddingOps;

struct EmbeddingAttrs {
  std::optional<i64> padding_idx;
  static constexpr auto fields() {
    return std::tuple{field("padding_idx", &EmbeddingAttrs::padding_idx, "Row that gets no gradient; in [0, rows).")};
  }
};

/// Row index[i, ...] of the table for every index. The gradient of a row is the sum over its uses in their order, the same for any number of threads.
///
/// Shapes  weight [n, d], index [...] (i64 or i32) -> [..., d]
/// Errors  ShapeError unless the table has two axes; DtypeError; ArgumentError for a padding_idx outside [-n, n); IndexError for an index outside [0, n)
RESILIN_API Tensor embedding(const Tensor& weight, const Tensor& index, const EmbeddingAttrs& attrs = {});

}  // namespace resilin
