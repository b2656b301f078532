// src/resilin/nn/layers.h -- the layers with parameters, and dropout: Linear, Embedding, LayerNorm, RMSNorm, Dropout.
#pragma once

#include <optional>

#include "resilin/nn/module.h"
#include "resilin/tensor/generator.h"

namespace resilin::nn {

// All are made with PyTorch's default initialisation from the generator of this thread, and their parameters require gradients.

/// x weight^T + bias. Weight [out, in] and bias [out] are uniform in [-1 / sqrt(in), 1 / sqrt(in)).
struct Linear {
  Tensor weight, bias;
  static constexpr auto fields() { return std::tuple{field("weight", &Linear::weight), field("bias", &Linear::bias)}; }

  Linear() = default;
  RESILIN_API Linear(i64 in_features, i64 out_features, bool with_bias = true, DType dtype = DType::F32);
  /// [..., in] -> [..., out].
  RESILIN_API Tensor operator()(const Tensor& x) const;
};

/// Rows of a table, drawn from the normal distribution.
struct Embedding {
  Tensor weight;
  static constexpr auto fields() { return std::tuple{field("weight", &Embedding::weight)}; }

  Embedding() = default;
  RESILIN_API Embedding(i64 num_embeddings, i64 embedding_dim, DType dtype = DType::F32);
  /// Indices [...] -> [..., dim].
  RESILIN_API Tensor operator()(const Tensor& index) const;
};

/// Layer normalisation over the last axis; weight 1, bias 0.
struct LayerNorm {
  Tensor weight, bias;
  double eps = 1e-5;
  static constexpr auto fields() { return std::tuple{field("weight", &LayerNorm::weight), field("bias", &LayerNorm::bias)}; }

  LayerNorm() = default;
  RESILIN_API explicit LayerNorm(i64 features, double eps = 1e-5, bool with_bias = true, DType dtype = DType::F32);
  RESILIN_API Tensor operator()(const Tensor& x) const;
};

/// Root mean square normalisation over the last axis; weight 1. Without eps: the machine epsilon of the dtype.
struct RMSNorm {
  Tensor weight;
  std::optional<double> eps;
  static constexpr auto fields() { return std::tuple{field("weight", &RMSNorm::weight)}; }

  RMSNorm() = default;
  RESILIN_API explicit RMSNorm(i64 features, std::optional<double> eps = std::nullopt, DType dtype = DType::F32);
  RESILIN_API Tensor operator()(const Tensor& x) const;
};

/// Elements set to 0 with probability p while training.
struct Dropout {
  double p = 0.5;
  bool training = true;
  static constexpr auto fields() { return std::tuple<>(); }
  RESILIN_API Tensor operator()(const Tensor& x) const;
};

}  // namespace resilin::nn
