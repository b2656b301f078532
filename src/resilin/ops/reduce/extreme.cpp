// src/resilin/ops/reduce/extreme.cpp -- largest and smallest elements over axes: amax, amin, argmax, argmin.
#include "resilin/ops/reduce/extreme.h"

#include <cmath>
#include <limits>

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/reduce/reduce_rule.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::ReduceContext;
using loop::Combiner;
using loop::Scalar;
using ops::Axes;
using ops::normalized_axes;

enum class Wanted : bool { Largest, Smallest };

// --- axes and types ------------------------------------------------------------------------------------------------------------------
Axes axes_of(const ArgReduceAttrs& attrs, i64 ndim, std::string_view op) {
  return normalized_axes(attrs.axis ? Axes{*attrs.axis} : Axes{}, ndim, op);
}
Axes arg_axes(ir::AttrsRef attrs, i64 ndim) { return axes_of(*static_cast<const ArgReduceAttrs*>(attrs.data), ndim, "argmax"); }

std::vector<ir::Type> infer_extreme(ir::InferContext& c) {
  const ReduceAttrs& attrs = c.attrs<ReduceAttrs>();
  const Axes axes = normalized_axes(attrs.axes, static_cast<i64>(c.shape(0).size()), c.op());
  if (!attrs.plain) ops::refuse_empty(c, axes);
  return {{c.dtype(0), ops::reduced_shape(c.shape(0), axes, attrs.keepdim), {}}};
}

std::vector<ir::Type> infer_position(ir::InferContext& c) {
  const ArgReduceAttrs& attrs = c.attrs<ArgReduceAttrs>();
  const Axes axes = axes_of(attrs, static_cast<i64>(c.shape(0).size()), c.op());
  ops::refuse_empty(c, axes);
  return {{DType::I64, ops::reduced_shape(c.shape(0), axes, attrs.keepdim), {}}};
}

// --- formulas ------------------------------------------------------------------------------------------------------------------------
template <class Integer>
Scalar limit(DType dtype, Wanted wanted) {
  using Limits = std::numeric_limits<Integer>;
  return Scalar::constant_integer(dtype, wanted == Wanted::Largest ? Limits::min() : Limits::max());
}

// What every element replaces.
Scalar worst(DType dtype, Wanted wanted) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (dtype) {
    case DType::F32:
    case DType::F64: return Scalar::constant(dtype, wanted == Wanted::Largest ? -kInfinity : kInfinity);
    case DType::I32: return limit<std::int32_t>(dtype, wanted);
    case DType::I64: return limit<i64>(dtype, wanted);
    case DType::U8: return limit<std::uint8_t>(dtype, wanted);
    default: return limit<bool>(dtype, wanted);
  }
}

Scalar better(const Scalar& a, const Scalar& b, Wanted wanted, bool plain) {
  const bool largest = wanted == Wanted::Largest;
  if (a.dtype() == DType::Bool) return largest ? a | b : a & b;
  if (plain) return loop::select(largest ? b > a : b < a, b, a);
  return largest ? loop::max(a, b) : loop::min(a, b);
}

Combiner build_extreme(ReduceContext& c, Wanted wanted) {
  const Scalar x = c.input();
  const DType t = x.dtype();
  return {{worst(t, wanted)}, {x}, {better(Scalar::input(t, 0), Scalar::input(t, 1), wanted, c.attrs<ReduceAttrs>().plain)}};
}

// A pair (value, position): the better value wins, NaN is better than all, ties go to the smaller position; lanes that saw nothing hold the last position.
Combiner build_position(ReduceContext& c, Wanted wanted) {
  const Scalar x = c.input();
  const DType t = x.dtype();
  const Scalar a = Scalar::input(t, 0);
  const Scalar at_a = Scalar::input(DType::I64, 1);
  const Scalar b = Scalar::input(t, 2);
  const Scalar at_b = Scalar::input(DType::I64, 3);
  Scalar wins = wanted == Wanted::Largest ? b > a : b < a;
  Scalar same = loop::equal(a, b);
  if (is_floating(t)) {
    wins = wins | (loop::is_nan(b) & !loop::is_nan(a));
    wins = wins & !loop::is_nan(a);
    same = same | (loop::is_nan(a) & loop::is_nan(b));
  }
  const Scalar take = wins | (same & (at_b < at_a));
  const Scalar last = Scalar::constant_integer(DType::I64, std::numeric_limits<i64>::max());
  return {{worst(t, wanted), last}, {x, Scalar::integer(c.position())}, {loop::select(take, b, a), loop::select(take, at_b, at_a)}};
}

std::vector<Scalar> finish_first(ReduceContext&, std::span<const Scalar> results) { return {results[0]}; }
std::vector<Scalar> finish_position(ReduceContext&, std::span<const Scalar> results) { return {results[1]}; }

// --- gradient ------------------------------------------------------------------------------------------------------------------------
// Elements that share the extreme value share its gradient equally.
std::vector<Tensor> extreme_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  if (!is_floating(x.dtype())) return {Tensor()};
  const ReduceAttrs& attrs = call.attributes<ReduceAttrs>();
  const Tensor is_extreme = eq(x, ops::with_reduced_axes(call.outputs[0], x, attrs.axes, attrs.keepdim));
  const Tensor count = sum(is_extreme, {attrs.axes, true});
  return {where(is_extreme, div(ops::with_reduced_axes(call.grads[0], x, attrs.axes, attrs.keepdim), count), 0.0)};
}

// --- references and samples ----------------------------------------------------------------------------------------------------------
// Whether the element at `from` replaces the one at `at`, or the first one, at -1.
bool replaces(const ir::Array& x, i64 at, i64 from, Wanted wanted) {
  if (at < 0) return true;
  const bool largest = wanted == Wanted::Largest;
  if (!x.is_real()) return largest ? x.integer(from) > x.integer(at) : x.integer(from) < x.integer(at);
  if (std::isnan(x.real(at)) || std::isnan(x.real(from))) return !std::isnan(x.real(at));
  return largest ? x.real(from) > x.real(at) : x.real(from) < x.real(at);
}
std::vector<i64> best_positions(const ir::ReferenceCall& call, const Axes& axes, Wanted wanted) {
  const ir::Array& x = call.input(0);
  std::vector<i64> best(static_cast<std::size_t>(call.outputs[0].numel()), -1);
  ops::for_each_reduced(x, axes, [&](i64 to, i64 from) {
    i64& at = best[static_cast<std::size_t>(to)];
    if (replaces(x, at, from, wanted)) at = from;
  });
  return best;
}

void extreme_reference(ir::ReferenceCall& call, Wanted wanted) {
  const ir::Array& x = call.input(0);
  const Axes axes = normalized_axes(call.attributes<ReduceAttrs>().axes, static_cast<i64>(x.shape.size()), "amax");
  const std::vector<i64> best = best_positions(call, axes, wanted);
  for (std::size_t to = 0; to < best.size(); ++to) {
    if (x.is_real()) {
      call.output().set(static_cast<i64>(to), x.real(best[to]));
    } else {
      call.output().set_integer(static_cast<i64>(to), x.integer(best[to]));
    }
  }
}
void position_reference(ir::ReferenceCall& call, Wanted wanted) {
  const ir::Array& x = call.input(0);
  const Axes axes = axes_of(call.attributes<ArgReduceAttrs>(), static_cast<i64>(x.shape.size()), "argmax");
  const std::vector<i64> best = best_positions(call, axes, wanted);
  for (std::size_t to = 0; to < best.size(); ++to) {
    const std::vector<i64> index = ir::unravel(best[to], x.shape);
    i64 position = 0;
    for (const i64 a : axes) position = position * x.shape[static_cast<std::size_t>(a)] + index[static_cast<std::size_t>(a)];
    call.output().set_integer(static_cast<i64>(to), position);
  }
}

std::vector<ir::Sample> arg_samples() {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  const auto sample = [&](std::optional<i64> axis, bool keepdim, std::vector<i64> sizes) {
    return ir::Sample{{{.shape = shape}}, ir::attrs_of(ArgReduceAttrs{axis, keepdim}), std::move(sizes)};
  };
  return {sample(1, false, {3, 37}), sample(0, true, {37, 5}), sample(std::nullopt, false, {5, 37})};
}

// --- definitions ---------------------------------------------------------------------------------------------------------------------
struct Extreme {
  std::string_view name;
  std::string_view doc;
  Combiner (*build)(ReduceContext&);
  ir::Reference reference;
};
consteval OpDef extreme(const Extreme& e) {
  return {
      .name = e.name,
      .doc = e.doc,
      .inputs = {{"x", "[...]"}},
      .attrs = &ir::kAttrsInfo<ReduceAttrs>,
      .dtypes = ir::kArithmeticDTypes,
      .infer = infer_extreme,
      .lower = ir::Reduce{ops::reduce_axes, e.build, finish_first},
      .vjp = extreme_vjp,
      .reference = e.reference,
      .samples = ops::reduce_samples,
  };
}
consteval OpDef position(const Extreme& e) {
  return {
      .name = e.name,
      .doc = e.doc,
      .inputs = {{"x", "[...]"}},
      .attrs = &ir::kAttrsInfo<ArgReduceAttrs>,
      .dtypes = ir::kFloats | ir::kInts,
      .infer = infer_position,
      .lower = ir::Reduce{arg_axes, e.build, finish_position},
      .reference = e.reference,
      .samples = arg_samples,
  };
}

constexpr OpDef amax_op = extreme({
    .name = "amax",
    .doc = "Largest element over axes; NaN wins.",
    .build = [](ReduceContext& c) { return build_extreme(c, Wanted::Largest); },
    .reference = [](ir::ReferenceCall& call) { extreme_reference(call, Wanted::Largest); },
});
constexpr OpDef amin_op = extreme({
    .name = "amin",
    .doc = "Smallest element over axes; NaN wins.",
    .build = [](ReduceContext& c) { return build_extreme(c, Wanted::Smallest); },
    .reference = [](ir::ReferenceCall& call) { extreme_reference(call, Wanted::Smallest); },
});
constexpr OpDef argmax_op = position({
    .name = "argmax",
    .doc = "Position of the first largest element along an axis.",
    .build = [](ReduceContext& c) { return build_position(c, Wanted::Largest); },
    .reference = [](ir::ReferenceCall& call) { position_reference(call, Wanted::Largest); },
});
constexpr OpDef argmin_op = position({
    .name = "argmin",
    .doc = "Position of the first smallest element along an axis.",
    .build = [](ReduceContext& c) { return build_position(c, Wanted::Smallest); },
    .reference = [](ir::ReferenceCall& call) { position_reference(call, Wanted::Smallest); },
});

constexpr const OpDef* kTable[] = {&amax_op, &amin_op, &argmax_op, &argmin_op};

}  // namespace

constexpr OpTable kExtremeOps = kTable;

Tensor amax(const Tensor& x, const ReduceAttrs& attrs) { return apply_one(amax_op, {x}, attrs); }
Tensor amin(const Tensor& x, const ReduceAttrs& attrs) { return apply_one(amin_op, {x}, attrs); }
Tensor argmax(const Tensor& x, const ArgReduceAttrs& attrs) { return apply_one(argmax_op, {x}, attrs); }
Tensor argmin(const Tensor& x, const ArgReduceAttrs& attrs) { return apply_one(argmin_op, {x}, attrs); }

}  // namespace resilin
