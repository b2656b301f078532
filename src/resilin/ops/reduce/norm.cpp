// src/resilin/ops/reduce/norm.cpp -- vector norms over axes.
#include "resilin/ops/reduce/norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/pointwise/power.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/pointwise/unary.h"
#include "resilin/ops/reduce/extreme.h"
#include "resilin/ops/reduce/reduce_rule.h"

namespace resilin {
namespace {

std::vector<ir::Type> infer_norm(ir::InferContext& c) {
  const NormAttrs& attrs = c.attrs<NormAttrs>();
  const ops::Axes axes = ops::normalized_axes(attrs.axes, static_cast<i64>(c.shape(0).size()), c.op());
  if (attrs.kind == NormKind::Largest || attrs.kind == NormKind::Smallest) ops::refuse_empty(c, axes);
  return {{c.dtype(0), ops::reduced_shape(c.shape(0), axes, attrs.keepdim), {}}};
}

Tensor norm_of(const Tensor& x, const NormAttrs& attrs) {
  const ReduceAttrs rows{attrs.axes, attrs.keepdim};
  switch (attrs.kind) {
    case NormKind::Count: return sum(ne(x, 0.0), rows);
    case NormKind::Sum: return sum(abs(x), rows);
    case NormKind::Euclidean: return sqrt(sum(x * x, rows));
    case NormKind::Largest: return amax(abs(x), rows);
    case NormKind::Smallest: return amin(abs(x), rows);
    default: return pow(sum(pow(abs(x), attrs.order), rows), reciprocal(full(Shape{}, attrs.order, x.dtype())));
  }
}

// --- gradients ----------------------------------------------------------------------------------------------------------------------
// A 0 is replaced by 1 where something is divided by it and the quotient is not used.
Tensor without_zeros(const Tensor& x) { return where(eq(x, 0.0), 1.0, x); }

// The slope of the norm along every element. The norm itself is read only by the formulas that need it.
Tensor slope_of(const ir::VjpCall& call, const Tensor& x) {
  const NormAttrs& attrs = call.attributes<NormAttrs>();
  const auto rows = [&] { return ops::with_reduced_axes(ops::widened(call.outputs[0]), x, attrs.axes, attrs.keepdim); };
  switch (attrs.kind) {
    case NormKind::Count: return zeros_like(x);
    case NormKind::Sum: return sign(x);
    case NormKind::Euclidean: return x / without_zeros(rows());
    case NormKind::Largest:
    case NormKind::Smallest: {
      const Tensor is_extreme = eq(abs(x), rows());
      return where(is_extreme, sign(x) / sum(is_extreme, {attrs.axes, true}), 0.0);
    }
    default: {
      const Tensor order = full(Shape{}, attrs.order, x.dtype());
      return sign(x) * pow(without_zeros(abs(x)) / without_zeros(rows()), order - 1.0);
    }
  }
}

std::vector<Tensor> norm_vjp(const ir::VjpCall& call) {
  const NormAttrs& attrs = call.attributes<NormAttrs>();
  const Tensor x = ops::widened(call.inputs[0]);
  const Tensor g = ops::with_reduced_axes(ops::widened(call.grads[0]), x, attrs.axes, attrs.keepdim);
  return {cast(g * slope_of(call, x), call.inputs[0].dtype())};
}

// --- reference and samples ----------------------------------------------------------------------------------------------------------
double with_element(NormKind kind, double order, double so_far, double size) {
  switch (kind) {
    case NormKind::Count: return so_far + (size != 0 ? 1 : 0);
    case NormKind::Sum: return so_far + size;
    case NormKind::Euclidean: return so_far + size * size;
    case NormKind::Largest: return std::isnan(size) || size > so_far ? size : so_far;
    case NormKind::Smallest: return std::isnan(size) || size < so_far ? size : so_far;
    default: return so_far + std::pow(size, order);
  }
}

void norm_reference(ir::ReferenceCall& call) {
  const NormAttrs& attrs = call.attributes<NormAttrs>();
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  const double order = attrs.order.as_double();
  if (attrs.kind == NormKind::Smallest) std::fill(out.reals.begin(), out.reals.end(), std::numeric_limits<double>::infinity());
  ops::for_each_reduced(x, ops::normalized_axes(attrs.axes, static_cast<i64>(x.shape.size()), "norm"), [&](i64 to, i64 from) {
    double& value = out.reals[static_cast<std::size_t>(to)];
    value = with_element(attrs.kind, order, value, std::abs(x.real(from)));
  });
  for (double& value : out.reals) {
    if (attrs.kind == NormKind::Euclidean) value = std::sqrt(value);
    if (attrs.kind == NormKind::Power) value = std::pow(value, 1 / order);
  }
}

std::vector<ir::Sample> norm_samples() {
  std::vector<ir::Sample> samples =
      ops::samples_of_cases([](const ops::Axes& axes, bool keepdim) { return ir::attrs_of(NormAttrs{.axes = axes, .keepdim = keepdim}); });
  const ir::Sample rows = samples[0];
  const auto add = [&](NormKind kind, double order) {
    samples.push_back(rows);
    samples.back().attrs = ir::attrs_of(NormAttrs{kind, order, {-1}});
  };
  add(NormKind::Count, 0);
  add(NormKind::Sum, 1);
  add(NormKind::Largest, 0);
  add(NormKind::Smallest, 0);
  add(NormKind::Power, 3);
  add(NormKind::Power, 1.5);
  return samples;
}

constexpr ir::OpDef norm_op{
    .name = "norm",
    .doc = "Vector norm over axes.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<NormAttrs>,
    .dtypes = ir::kFloats,
    .infer = infer_norm,
    .lower = ir::Composite{[](const ir::CompositeCall& call) -> std::vector<Tensor> {
      return {norm_of(call.inputs[0], call.attributes<NormAttrs>())};
    }},
    .vjp = norm_vjp,
    .reference = norm_reference,
    .samples = norm_samples,
};

constexpr const ir::OpDef* kTable[] = {&norm_op};

NormKind kind_of(double p) {
  if (p == 0) return NormKind::Count;
  if (p == 1) return NormKind::Sum;
  if (p == 2) return NormKind::Euclidean;
  if (std::isinf(p)) return p > 0 ? NormKind::Largest : NormKind::Smallest;
  return NormKind::Power;
}

}  // namespace

constexpr OpTable kNormOps = kTable;

Tensor norm(const Tensor& x, Number p, const ReduceAttrs& attrs) {
  const double order = p.as_double();
  if (order < 0 && x.defined() && ops::reduced_count(x, attrs.axes, "norm") == 0) {
    throw IndexError(cat("norm: cannot compute the ", order,
                         " norm on an empty tensor because the operation does not have an identity: shape is ", x.shape()));
  }
  return apply_one(norm_op, {x}, NormAttrs{kind_of(order), std::isinf(order) ? Number(0.0) : Number(order), attrs.axes, attrs.keepdim});
}

}  // namespace resilin
