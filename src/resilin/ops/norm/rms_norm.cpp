// src/resilin/ops/norm/rms_norm.cpp -- root mean square normalisation.
#include "resilin/ops/norm/rms_norm.h"

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

std::vector<ir::Type> infer_rms_norm(ir::InferContext& c) {
  const i64 count = c.attrs<RmsNormAttrs>().axis_count;
  ops::require_axis_count(c, count);
  ops::require_of_trailing_shape(c, 1, count);
  return {{c.dtype(0), c.shape(0), {}}};
}

Tensor inverse_root(const Tensor& x, const RmsNormAttrs& attrs) {
  return rsqrt(add(mean(x * x, ops::trailing_axes(attrs.axis_count)), attrs.eps));
}

std::vector<Tensor> rms_norm_body(const ir::CompositeCall& call) {
  const Tensor y = call.inputs[0] * inverse_root(call.inputs[0], call.attributes<RmsNormAttrs>());
  return {call.inputs[1].defined() ? y * call.inputs[1] : y};
}

std::vector<Tensor> rms_norm_vjp(const ir::VjpCall& call) {
  const RmsNormAttrs& attrs = call.attributes<RmsNormAttrs>();
  const Tensor x = ops::widened(call.inputs[0]);
  const Tensor g = ops::widened(call.grads[0]);
  const Tensor scale = inverse_root(x, attrs);
  const Tensor y = x * scale;
  std::vector<Tensor> grads(2);
  if (call.wants(0)) {
    const Tensor gy = call.inputs[1].defined() ? g * ops::widened(call.inputs[1]) : g;
    grads[0] = cast(scale * (gy - y * mean(gy * y, ops::trailing_axes(attrs.axis_count))), call.inputs[0].dtype());
  }
  if (call.inputs[1].defined() && call.wants(1)) grads[1] = ops::reduce_to(g * y, call.inputs[1]);
  return grads;
}

void rms_norm_reference(ir::ReferenceCall& call) {
  const RmsNormAttrs& attrs = call.attributes<RmsNormAttrs>();
  const ir::Array& x = call.input(0);
  i64 row = 1;
  for (std::size_t a = x.shape.size() - static_cast<std::size_t>(attrs.axis_count); a < x.shape.size(); ++a) row *= x.shape[a];
  for (i64 start = 0; start < x.numel(); start += row) {
    double square = 0;
    for (i64 i = 0; i < row; ++i) square += x.real(start + i) * x.real(start + i) / static_cast<double>(row);
    for (i64 i = 0; i < row; ++i) {
      const double y = x.real(start + i) / std::sqrt(square + attrs.eps.as_double());
      call.output().set(start + i, call.inputs[1] ? y * call.input(1).real(i) : y);
    }
  }
}

std::vector<ir::Sample> rms_norm_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  const Dim k = Dim::symbol('s', 2);
  return {{{{.shape = {m, n}}, {.shape = {n}}}, ir::attrs_of(RmsNormAttrs{1, 1e-5}), {3, 37}},
          {{{.shape = {m, k, n}}, {.shape = {k, n}}}, ir::attrs_of(RmsNormAttrs{2, 1e-3}), {3, 9, 5}}};
}

constexpr ir::OpDef rms_norm_op{
    .name = "rms_norm",
    .doc = "Root mean square normalisation over trailing axes.",
    .inputs = {{"x", "[..., *n]"}, {.name = "weight", .shape = "[*n]", .kind = ir::InputKind::Optional}},
    .attrs = &ir::kAttrsInfo<RmsNormAttrs>,
    .dtypes = ir::kFloats,
    .infer = infer_rms_norm,
    .lower = ir::Composite{rms_norm_body},
    .vjp = rms_norm_vjp,
    .reference = rms_norm_reference,
    .samples = rms_norm_samples,
};

constexpr const ir::OpDef* kTable[] = {&rms_norm_op};

double epsilon_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return 0x1p-52;
    case DType::F16: return 0x1p-10;
    case DType::BF16: return 0x1p-7;
    default: return 0x1p-23;
  }
}

}  // namespace

constexpr OpTable kRmsNormOps = kTable;

Tensor rms_norm(const Tensor& x, std::span<const Dim> normalized_shape, const Tensor& weight, std::optional<double> eps) {
  ops::require_trailing("rms_norm", x, normalized_shape);
  const RmsNormAttrs attrs{static_cast<i64>(normalized_shape.size()), eps.value_or(epsilon_of(x.dtype()))};
  return apply_one(rms_norm_op, {x, weight}, attrs);
}
Tensor rms_norm(const Tensor& x, std::initializer_list<Dim> normalized_shape, const Tensor& weight, std::optional<double> eps) {
  return rms_norm(x, std::span<const Dim>(normalized_shape.begin(), normalized_shape.size()), weight, eps);
}

}  // namespace resilin
