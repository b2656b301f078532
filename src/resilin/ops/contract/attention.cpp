// src/resilin/ops/contract/attention.cpp -- scaled dot product attention.
#include "resilin/ops/contract/attention.h"

#include <cmath>
#include <limits>

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/contract/matmul.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/random/dropout.h"
#include "resilin/ops/reduce/extreme.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
ReduceAttrs rows() { return {.axes = {-1}, .keepdim = true, .plain = true}; }

void require_same(ir::InferContext& c, Dim a, Dim b, std::string_view what) {
  if (!may_be_equal(a, b)) {
    throw ShapeError(cat(c.op(), ": ", what, " differ: query is ", c.shape(0), ", key is ", c.shape(1), ", value is ", c.shape(2), "; ", a,
                         " must equal ", b));
  }
  c.same(a, b, what);
}

std::vector<ir::Type> infer_attention(ir::InferContext& c) {
  for (const int input : {0, 1, 2}) {
    if (c.shape(input).size() < 2) {
      throw ShapeError(
          cat(c.op(), ": query, key and value must have at least two axes: they are ", c.shape(0), ", ", c.shape(1), ", ", c.shape(2)));
    }
  }
  const auto axis = [&](int input, std::size_t from_end) { return c.shape(input)[c.shape(input).size() - from_end]; };
  require_same(c, axis(0, 1), axis(1, 1), "last sizes of query and key");
  require_same(c, axis(1, 2), axis(2, 2), "lengths of key and value");
  const auto batch = [&](int input) { return std::span<const Dim>(c.shape(input)).first(c.shape(input).size() - 2); };
  Shape shape = c.broadcast(c.broadcast(batch(0), batch(1)), batch(2));
  if (c.has(3)) {
    Shape scores = c.broadcast(batch(0), batch(1));
    scores.push_back(axis(0, 2));
    scores.push_back(axis(1, 2));
    c.broadcast(scores, c.shape(3));
    if (c.dtype(3) != DType::Bool && c.dtype(3) != c.dtype(0)) {
      throw DtypeError(cat(c.op(), ": Expected attn_mask dtype to be bool or to match query dtype, but got attn_mask.dtype: ", c.dtype(3),
                           " and query.dtype: ", c.dtype(0)));
    }
  }
  shape.push_back(axis(0, 2));
  shape.push_back(axis(2, 1));
  return {{c.dtype(0), shape, {}}};
}

Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

Tensor scaled(const Tensor& x, const Tensor& query, const AttentionAttrs& attrs) {
  return attrs.scale ? mul(x, *attrs.scale) : x * rsqrt(cast(size_tensor(query.size(-1)), x.dtype()));
}

// A mask [l, s] that is added is made once; every element of every head would compare its position again.
Tensor masked(Tensor scores, const Tensor& mask, bool is_causal) {
  if (is_causal) scores = scores + where(ge(unsqueeze(iota(scores.size(-2)), 1), iota(scores.size(-1))), 0.0, -kInfinity);
  if (!mask.defined()) return scores;
  return mask.dtype() == DType::Bool ? where(mask, scores, -kInfinity) : scores + mask;
}

// softmax(query key^T scale + mask), 0 in rows that are masked off.
Tensor attention_weights(const Tensor& query, const Tensor& key, const Tensor& mask, const AttentionAttrs& attrs) {
  const Tensor scores = masked(scaled(matmul(query, transposed(key)), query, attrs), mask, attrs.is_causal);
  const Tensor largest = amax(scores, rows());
  const Tensor e = exp(scores - where(eq(largest, -kInfinity), 0.0, largest));
  const Tensor total = sum(e, rows());
  return e * (1 / where(eq(total, 0), 1.0, total));
}

std::vector<Tensor> attention_body(const ir::CompositeCall& call) {
  const std::span<const Tensor> in = call.inputs;
  return {matmul(attention_weights(in[0], in[1], in[3], call.attributes<AttentionAttrs>()), in[2])};
}

std::vector<Tensor> attention_vjp(const ir::VjpCall& call) {
  const AttentionAttrs& attrs = call.attributes<AttentionAttrs>();
  const Tensor query = ops::widened(call.inputs[0]);
  const Tensor key = ops::widened(call.inputs[1]);
  const Tensor value = ops::widened(call.inputs[2]);
  const bool adds_mask = call.inputs[3].defined() && is_floating(call.inputs[3].dtype());
  const Tensor mask = adds_mask ? ops::widened(call.inputs[3]) : call.inputs[3];
  const Tensor g = ops::widened(call.grads[0]);
  const Tensor weights = attention_weights(query, key, mask, attrs);
  std::vector<Tensor> grads(4);
  if (call.wants(2)) grads[2] = ops::reduce_to(matmul(transposed(weights), g), call.inputs[2]);
  if (!call.wants(0) && !call.wants(1) && !(adds_mask && call.wants(3))) return grads;
  const Tensor to_weights = weights * matmul(g, transposed(value));
  const Tensor to_scores = to_weights - weights * sum(to_weights, rows());
  const Tensor to_products = scaled(to_scores, query, attrs);
  if (call.wants(0)) grads[0] = ops::reduce_to(matmul(to_products, key), call.inputs[0]);
  if (call.wants(1)) grads[1] = ops::reduce_to(matmul(transposed(to_products), query), call.inputs[1]);
  if (adds_mask && call.wants(3)) grads[3] = ops::reduce_to(to_scores, call.inputs[3]);
  return grads;
}

/// Sizes of one attention, its leading axes being one: what the reference computes with.
struct Sizes {
  i64 l, s, e, v;
};
void reference_row(ir::ReferenceCall& call, const Sizes& n, i64 batch, i64 row) {
  const AttentionAttrs& attrs = call.attributes<AttentionAttrs>();
  const double scale = attrs.scale ? attrs.scale->as_double() : 1 / std::sqrt(static_cast<double>(n.e));
  std::vector<double> scores(static_cast<std::size_t>(n.s), 0);
  double largest = -kInfinity;
  for (i64 j = 0; j < n.s; ++j) {
    double& score = scores[static_cast<std::size_t>(j)];
    for (i64 k = 0; k < n.e; ++k)
      score += call.input(0).real((batch * n.l + row) * n.e + k) * call.input(1).real((batch * n.s + j) * n.e + k);
    score *= scale;
    if (attrs.is_causal && j > row) score = -kInfinity;
    if (call.inputs[3]) {
      const i64 at = row * n.s + j;
      score = call.input(3).is_real() ? score + call.input(3).real(at) : call.input(3).integer(at) != 0 ? score : -kInfinity;
    }
    largest = std::max(largest, score);
  }
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - (largest == -kInfinity ? 0 : largest));
  for (i64 k = 0; k < n.v; ++k) {
    double out = 0;
    for (i64 j = 0; j < n.s; ++j)
      out += (total == 0 ? 0 : scores[static_cast<std::size_t>(j)] / total) * call.input(2).real((batch * n.s + j) * n.v + k);
    call.output().set((batch * n.l + row) * n.v + k, out);
  }
}
void attention_reference(ir::ReferenceCall& call) {
  const std::vector<i64>& q = call.input(0).shape;
  const std::vector<i64>& v = call.input(2).shape;
  const Sizes n{q[q.size() - 2], v[v.size() - 2], q.back(), v.back()};
  const i64 batches = n.l * n.e == 0 ? 0 : call.input(0).numel() / (n.l * n.e);
  for (i64 b = 0; b < batches; ++b) {
    for (i64 row = 0; row < n.l; ++row) reference_row(call, n, b, row);
  }
}

std::vector<ir::Sample> attention_samples() {
  const Dim batch = Dim::symbol('s', 0);
  const Dim l = Dim::symbol('s', 1);
  const Dim e = Dim::symbol('s', 2);
  const Dim s = Dim::symbol('s', 3);
  const auto small = [](Shape shape) { return ir::SampleInput{.shape = std::move(shape), .fill = ir::Fill::Small}; };
  const ir::SampleInput mask{.shape = {l, s}, .fill = ir::Fill::Boolean, .dtype = DType::Bool};
  return {{{small({batch, l, e}), small({batch, l, e}), small({batch, l, e})}, ir::attrs_of(AttentionAttrs{true, 0.25}), {3, 9, 17}},
          {{small({2, batch, l, e}), small({2, batch, s, e}), small({2, batch, s, e}), mask},
           ir::attrs_of(AttentionAttrs{false, 0.5}),
           {2, 9, 5, 17}},
          {{small({l, e}), small({s, e}), small({s, e}), small({l, s})}, ir::attrs_of(AttentionAttrs{false, {}}), {1, 5, 9, 17}}};
}

constexpr ir::OpDef attention_op{
    .name = "scaled_dot_product_attention",
    .doc = "Values averaged by softmax of the products of queries and keys.",
    .inputs = {{"query", "[..., l, e]"},
               {"key", "[..., s, e]"},
               {"value", "[..., s, v]"},
               {.name = "attn_mask", .shape = "[..., l, s]", .kind = ir::InputKind::Optional, .promoted = false}},
    .attrs = &ir::kAttrsInfo<AttentionAttrs>,
    .promote = ir::Promotion::First,
    .dtypes = ir::kFloats,
    .infer = infer_attention,
    .lower = ir::Composite{attention_body},
    .vjp = attention_vjp,
    .reference = attention_reference,
    .samples = attention_samples,
};

constexpr const ir::OpDef* kTable[] = {&attention_op};

}  // namespace

constexpr OpTable kAttentionOps = kTable;

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options) {
  if (options.attn_mask.defined() && options.is_causal)
    throw ArgumentError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  AttentionAttrs attrs{options.is_causal, {}};
  if (options.scale) attrs.scale = *options.scale;
  if (!attrs.scale && query.ndim() > 0 && query.size(-1).is_constant())
    attrs.scale = 1 / std::sqrt(static_cast<double>(query.size(-1).value()));
  if (options.dropout_p == 0) return apply_one(attention_op, {query, key, value, options.attn_mask}, attrs);
  const Tensor weights = attention_weights(query, key, options.attn_mask, attrs);
  return matmul(dropout(weights, options.dropout_p), value);
}

}  // namespace resilin
