// src/resilin/ops/norm/layer_norm.cpp -- layer normalisation.
#include "resilin/ops/norm/layer_norm.h"

#include <cmath>

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/norm/trailing_axes.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/reduce/reduce.h"

namespace resilin {
namespace {

std::vector<ir::Type> infer_layer_norm(ir::InferContext& c) {
  const i64 count = c.attrs<LayerNormAttrs>().axis_count;
  ops::require_axis_count(c, count);
  ops::require_of_trailing_shape(c, 1, count);
  ops::require_of_trailing_shape(c, 2, count);
  return {{c.dtype(0), c.shape(0), {}}};
}

// x less its mean, and 1 / sqrt(variance + eps).
struct Standardised {
  Tensor centred, scale;
};
Standardised standardise(const Tensor& x, const LayerNormAttrs& attrs) {
  const ReduceAttrs rows = ops::trailing_axes(attrs.axis_count);
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
  const ReduceAttrs rows = ops::trailing_axes(attrs.axis_count);
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

}  // namespace

constexpr OpTable kLayerNormOps = kTable;

Tensor layer_norm(const Tensor& x, std::span<const Dim> normalized_shape, const Tensor& weight, const Tensor& bias, Number eps) {
  ops::require_trailing("layer_norm", x, normalized_shape);
  return apply_one(layer_norm_op, {x, weight, bias}, LayerNormAttrs{static_cast<i64>(normalized_shape.size()), eps});
}
Tensor layer_norm(const Tensor& x, std::initializer_list<Dim> normalized_shape, const Tensor& weight, const Tensor& bias, Number eps) {
  return layer_norm(x, std::span<const Dim>(normalized_shape.begin(), normalized_shape.size()), weight, bias, eps);
}

}  // namespace resilin
