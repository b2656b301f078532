// tests/oracle/other_adapters.cpp -- calls of products, layers, index ops and new tensors.
#include "resilin/ops/contract/attention.h"
#include "resilin/ops/contract/einsum.h"
#include "resilin/ops/contract/linear.h"
#include "resilin/ops/contract/matmul.h"
#include "resilin/ops/contract/products.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/index/embedding.h"
#include "resilin/ops/index/gather.h"
#include "resilin/ops/index/index_add.h"
#include "resilin/ops/index/nonzero.h"
#include "resilin/ops/loss/cross_entropy.h"
#include "resilin/ops/norm/layer_norm.h"
#include "resilin/ops/random/dropout.h"
#include "resilin/ops/view/shape.h"
#include "resilin/ops/view/split.h"

#include "tests/oracle/adapters.h"

namespace resilin::oracle {
namespace {

std::optional<DType> optional_dtype(const Call& c) {
  const Argument dtype = c.at(c.positional_count(), "dtype");
  return dtype.is_none() ? std::nullopt : std::optional<DType>(dtype.dtype());
}

template <Tensor (*kFunction)(const Tensor&, const Tensor&)>
Results product(const Call& c) {
  return {kFunction(c.at(0).tensor(), c.at(1).tensor())};
}
Results call_rmatmul(const Call& c) { return {matmul(c.at(1).tensor(), c.at(0).tensor())}; }
Results call_einsum(const Call& c) { return {einsum(c.at(1).text(), c.at(0).tensors())}; }
Results call_linear(const Call& c) { return {linear(c.at(0).tensor(), c.at(1).tensor(), c.at(2, "bias").tensor_or_undefined())}; }

Results call_layer_norm(const Call& c) {
  const Argument eps = c.at(4, "eps");
  return {layer_norm(c.at(0).tensor(), c.at(1).dims(), c.at(2, "weight").tensor_or_undefined(), c.at(3, "bias").tensor_or_undefined(),
                     eps.is_none() ? Number(1e-5) : eps.number())};
}

// What is drawn is each library's own.
void refuse_random(double p) {
  if (p > 0 && p < 1) throw NotOurs{cat("random for p = ", p)};
}

Results call_dropout(const Call& c) {
  const Argument p = c.at(1, "p");
  const Argument training = c.at(2, "training");
  const double probability = p.is_none() ? 0.5 : p.real();
  const bool is_training = training.is_none() || training.flag();
  if (is_training) refuse_random(probability);
  return {dropout(c.at(0).tensor(), probability, is_training)};
}

// The weights, which PyTorch 1.13 gives back as well, are the attention to an identity.
Results call_attention(const Call& c) {
  AttentionOptions options;
  options.attn_mask = c.at(3, "attn_mask").tensor_or_undefined();
  const Argument p = c.at(4, "dropout_p");
  options.dropout_p = p.is_none() ? 0 : p.real();
  refuse_random(options.dropout_p);
  c.at(5, "need_attn_weights");
  if (const Argument causal = c.at(6, "is_causal"); !causal.is_none()) options.is_causal = causal.flag();
  const Tensor query = c.at(0).tensor();
  const Tensor key = c.at(1).tensor();
  const Tensor identity = eye(key.size(-2).value(), std::nullopt, key.dtype());
  return {scaled_dot_product_attention(query, key, c.at(2).tensor(), options), scaled_dot_product_attention(query, key, identity, options)};
}

Reduction reduction_of(const Argument& value) {
  if (value.is_none() || value.text() == "mean") return Reduction::Mean;
  return value.text() == "sum" ? Reduction::Sum : Reduction::None;
}

Results call_cross_entropy(const Call& c) {
  CrossEntropyOptions options;
  options.weight = c.at(2, "weight").tensor_or_undefined();
  if (const Argument ignored = c.at(4, "ignore_index"); !ignored.is_none()) options.ignore_index = ignored.integer();
  options.reduction = reduction_of(c.at(6, "reduction"));
  if (const Argument smoothing = c.at(7, "label_smoothing"); !smoothing.is_none()) options.label_smoothing = smoothing.real();
  return {cross_entropy(c.at(0).tensor(), c.at(1).tensor(), options)};
}

Results call_embedding(const Call& c) {
  const Argument padding = c.at(2, "padding_idx");
  EmbeddingAttrs attrs;
  if (!padding.is_none()) attrs.padding_idx = padding.integer();
  return {embedding(c.at(0).tensor(), c.at(1).tensor(), attrs)};
}

Results call_gather(const Call& c) { return {gather(c.at(0).tensor(), c.at(1).integer(), c.at(2).tensor())}; }
Results call_index_select(const Call& c) { return {index_select(c.at(0).tensor(), c.at(1).integer(), c.at(2).tensor())}; }
Results call_index_add(const Call& c) {
  const Argument alpha = c.at(4, "alpha");
  return {index_add(c.at(0).tensor(), c.at(1).integer(), c.at(2).tensor(), c.at(3).tensor(), alpha.is_none() ? Number(1) : alpha.number())};
}
Results call_scatter_add(const Call& c) { return {scatter_add(c.at(0).tensor(), c.at(1).integer(), c.at(2).tensor(), c.at(3).tensor())}; }
// A tensor for each axis is what unbind makes of ours; PyTorch's form of it takes a tensor without axes as one of one element.
Results call_nonzero(const Call& c) {
  const Argument as_tuple = c.at(1, "as_tuple");
  const Tensor x = c.at(0).tensor();
  if (as_tuple.is_none() || !as_tuple.flag()) return {nonzero(x)};
  return unbind(nonzero(x.ndim() == 0 ? reshape(x, {1}) : x), 1);
}

Results call_arange(const Call& c) {
  const Argument end = c.at(1, "end");
  const Argument step = c.at(2, "step");
  const Number first = c.at(0).number();
  const Number by = step.is_none() ? Number(1) : step.number();
  return {end.is_none() ? arange(0, first, 1, optional_dtype(c)) : arange(first, end.number(), by, optional_dtype(c))};
}
Results call_eye(const Call& c) {
  const Argument columns = c.at(1, "m");
  return {eye(c.at(0).integer(), columns.is_none() ? std::nullopt : std::optional<Dim>(columns.integer()),
              optional_dtype(c).value_or(DType::F32))};
}
Results call_zeros(const Call& c) { return {zeros(c.at(0).dims(), optional_dtype(c).value_or(DType::F32))}; }
Results call_ones(const Call& c) { return {ones(c.at(0).dims(), optional_dtype(c).value_or(DType::F32))}; }
Results call_full_like(const Call& c) { return {full_like(c.at(0).tensor(), c.at(1).number(), optional_dtype(c))}; }
Results call_zeros_like(const Call& c) { return {zeros_like(c.at(0).tensor(), optional_dtype(c))}; }
Results call_argwhere(const Call& c) { return {nonzero(c.at(0).tensor())}; }
Results call_ones_like(const Call& c) { return {ones_like(c.at(0).tensor(), optional_dtype(c))}; }
DType dtype_like(const Call& c) { return optional_dtype(c).value_or(c.at(0).tensor().dtype()); }
Results call_new_full(const Call& c) { return {full(c.at(1).dims(), c.at(2).number(), dtype_like(c))}; }
Results call_new_ones(const Call& c) { return {ones(c.at(1).dims(), dtype_like(c))}; }
Results call_new_zeros(const Call& c) { return {zeros(c.at(1).dims(), dtype_like(c))}; }

constexpr Adapter kAdapters[] = {
    {"__rmatmul__", call_rmatmul},
    {"arange", call_arange},
    {"argwhere", call_argwhere},
    {"bmm", product<bmm>},
    {"dot", product<dot>},
    {"einsum", call_einsum},
    {"eye", call_eye},
    {"full_like", call_full_like},
    {"gather", call_gather},
    {"index_add", call_index_add},
    {"index_select", call_index_select},
    {"matmul", product<matmul>},
    {"mm", product<mm>},
    {"mv", product<mv>},
    {"new_full", call_new_full},
    {"new_ones", call_new_ones},
    {"new_zeros", call_new_zeros},
    {"nn.functional._scaled_dot_product_attention", call_attention},
    {"nn.functional.cross_entropy", call_cross_entropy},
    {"nn.functional.dropout", call_dropout},
    {"nn.functional.embedding", call_embedding},
    {"nn.functional.layer_norm", call_layer_norm},
    {"nn.functional.linear", call_linear},
    {"nonzero", call_nonzero},
    {"ones", call_ones},
    {"ones_like", call_ones_like},
    {"outer", product<outer>},
    {"scatter_add", call_scatter_add},
    {"zeros", call_zeros},
    {"zeros_like", call_zeros_like},
};

}  // namespace

std::span<const Adapter> other_adapters() { return kAdapters; }

const Adapter* find_adapter(std::string_view op) {
  for (const std::span<const Adapter> table : {pointwise_adapters(), reduce_adapters(), view_adapters(), other_adapters()}) {
    for (const Adapter& adapter : table) {
      if (adapter.op == op) return &adapter;
    }
  }
  return nullptr;
}

std::vector<std::string_view> adapted_ops() {
  std::vector<std::string_view> names;
  for (const std::span<const Adapter> table : {pointwise_adapters(), reduce_adapters(), view_adapters(), other_adapters()}) {
    for (const Adapter& adapter : table) names.push_back(adapter.op);
  }
  return names;
}

}  // namespace resilin::oracle
