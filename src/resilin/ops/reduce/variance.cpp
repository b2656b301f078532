// src/resilin/ops/reduce/variance.cpp -- variance and standard deviation over axes.
#include "resilin/ops/reduce/variance.h"

#include <algorithm>
#include <cmath>

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/clamp.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/reduce/reduce_rule.h"

namespace resilin {
namespace {

using ir::OpDef;

std::vector<ir::Type> infer_variance(ir::InferContext& c) {
  const VarianceAttrs& attrs = c.attrs<VarianceAttrs>();
  const Shape& shape = c.shape(0);
  const ops::Axes axes = ops::normalized_axes(attrs.axes, static_cast<i64>(shape.size()), c.op());
  return {{c.dtype(0), ops::reduced_shape(shape, axes, attrs.keepdim), {}}};
}

Tensor centred(const Tensor& x, const VarianceAttrs& attrs) { return x - mean(x, {attrs.axes, true}); }

// total / max(count - correction, 0), where both may be known to a run only.
Tensor over_degrees(const Tensor& total, const Tensor& x, const VarianceAttrs& attrs) {
  const Dim count = ops::reduced_count(x, attrs.axes, "var");
  if (count.is_constant() && !attrs.correction.is_argument()) {
    const double degrees = std::max(static_cast<double>(count.value()) - attrs.correction.as_double(), 0.0);
    return div(total, degrees);
  }
  return div(total, clamp_min(sub(cast(size_tensor(count), x.dtype()), attrs.correction), 0.0));
}

Tensor variance(const Tensor& x, const VarianceAttrs& attrs) {
  const Tensor distance = centred(x, attrs);
  return over_degrees(sum(distance * distance, {attrs.axes, attrs.keepdim}), x, attrs);
}

// The gradient of x for that of the variance.
std::vector<Tensor> through_variance(const ir::VjpCall& call, const Tensor& grad) {
  const VarianceAttrs& attrs = call.attributes<VarianceAttrs>();
  const Tensor x = ops::widened(call.inputs[0]);
  const Tensor slope = over_degrees(mul(ops::with_reduced_axes(grad, x, attrs.axes, attrs.keepdim), 2.0), x, attrs);
  return {cast(centred(x, attrs) * slope, call.inputs[0].dtype())};
}
std::vector<Tensor> std_vjp(const ir::VjpCall& call) {
  const Tensor y = ops::widened(call.outputs[0]);
  const Tensor is_flat = eq(y, 0.0);
  return through_variance(call, where(is_flat, 0.0, ops::widened(call.grads[0]) / (2 * where(is_flat, 1.0, y))));
}

void variance_reference(ir::ReferenceCall& call) {
  const VarianceAttrs& attrs = call.attributes<VarianceAttrs>();
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  const ops::Axes axes = ops::normalized_axes(attrs.axes, static_cast<i64>(x.shape.size()), "var");
  const double count = out.numel() == 0 ? 0 : static_cast<double>(x.numel() / out.numel());
  std::vector<double> means(static_cast<std::size_t>(out.numel()), 0.0);
  ops::for_each_reduced(x, axes, [&](i64 to, i64 from) { means[static_cast<std::size_t>(to)] += x.real(from) / count; });
  ops::for_each_reduced(x, axes, [&](i64 to, i64 from) {
    const double distance = x.real(from) - means[static_cast<std::size_t>(to)];
    out.reals[static_cast<std::size_t>(to)] += distance * distance;
  });
  for (double& value : out.reals) value /= std::max(count - attrs.correction.as_double(), 0.0);
}

std::vector<ir::Sample> variance_samples() {
  std::vector<ir::Sample> samples = ops::samples_of_cases(
      [](const ops::Axes& axes, bool keepdim) { return ir::attrs_of(VarianceAttrs{.axes = axes, .keepdim = keepdim}); });
  samples[1].attrs = ir::attrs_of(VarianceAttrs{.axes = {0}, .correction = 0, .keepdim = true});
  samples[3].attrs = ir::attrs_of(VarianceAttrs{.axes = {1}, .correction = 1.5});
  return samples;
}

constexpr OpDef var_op{
    .name = "var",
    .doc = "Variance over axes.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<VarianceAttrs>,
    .dtypes = ir::kFloats,
    .infer = infer_variance,
    .lower = ir::Composite{[](const ir::CompositeCall& call) -> std::vector<Tensor> {
      return {variance(call.inputs[0], call.attributes<VarianceAttrs>())};
    }},
    .vjp = [](const ir::VjpCall& call) { return through_variance(call, ops::widened(call.grads[0])); },
    .reference = variance_reference,
    .samples = variance_samples,
};

constexpr OpDef std_op{
    .name = "std",
    .doc = "Standard deviation over axes.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<VarianceAttrs>,
    .dtypes = ir::kFloats,
    .infer = infer_variance,
    .lower = ir::Composite{[](const ir::CompositeCall& call) -> std::vector<Tensor> {
      return {sqrt(variance(call.inputs[0], call.attributes<VarianceAttrs>()))};
    }},
    .vjp = std_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          variance_reference(call);
          for (double& value : call.output().reals) value = std::sqrt(value);
        },
    .samples = variance_samples,
};

constexpr const OpDef* kTable[] = {&var_op, &std_op};

}  // namespace

constexpr OpTable kVarianceOps = kTable;

Tensor var(const Tensor& x, const VarianceAttrs& attrs) { return apply_one(var_op, {x}, attrs); }
Tensor stddev(const Tensor& x, const VarianceAttrs& attrs) { return apply_one(std_op, {x}, attrs); }

}  // namespace resilin
