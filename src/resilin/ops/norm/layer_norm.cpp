// src/resilin/ops/norm/layer_norm.cpp -- layer normalisation.
#include "resilin/ops/norm/layer_norm.h"

#include <cmath>

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/reduce/reduce.h"

namespace resilin {
namespace {

std::vector<ir::Type> infer_layer_norm(ir::InferContext& c) {
  const Shape& x = c.shape(0);
  const i64 count = c.attrs<LayerNormAttrs>().axis_count;
  if (count < 1 || count > static_cast<i64>(x.size())) {
    throw ShapeError(
        cat(c.op(), ": ", count, " trailing axes are to be normalised, but x is ", x, "; there must be between 1 and ", x.size()));
  }
  const std::span<const Dim> normalized = std::span<const Dim>(x).last(static_cast<std::size_t>(count));
  for (const int input : {1, 2}) {
    if (!c.has(input)) continue;
    const std::string_view name = input == 1 ? "weight" : "bias";
    const Shape& shape = c.shape(input);
    if (!is_floating(c.dtype(input))) throw DtypeError(cat(c.op(), ": ", name, " must be of a floating dtype, but is ", c.dtype(input)));
    bool fits = static_cast<i64>(shape.size()) == count;
    for (std::size_t a = 0; fits && a < shape.size(); ++a) {
      fits = !(shape[a].is_constant() && normalized[a].is_constant()) || shape[a] == normalized[a];
    }
    if (!fits) {
      throw ShapeError(cat(c.op(), ": Expected ", name, " to be of same shape as normalized_shape, but got ", name, " of shape ", shape,
                           " and normalized_shape = ", normalized));
    }
    for (std::size_t a = 0; a < shape.size(); ++a) c.same(shape[a], normalized[a], "sizes of weight or bias and of x");
  }
  return {{c.dtype(0), x, {}}};
}

ReduceAttrs trailing_axes(const LayerNormAttrs& attrs) {
  ReduceAttrs rows{{}, true};
  for (i64 a = -attrs.axis_count; a < 0; ++a) rows.axes.push_back(a);
  return rows;
}

// x less its mean, and 1 / sqrt(variance + eps).
struct Standardised {
  Tensor centred, scale;
};
Standardised standardise(const Tensor& x, const LayerNormAttrs& attrs) {
  const ReduceAttrs rows = trailing_axes(attrs);
  const Tensor centred = x - mean(x, rows);
  return {centred, rsqrt(add(mean(centred * centred, rows), attrs.eps))};
}

std::vector<Tensor> layer_norm_body(const ir::CompositeCall& call) {
  const Standardised s = standardise(call.inputs[0], call.attributes<LayerNormAttrs>());
  Tensor y = s.centred * s.scale;
  if (call.inputs[1].defined()) y = y * call.inputs[1];
  if (call.inputs[2].defined()) y = y + call.inputs[2];
  return {y};
}

std::vector<Tensor> layer_norm_vjp(const ir::VjpCall& call) {
  const LayerNormAttrs& attrs = call.attributes<LayerNormAttrs>();
  const ReduceAttrs rows = trailing_axes(attrs);
  const Tensor& x = call.inputs[0];
  const Tensor g = ops::widened(call.grads[0]);
  const Standardised s = standardise(ops::widened(x), attrs);
  const Tensor y = s.centred * s.scale;
  std::vector<Tensor> grads(3);
  if (call.wants(0)) {
    const Tensor gy = call.inputs[1].defined() ? g * ops::widened(call.inputs[1]) : g;
    grads[0] = cast(s.scale * (gy - mean(gy, rows) - y * mean(gy * y, rows)), x.dtype());
  }
  if (call.inputs[1].defined() && call.wants(1)) grads[1] = ops::reduce_to(g * y, call.inputs[1]);
  if (call.inputs[2].defined() && call.wants(2)) grads[2] = ops::reduce_to(g, call.inputs[2]);
  return grads;
}

void layer_norm_reference(ir::ReferenceCall& call) {
  const LayerNormAttrs& attrs = call.attributes<LayerNormAttrs>();
  const ir::Array& x = call.input(0);
  i64 row = 1;
  for (std::size_t a = x.shape.size() - static_cast<std::size_t>(attrs.axis_count); a < x.shape.size(); ++a) row *= x.shape[a];
  for (i64 start = 0; start < x.numel(); start += row) {
    double mean = 0;
    for (i64 i = 0; i < row; ++i) mean += x.real(start + i) / static_cast<double>(row);
    double variance = 0;
    for (i64 i = 0; i < row; ++i) variance += (x.real(start + i) - mean) * (x.real(start + i) - mean) / static_cast<double>(row);
    for (i64 i = 0; i < row; ++i) {
      double y = (x.real(start + i) - mean) / std::sqrt(variance + attrs.eps.as_double());
      if (call.inputs[1]) y *= call.input(1).real(i);
      if (call.inputs[2]) y += call.input(2).real(i);
      call.output().set(start + i, y);
    }
  }
}

std::vector<ir::Sample> layer_norm_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  const Dim k = Dim::symbol('s', 2);
  const ir::SampleInput row{.shape = {n}};
  return {{{{.shape = {m, n}}, row, row}, ir::attrs_of(LayerNormAttrs{1, 1e-5}), {3, 37}},
          {{{.shape = {m, k, n}}, {.shape = {k, n}}, {.shape = {k, n}}}, ir::attrs_of(LayerNormAttrs{2, 1e-3}), {3, 9, 5}}};
}

constexpr ir::OpDef layer_norm_op{
    .name = "layer_norm",
    .doc = "Layer normalisation over trailing axes.",
    .inputs = {{"x", "[..., *n]"},
               {.name = "weight", .shape = "[*n]", .kind = ir::InputKind::Optional},
               {.name = "bias", .shape = "[*n]", .kind = ir::InputKind::Optional}},
    .attrs = &ir::kAttrsInfo<LayerNormAttrs>,
    .dtypes = ir::kFloats,
    .infer = infer_layer_norm,
    .lower = ir::Composite{layer_norm_body},
    .vjp = layer_norm_vjp,
    .reference = layer_norm_reference,
    .samples = layer_norm_samples,
};

constexpr const ir::OpDef* kTable[] = {&layer_norm_op};

void require_trailing(const Tensor& x, std::span<const Dim> normalized) {
  if (normalized.empty()) {
    throw ArgumentError(
        "layer_norm: Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
        "normalized_shape = []");
  }
  const std::size_t ndim = static_cast<std::size_t>(x.ndim());
  bool fits = ndim >= normalized.size();
  for (std::size_t a = 0; fits && a < normalized.size(); ++a) {
    const Dim size = x.shape()[ndim - normalized.size() + a];
    fits = size == normalized[a] || !size.is_constant() || !normalized[a].is_constant();
  }
  if (fits) return;
  std::string wanted = "[*";
  for (const Dim size : normalized) wanted += cat(", ", size);
  throw ShapeError(cat("layer_norm: Given normalized_shape=", normalized, ", expected input with shape ", wanted,
                       "], but got input of size ", x.shape()));
}

}  // namespace

constexpr OpTable kLayerNormOps = kTable;

Tensor layer_norm(const Tensor& x, std::span<const Dim> normalized_shape, const Tensor& weight, const Tensor& bias, Number eps) {
  require_trailing(x, normalized_shape);
  return apply_one(layer_norm_op, {x, weight, bias}, LayerNormAttrs{static_cast<i64>(normalized_shape.size()), eps});
}
Tensor layer_norm(const Tensor& x, std::initializer_list<Dim> normalized_shape, const Tensor& weight, const Tensor& bias, Number eps) {
  return layer_norm(x, std::span<const Dim>(normalized_shape.begin(), normalized_shape.size()), weight, bias, eps);
}

}  // namespace resilin
