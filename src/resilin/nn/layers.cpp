// src/resilin/nn/layers.cpp -- the layers with parameters, and dropout: Linear, Embedding, LayerNorm, RMSNorm, Dropout.
#include "resilin/nn/layers.h"

#include <cmath>

#include "resilin/autograd/history.h"
#include "resilin/ops/contract/linear.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/index/embedding.h"
#include "resilin/ops/norm/layer_norm.h"
#include "resilin/ops/norm/rms_norm.h"
#include "resilin/ops/random/dropout.h"
#include "resilin/ops/random/normal.h"
#include "resilin/ops/random/uniform.h"

namespace resilin::nn {
namespace {

void require_positive(std::string_view module, std::string_view what, i64 size) {
  if (size < 1) throw ArgumentError(cat(module, ": ", what, " is ", size, "; it must be at least 1"));
}

}  // namespace

Linear::Linear(i64 in_features, i64 out_features, bool with_bias, DType dtype) {
  require_positive("Linear", "in_features", in_features);
  require_positive("Linear", "out_features", out_features);
  const double bound = 1 / std::sqrt(static_cast<double>(in_features));
  weight = zeros({out_features, in_features}, dtype);
  uniform_(weight, -bound, bound);
  requires_grad_(weight);
  if (!with_bias) return;
  bias = zeros({out_features}, dtype);
  uniform_(bias, -bound, bound);
  requires_grad_(bias);
}
Tensor Linear::operator()(const Tensor& x) const { return linear(x, weight, bias); }

Embedding::Embedding(i64 num_embeddings, i64 embedding_dim, DType dtype) {
  require_positive("Embedding", "num_embeddings", num_embeddings);
  require_positive("Embedding", "embedding_dim", embedding_dim);
  weight = zeros({num_embeddings, embedding_dim}, dtype);
  normal_(weight, 0, 1);
  requires_grad_(weight);
}
Tensor Embedding::operator()(const Tensor& index) const { return embedding(weight, index); }

LayerNorm::LayerNorm(i64 features, double epsilon, bool with_bias, DType dtype) : weight(ones({features}, dtype)), eps(epsilon) {
  require_positive("LayerNorm", "features", features);
  requires_grad_(weight);
  if (with_bias) bias = requires_grad_(zeros({features}, dtype));
}
Tensor LayerNorm::operator()(const Tensor& x) const { return layer_norm(x, weight.shape(), weight, bias, eps); }

RMSNorm::RMSNorm(i64 features, std::optional<double> epsilon, DType dtype) : weight(ones({features}, dtype)), eps(epsilon) {
  require_positive("RMSNorm", "features", features);
  requires_grad_(weight);
}
Tensor RMSNorm::operator()(const Tensor& x) const { return rms_norm(x, weight.shape(), weight, eps); }

Tensor Dropout::operator()(const Tensor& x) const { return dropout(x, p, training); }

}  // namespace resilin::nn
