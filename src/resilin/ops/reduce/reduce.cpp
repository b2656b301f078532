// src/resilin/ops/reduce/reduce.cpp -- reductions over axes: sum, mean, amax, argmax.
#include "resilin/ops/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/size_rule.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::ReduceContext;
using loop::Combiner;
using loop::Scalar;

// --- axes and types ------------------------------------------------------------------------------------------------------------------
using Axes = SmallVector<i64, 5>;

Axes normalized(const Axes& axes, i64 ndim, std::string_view op) {
  Axes out;
  if (axes.empty()) {
    for (i64 a = 0; a < ndim; ++a) out.push_back(a);
    return out;
  }
  for (const i64 axis : axes) {
    if (ndim == 0 && (axis == 0 || axis == -1)) continue;  // torch lets a 0-d tensor be reduced over axis 0
    const i64 a = normalize_axis(axis, ndim, op);
    if (std::find(out.begin(), out.end(), a) != out.end())
      throw ArgumentError(cat(op, ": dim ", a, " appears multiple times in the list of dims"));
    out.push_back(a);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Axes reduce_axes(ir::AttrsRef attrs, i64 ndim) { return normalized(static_cast<const ReduceAttrs*>(attrs.data)->axes, ndim, "reduce"); }
Axes arg_axes(ir::AttrsRef attrs, i64 ndim) {
  const std::optional<i64> axis = static_cast<const ArgReduceAttrs*>(attrs.data)->axis;
  return normalized(axis ? Axes{*axis} : Axes{}, ndim, "argmax");
}

Shape reduced_shape(const Shape& shape, const Axes& axes, bool keepdim) {
  Shape out;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<i64>(a)) != axes.end();
    if (!reduced) out.push_back(shape[a]);
    if (reduced && keepdim) out.push_back(1);
  }
  return out;
}

DType sum_dtype(DType t) { return is_floating(t) ? t : DType::I64; }

std::vector<ir::Type> infer_sum(ir::InferContext& c) {
  const ReduceAttrs& attrs = c.attrs<ReduceAttrs>();
  const Shape& shape = c.shape(0);
  return {{sum_dtype(c.dtype(0)), reduced_shape(shape, normalized(attrs.axes, static_cast<i64>(shape.size()), c.op()), attrs.keepdim), {}}};
}

void refuse_empty(ir::InferContext& c, const Axes& axes) {
  for (const i64 axis : axes) {
    const Dim size = c.shape(0)[static_cast<std::size_t>(axis)];
    if (size == 0) throw IndexError(cat(c.op(), ": Expected reduction dim ", axis, " to have non-zero size: shape is ", c.shape(0)));
    ops::require_less_equal(c, 1, size, "a reduced axis is empty");
  }
}

std::vector<ir::Type> infer_amax(ir::InferContext& c) {
  const ReduceAttrs& attrs = c.attrs<ReduceAttrs>();
  const Axes axes = normalized(attrs.axes, static_cast<i64>(c.shape(0).size()), c.op());
  if (!attrs.plain) refuse_empty(c, axes);
  return {{c.dtype(0), reduced_shape(c.shape(0), axes, attrs.keepdim), {}}};
}

std::vector<ir::Type> infer_argmax(ir::InferContext& c) {
  const ArgReduceAttrs& attrs = c.attrs<ArgReduceAttrs>();
  const Axes axes = normalized(attrs.axis ? Axes{*attrs.axis} : Axes{}, static_cast<i64>(c.shape(0).size()), c.op());
  refuse_empty(c, axes);
  return {{DType::I64, reduced_shape(c.shape(0), axes, attrs.keepdim), {}}};
}

// --- formulas ------------------------------------------------------------------------------------------------------------------------
Combiner build_sum(ReduceContext& c) {
  const DType dtype = compute_dtype(c.output_dtype());
  return {{Scalar::constant(dtype, 0)}, {loop::cast(c.input(), dtype)}, {Scalar::input(dtype, 0) + Scalar::input(dtype, 1)}};
}
std::vector<Scalar> finish_first(ReduceContext&, std::span<const Scalar> results) { return {results[0]}; }
std::vector<Scalar> finish_mean(ReduceContext& c, std::span<const Scalar> results) {
  return {results[0] / loop::cast(Scalar::integer(c.count()), results[0].dtype())};
}

Scalar lowest(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::F64: return Scalar::constant(dtype, -std::numeric_limits<double>::infinity());
    case DType::I32: return Scalar::constant_integer(dtype, std::numeric_limits<std::int32_t>::min());
    case DType::I64: return Scalar::constant_integer(dtype, std::numeric_limits<i64>::min());
    default: return Scalar::constant_integer(dtype, 0);
  }
}
Combiner build_amax(ReduceContext& c) {
  const Scalar x = c.input();
  const Scalar a = Scalar::input(x.dtype(), 0);
  const Scalar b = Scalar::input(x.dtype(), 1);
  const Scalar larger = x.dtype() == DType::Bool ? a | b : c.attrs<ReduceAttrs>().plain ? loop::select(b > a, b, a) : loop::max(a, b);
  return {{lowest(x.dtype())}, {x}, {larger}};
}

// A pair (value, position): the larger value wins, NaN is larger than all, ties go to the smaller position; lanes that saw nothing hold the last position.
Combiner build_argmax(ReduceContext& c) {
  const Scalar x = c.input();
  const DType t = x.dtype();
  const Scalar a = Scalar::input(t, 0);
  const Scalar at_a = Scalar::input(DType::I64, 1);
  const Scalar b = Scalar::input(t, 2);
  const Scalar at_b = Scalar::input(DType::I64, 3);
  Scalar greater = b > a;
  Scalar same = loop::equal(a, b);
  if (is_floating(t)) {
    greater = greater | (loop::is_nan(b) & !loop::is_nan(a));
    greater = greater & !loop::is_nan(a);
    same = same | (loop::is_nan(a) & loop::is_nan(b));
  }
  const Scalar take = greater | (same & (at_b < at_a));
  const Scalar last = Scalar::constant_integer(DType::I64, std::numeric_limits<i64>::max());
  return {{lowest(t), last}, {x, Scalar::integer(c.position())}, {loop::select(take, b, a), loop::select(take, at_b, at_a)}};
}
std::vector<Scalar> finish_argmax(ReduceContext&, std::span<const Scalar> results) { return {results[1]}; }

// --- gradients -----------------------------------------------------------------------------------------------------------------------
// A value per row, given the reduced axes back with size 1.
Tensor with_reduced_axes(const Tensor& rows, const Tensor& x, const ReduceAttrs& attrs) {
  if (attrs.keepdim || x.ndim() == 0) return rows;
  return reshape(rows, reduced_shape(x.shape(), normalized(attrs.axes, x.ndim(), "sum"), true));
}
std::vector<Tensor> sum_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  if (!is_floating(x.dtype())) return {Tensor()};
  return {expand(with_reduced_axes(call.grads[0], x, call.attributes<ReduceAttrs>()), x.shape())};
}
std::vector<Tensor> mean_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  const ReduceAttrs& attrs = call.attributes<ReduceAttrs>();
  Dim count = 1;
  for (const i64 axis : normalized(attrs.axes, x.ndim(), "mean")) count = count * x.size(axis);
  return {expand(with_reduced_axes(ops::divided_by_size(call.grads[0], count), x, attrs), x.shape())};
}
// Elements that share the largest value share its gradient equally.
std::vector<Tensor> amax_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  if (!is_floating(x.dtype())) return {Tensor()};
  const ReduceAttrs& attrs = call.attributes<ReduceAttrs>();
  const Tensor is_largest = eq(x, with_reduced_axes(call.outputs[0], x, attrs));
  const Tensor count = sum(is_largest, {attrs.axes, true});
  return {where(is_largest, div(with_reduced_axes(call.grads[0], x, attrs), count), 0.0)};
}

// --- references and samples ----------------------------------------------------------------------------------------------------------
// Calls visit(position in the output, position in the input) for every element of the input, in row-major order.
template <class Visit>
void for_each_reduced(const ir::Array& x, const Axes& axes, const Visit& visit) {
  for (i64 i = 0; i < x.numel(); ++i) {
    std::vector<i64> index = ir::unravel(i, x.shape);
    std::vector<i64> rest_shape;
    std::vector<i64> rest;
    for (std::size_t a = 0; a < index.size(); ++a) {
      if (std::find(axes.begin(), axes.end(), static_cast<i64>(a)) != axes.end()) continue;
      rest.push_back(index[a]);
      rest_shape.push_back(x.shape[a]);
    }
    visit(ir::ravel(rest, rest_shape), i);
  }
}

void sum_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  for_each_reduced(x, normalized(call.attributes<ReduceAttrs>().axes, static_cast<i64>(x.shape.size()), "sum"), [&](i64 to, i64 from) {
    if (out.is_real()) {
      out.reals[static_cast<std::size_t>(to)] += x.real(from);
    } else {
      out.set_integer(to, static_cast<i64>(static_cast<std::uint64_t>(out.integer(to)) + static_cast<std::uint64_t>(x.integer(from))));
    }
  });
}
void mean_reference(ir::ReferenceCall& call) {
  sum_reference(call);
  const i64 count = call.output().numel() == 0 ? 0 : call.input(0).numel() / call.output().numel();
  for (double& value : call.output().reals) value /= static_cast<double>(count);
}
void amax_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  std::vector<bool> seen(static_cast<std::size_t>(out.numel()), false);
  for_each_reduced(x, normalized(call.attributes<ReduceAttrs>().axes, static_cast<i64>(x.shape.size()), "amax"), [&](i64 to, i64 from) {
    const bool first = !seen[static_cast<std::size_t>(to)];
    seen[static_cast<std::size_t>(to)] = true;
    if (x.is_real()) {
      if (first || std::isnan(x.real(from)) || x.real(from) > out.real(to))
        out.set(to, std::isnan(out.real(to)) && !first ? out.real(to) : x.real(from));
    } else if (first || x.integer(from) > out.integer(to)) {
      out.set_integer(to, x.integer(from));
    }
  });
}
void argmax_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  const std::optional<i64> axis = call.attributes<ArgReduceAttrs>().axis;
  const i64 ndim = static_cast<i64>(x.shape.size());
  const Axes axes = normalized(axis ? Axes{*axis} : Axes{}, ndim, "argmax");
  std::vector<i64> best(static_cast<std::size_t>(out.numel()), -1);
  for_each_reduced(x, axes, [&](i64 to, i64 from) {
    i64& at = best[static_cast<std::size_t>(to)];
    const bool better = at < 0 || (x.is_real() ? !std::isnan(x.real(at)) && (std::isnan(x.real(from)) || x.real(from) > x.real(at))
                                               : x.integer(from) > x.integer(at));
    if (better) at = from;
  });
  for (i64 to = 0; to < out.numel(); ++to) {
    const std::vector<i64> index = ir::unravel(best[static_cast<std::size_t>(to)], x.shape);
    i64 position = 0;
    for (const i64 a : axes) position = position * x.shape[static_cast<std::size_t>(a)] + index[static_cast<std::size_t>(a)];
    out.set_integer(to, position);
  }
}

template <class A>
ir::Sample sample(Shape shape, const A& attrs, std::vector<i64> sizes) {
  return {{{.shape = std::move(shape)}}, ir::attrs_of(attrs), std::move(sizes)};
}
std::vector<ir::Sample> reduce_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  const Dim k = Dim::symbol('s', 2);
  return {sample({m, n}, ReduceAttrs{{-1}, false}, {3, 37}), sample({m, n}, ReduceAttrs{{0}, true}, {37, 5}),
          sample({m, n}, ReduceAttrs{}, {5, 37}), sample({m, n, k}, ReduceAttrs{{1}, false}, {3, 5, 9}),
          sample({m, n, k}, ReduceAttrs{{0, 2}, true}, {3, 5, 9})};
}
std::vector<ir::Sample> arg_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  return {sample({m, n}, ArgReduceAttrs{1, false}, {3, 37}), sample({m, n}, ArgReduceAttrs{0, true}, {37, 5}),
          sample({m, n}, ArgReduceAttrs{}, {5, 37})};
}

constexpr OpDef sum_op{
    .name = "sum",
    .doc = "Sum over axes.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<ReduceAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_sum,
    .lower = ir::Reduce{reduce_axes, build_sum, finish_first},
    .vjp = sum_vjp,
    .reference = sum_reference,
    .samples = reduce_samples,
};

constexpr OpDef mean_op{
    .name = "mean",
    .doc = "Mean over axes.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<ReduceAttrs>,
    .dtypes = ir::kFloats,
    .infer = infer_sum,
    .lower = ir::Reduce{reduce_axes, build_sum, finish_mean},
    .vjp = mean_vjp,
    .reference = mean_reference,
    .samples = reduce_samples,
};

constexpr OpDef amax_op{
    .name = "amax",
    .doc = "Largest element over axes; NaN wins.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<ReduceAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_amax,
    .lower = ir::Reduce{reduce_axes, build_amax, finish_first},
    .vjp = amax_vjp,
    .reference = amax_reference,
    .samples = reduce_samples,
};

constexpr OpDef argmax_op{
    .name = "argmax",
    .doc = "Position of the first largest element along an axis.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<ArgReduceAttrs>,
    .dtypes = ir::kFloats | ir::kInts,
    .infer = infer_argmax,
    .lower = ir::Reduce{arg_axes, build_argmax, finish_argmax},
    .reference = argmax_reference,
    .samples = arg_samples,
};

constexpr const OpDef* kTable[] = {&sum_op, &mean_op, &amax_op, &argmax_op};

}  // namespace

constexpr OpTable kReduceOps = kTable;

Tensor sum(const Tensor& x, const ReduceAttrs& attrs) { return apply_one(sum_op, {x}, attrs); }
Tensor mean(const Tensor& x, const ReduceAttrs& attrs) { return apply_one(mean_op, {x}, attrs); }
Tensor amax(const Tensor& x, const ReduceAttrs& attrs) { return apply_one(amax_op, {x}, attrs); }
Tensor argmax(const Tensor& x, const ArgReduceAttrs& attrs) { return apply_one(argmax_op, {x}, attrs); }

}  // namespace resilin
