// src/resilin/ops/pointwise/clamp.cpp -- elements kept between bounds: clamp, clamp_min, clamp_max.
#include "resilin/ops/pointwise/clamp.h"

#include <algorithm>
#include <cmath>

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/pointwise/pointwise.h"
#include "resilin/ops/pointwise/select.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::PointwiseContext;

// --- gradients ----------------------------------------------------------------------------------------------------------------------
// g where `mask` holds, for input i.
Tensor chosen(const ir::VjpCall& call, std::size_t i, const Tensor& mask) {
  return ops::reduce_to(where(mask, call.grads[0], 0.0), call.inputs[i]);
}
bool needs(const ir::VjpCall& call, std::size_t i) { return call.inputs[i].defined() && call.wants(i); }

std::vector<Tensor> clamp_min_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  const Input low = ops::operand(call, 1);
  return {needs(call, 0) ? chosen(call, 0, ge(x, low)) : Tensor(), needs(call, 1) ? chosen(call, 1, lt(x, low)) : Tensor()};
}
std::vector<Tensor> clamp_max_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  const Input high = ops::operand(call, 1);
  return {needs(call, 0) ? chosen(call, 0, le(x, high)) : Tensor(), needs(call, 1) ? chosen(call, 1, gt(x, high)) : Tensor()};
}
std::vector<Tensor> clamp_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  const Input low = ops::operand(call, 1);
  const Input high = ops::operand(call, 2);
  return {needs(call, 0) ? chosen(call, 0, logical_and(ge(x, low), le(x, high))) : Tensor(),
          needs(call, 1) ? chosen(call, 1, logical_and(lt(x, low), le(low, high))) : Tensor(),
          needs(call, 2) ? chosen(call, 2, logical_or(gt(x, high), lt(high, low))) : Tensor()};
}

// --- references and samples ---------------------------------------------------------------------------------------------------------
// The bound in input i of the reference's call, applied to a value.
template <class T>
T bounded(T x, T bound, bool from_below) {
  if (x != x || bound != bound) return x != x ? x : bound;
  return from_below ? std::max(x, bound) : std::min(x, bound);
}
void clamp_reference(ir::ReferenceCall& call, int low, int high) {
  ir::Array& out = call.output();
  for (i64 i = 0; i < out.numel(); ++i) {
    const std::vector<i64> index = ir::unravel(i, out.shape);
    const auto at = [&](int input) { return ir::broadcast_position(index, call.input(input).shape); };
    double real = call.input(0).real(at(0));
    i64 integer = out.is_real() ? 0 : call.input(0).integer(at(0));
    for (const int bound : {low, high}) {
      if (bound < 0) continue;
      real = bounded(real, call.input(bound).real(at(bound)), bound == low);
      if (!out.is_real()) integer = bounded(integer, call.input(bound).integer(at(bound)), bound == low);
    }
    if (out.is_real()) {
      out.set(i, real);
    } else {
      out.set_integer(i, integer);
    }
  }
}

ir::SampleInput shaped(Shape shape) { return {.shape = std::move(shape)}; }

std::vector<ir::Sample> samples_bound() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  return {{{shaped({m, n}), {.number = Number(0.75)}}, {}, {3, 37}},
          {{shaped({m, n}), {.number = Number(1)}}, {}, {3, 37}},
          {{shaped({m, n}), shaped({n})}, {}, {3, 37}},
          {{shaped({m, 1}), shaped({m, n})}, {}, {3, 37}}};
}
std::vector<ir::Sample> samples_bounds() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  return {{{shaped({m, n}), {.number = Number(-0.5)}, {.number = Number(1.25)}}, {}, {3, 37}},
          {{shaped({m, n}), {.number = Number(1)}, {.number = Number(2)}}, {}, {3, 37}},
          {{shaped({m, n}), {.number = Number(2)}, {.number = Number(0)}}, {}, {3, 37}},
          {{shaped({m, n}), shaped({n}), shaped({m, 1})}, {}, {3, 37}},
          {{shaped({m, n}), {.number = Number(1)}, shaped({})}, {}, {3, 37}}};
}

constexpr OpDef clamp_min_op{
    .name = "clamp_min",
    .doc = "x, and the bound where x is smaller; NaN wins.",
    .inputs = {{"x", "[...]"}, {"min", "[...]"}},
    .promote = ir::Promotion::Arithmetic,
    .dtypes = ir::kArithmeticDTypes,
    .infer = ir::infer_pointwise,
    .lower = ir::Pointwise{[](PointwiseContext& c) { return ops::larger(c.input(0), c.input(1)); }},
    .vjp = clamp_min_vjp,
    .reference = [](ir::ReferenceCall& call) { clamp_reference(call, 1, -1); },
    .samples = samples_bound,
};
constexpr OpDef clamp_max_op{
    .name = "clamp_max",
    .doc = "x, and the bound where x is larger; NaN wins.",
    .inputs = {{"x", "[...]"}, {"max", "[...]"}},
    .promote = ir::Promotion::Arithmetic,
    .dtypes = ir::kArithmeticDTypes,
    .infer = ir::infer_pointwise,
    .lower = ir::Pointwise{[](PointwiseContext& c) { return ops::smaller(c.input(0), c.input(1)); }},
    .vjp = clamp_max_vjp,
    .reference = [](ir::ReferenceCall& call) { clamp_reference(call, -1, 1); },
    .samples = samples_bound,
};
constexpr OpDef clamp_op{
    .name = "clamp",
    .doc = "x kept between two bounds; NaN wins, then the upper bound.",
    .inputs = {{"x", "[...]"}, {"min", "[...]"}, {"max", "[...]"}},
    .promote = ir::Promotion::Arithmetic,
    .dtypes = ir::kFloats | ir::kInts,
    .infer = ir::infer_pointwise,
    .lower = ir::Pointwise{[](PointwiseContext& c) { return loop::min(loop::max(c.input(0), c.input(1)), c.input(2)); }},
    .vjp = clamp_vjp,
    .reference = [](ir::ReferenceCall& call) { clamp_reference(call, 1, 2); },
    .samples = samples_bounds,
};

constexpr const OpDef* kTable[] = {&clamp_min_op, &clamp_max_op, &clamp_op};

Tensor clamp_into(const Tensor& x, const Input& min, const Input& max, const Tensor* destination) {
  static const ir::Attrs kNone;
  const bool has_min = min.is_tensor() || min.is_number();
  const bool has_max = max.is_tensor() || max.is_number();
  if (!has_min && !has_max) throw ArgumentError("clamp: At least one of 'min' or 'max' must not be None");
  const Input all[] = {x, has_min ? min : max, max};
  const OpDef& op = has_min && has_max ? clamp_op : has_min ? clamp_min_op : clamp_max_op;
  return apply_one(op, std::span<const Input>(all).first(op.inputs.size()), kNone.ref(), destination);
}

}  // namespace

constexpr OpTable kClampOps = kTable;

Tensor clamp(const Tensor& x, Input min, Input max) { return clamp_into(x, min, max, nullptr); }
Tensor clamp_min(const Tensor& x, Input min) { return apply_one(clamp_min_op, {x, min}); }
Tensor clamp_max(const Tensor& x, Input max) { return apply_one(clamp_max_op, {x, max}); }
const Tensor& clamp_(const Tensor& x, Input min, Input max) {
  clamp_into(x, min, max, &x);
  return x;
}

}  // namespace resilin
