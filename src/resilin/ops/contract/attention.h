// src/resilin/ops/contract/attention.h -- scaled dot product attention.
#pragma once

#include <optional>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kAttentionOps;

struct AttentionAttrs {
  bool is_causal = false;
  std::optional<Number> scale;
  static constexpr auto fields() {
    return std::tuple{field("is_causal", &AttentionAttrs::is_causal, "Row i sees columns up to i only."),
                      field("scale", &AttentionAttrs::scale, "Factor of the scores; absent: 1 / sqrt(e).")};
  }
};

struct AttentionOptions {
  Tensor attn_mask = {};  // broadcasts to [..., l, s]: Bool (true takes part), or of the dtype of the query and added to the scores
  double dropout_p = 0;   // of the weights; draws from the generator of this thread
  bool is_causal = false;
  std::optional<double> scale = std::nullopt;
};

/// softmax(query key^T scale + mask) value. A row whose scores are all masked off gives 0. Backward computes the weights again instead of keeping them.
///
/// Shapes  query [..., l, e], key [..., s, e], value [..., s, v] -> [..., l, v]; leading axes broadcast
/// Dtypes  floats, all the same; f16 and bf16 are computed in f32
/// Errors  ShapeError, DtypeError; ArgumentError for a mask together with is_causal
RESILIN_API Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                                const AttentionOptions& options = {});

}  // namespace resilin
