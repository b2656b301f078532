// src/resilin/ops/pointwise/power.cpp -- powers: pow, and the square.
#include "resilin/ops/pointwise/power.h"

#include <cmath>

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/loop/math.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/pointwise/pointwise.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/pointwise/unary.h"

namespace resilin {
namespace {

using ir::PointwiseContext;
using loop::Scalar;

// --- formula ------------------------------------------------------------------------------------------------------------------------
// By squaring, modulo 2^bits. To an odd number exponents count modulo 2^(bits - 2) only, and an even one to a power of 2^(bits - 2) or more is 0 for
// the widths there are; so the higher bits of the exponent need no step, but an even base needs to know whether there are any.
Scalar integer_power(const Scalar& base, const Scalar& exponent) {
  const DType dtype = base.dtype();
  const int steps = static_cast<int>(size_bytes(dtype)) * 8 - 2;
  const auto whole = [&](i64 value) { return Scalar::constant_integer(dtype, value); };
  Scalar result = whole(1);
  Scalar square = base;
  for (int step = 0; step < steps; ++step) {
    const Scalar has_bit = loop::not_equal(exponent & whole(i64{1} << step), whole(0));
    result = result * loop::select(has_bit, square, whole(1));
    if (step + 1 < steps) square = square * square;
  }
  const Scalar is_even = loop::equal(base & whole(1), whole(0));
  return loop::select(is_even & (exponent >= whole(i64{1} << steps)), whole(0), result);
}

Scalar pow_formula(PointwiseContext& c) {
  const Scalar base = c.input(0);
  const Scalar exponent = c.input(1);
  if (is_floating(base.dtype())) return loop::pow(base, exponent);
  if (exponent.dtype() != DType::U8) {
    c.check(exponent >= loop::constant_like(exponent, 0), StatusCode::NegativeExponent, 1, loop::cast(exponent, DType::I64));
  }
  return integer_power(base, exponent);
}

// --- gradients ----------------------------------------------------------------------------------------------------------------------
// exponent base^(exponent - 1). At 0^0 the power taken is 0, so that the slope is 0 and not 0 times infinity.
Tensor slope_of_base(const Tensor& x, const Input& exponent) {
  if (exponent.is_number() && !exponent.number().is_argument()) {
    const double p = exponent.number().as_double();
    return mul(pow(x, p == 0 ? 0.0 : p - 1), p);
  }
  const Tensor e = exponent.is_tensor() ? ops::widened(exponent.tensor()) : full(Shape{}, exponent.number(), x.dtype());
  const Tensor both_are_zero = logical_and(eq(e, 0), logical_not(gt(abs(x), 0)));
  return mul(pow(x, where(both_are_zero, 0, sub(e, 1))), e);
}

// base^exponent log(base), and 0 where a base of 0 has no negative exponent.
Tensor slope_of_exponent(const Input& base, const Tensor& exponent, const Tensor& y) {
  const Tensor x = base.is_tensor() ? cast(base.tensor(), y.dtype()) : full(Shape{}, base.number(), y.dtype());
  const Tensor is_flat = logical_and(eq(x, 0), ge(exponent, 0));
  return mul(y, log(where(is_flat, 1, x)));
}

std::vector<Tensor> pow_vjp(const ir::VjpCall& call) {
  const Tensor g = ops::widened(call.grads[0]);
  const auto needs = [&](std::size_t i) { return call.inputs[i].defined() && is_floating(call.inputs[i].dtype()) && call.wants(i); };
  std::vector<Tensor> grads(2);
  if (needs(0)) {
    const Tensor x = ops::widened(call.inputs[0]);
    grads[0] = ops::reduce_to(mul(g, slope_of_base(x, ops::operand(call, 1))), call.inputs[0]);
  }
  if (needs(1)) {
    const Tensor slope = slope_of_exponent(ops::operand(call, 0), ops::widened(call.inputs[1]), ops::widened(call.outputs[0]));
    grads[1] = ops::reduce_to(mul(g, slope), call.inputs[1]);
  }
  return grads;
}

// --- reference and samples ----------------------------------------------------------------------------------------------------------
[[noreturn]] void refuse_exponent(i64 exponent) {
  throw ArgumentError(
      cat("pow: integers to negative integer powers are not allowed: 'exponent' holds ", exponent, " at element 0; it must be at least 0"));
}

i64 wrapped_power(i64 base, i64 exponent) {
  if (exponent < 0) refuse_exponent(exponent);
  std::uint64_t result = 1;
  std::uint64_t square = static_cast<std::uint64_t>(base);
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) result *= square;
    square *= square;
  }
  return static_cast<i64>(result);
}

std::vector<ir::Sample> pow_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  const ir::SampleInput any{.shape = {m, n}};
  const ir::SampleInput positive{.shape = {m, n}, .fill = ir::Fill::Positive};
  const auto row = [&](Shape shape, ir::Fill fill) { return ir::SampleInput{.shape = std::move(shape), .fill = fill}; };
  return {{{positive, positive}, {}, {3, 37}},
          {{positive, row({n}, ir::Fill::Small)}, {}, {3, 37}},
          {{row({m, 1}, ir::Fill::Positive), positive}, {}, {3, 37}},
          {{positive, row({}, ir::Fill::Positive)}, {}, {3, 37}},
          {{any, {.number = Number(3)}}, {}, {3, 37}},
          {{positive, {.number = Number(-1.5)}}, {}, {3, 37}},
          {{any, {.number = Number(0)}}, {}, {3, 37}},
          {{{.number = Number(3)}, positive}, {}, {3, 37}},
          {{{.number = Number(1.25)}, any}, {}, {3, 37}}};
}

constexpr ir::OpDef pow_op{
    .name = "pow",
    .doc = "base to the power exponent; integers wrap.",
    .inputs = {{"base", "[...]"}, {"exponent", "[...]"}},
    .promote = ir::Promotion::Arithmetic,
    .dtypes = ir::kFloats | ir::kInts,
    .infer = ir::infer_pointwise,
    .lower = ir::Pointwise{pow_formula},
    .vjp = pow_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_binary(
              call, [](double a, double b) { return std::pow(a, b); }, wrapped_power);
        },
    .samples = pow_samples,
};

constexpr const ir::OpDef* kTable[] = {&pow_op};

bool is_constant(const Input& input) { return input.is_number() && !input.number().is_argument(); }

// A constant 2 that leaves the dtype of the base as it is.
bool squares(const Tensor& base, const Input& exponent) {
  if (!is_constant(exponent) || exponent.number() == Number(true) || exponent.number().as_double() != 2) return false;
  return is_floating(base.dtype()) || (is_integral(base.dtype()) && exponent.number_kind() == NumberKind::Integer);
}

// A u8 kernel would see a negative number as a positive one.
void require_exponent(const Tensor& base, const Input& exponent) {
  if (is_floating(base.dtype()) || !is_constant(exponent) || exponent.number_kind() != NumberKind::Integer) return;
  if (exponent.number().as_integer() < 0) refuse_exponent(exponent.number().as_integer());
}

}  // namespace

constexpr OpTable kPowerOps = kTable;

Tensor pow(Input base, Input exponent) {
  if (base.is_tensor()) {
    require_exponent(base.tensor(), exponent);
    if (squares(base.tensor(), exponent)) return mul(base, base);
  }
  return apply_one(pow_op, {base, exponent});
}
const Tensor& pow_(const Tensor& x, Input exponent) {
  require_exponent(x, exponent);
  return squares(x, exponent) ? mul_(x, x) : apply_into(x, pow_op, {x, exponent});
}
Tensor square(const Tensor& x) { return pow(x, 2); }
const Tensor& square_(const Tensor& x) { return pow_(x, 2); }

}  // namespace resilin
