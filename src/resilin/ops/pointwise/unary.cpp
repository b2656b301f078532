// src/resilin/ops/pointwise/unary.cpp -- functions of one number that keep its dtype: abs, sign, and rounding to whole numbers.
#include "resilin/ops/pointwise/unary.h"

#include <cmath>

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/pointwise.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::PointwiseContext;
using loop::Scalar;

// --- what is common to all ----------------------------------------------------------------------------------------------------------
struct Unary {
  std::string_view name;
  std::string_view doc;
  Scalar (*formula)(PointwiseContext&);
  ir::Vjp vjp;
  ir::Reference reference;
  ir::DTypeSet dtypes = ir::kFloats | ir::kInts;
};
consteval OpDef unary(const Unary& u) {
  return {
      .name = u.name,
      .doc = u.doc,
      .inputs = {{"x", "[...]"}},
      .promote = ir::Promotion::Arithmetic,
      .dtypes = u.dtypes,
      .infer = ir::infer_pointwise,
      .lower = ir::Pointwise{u.formula},
      .vjp = u.vjp,
      .reference = u.reference,
      .samples = ops::samples_unary,
  };
}

std::vector<Tensor> flat_vjp(const ir::VjpCall& call) { return {zeros_like(call.grads[0])}; }

// --- abs and sign -------------------------------------------------------------------------------------------------------------------
Scalar sign_formula(PointwiseContext& c) {
  const Scalar x = c.input(0);
  if (x.dtype() == DType::Bool) return x;
  const Scalar zero = loop::constant_like(x, 0);
  const Scalar not_positive = x.dtype() == DType::U8 ? zero : loop::select(x < zero, loop::constant_like(x, -1), zero);
  return loop::select(x > zero, loop::constant_like(x, 1), not_positive);
}

constexpr OpDef abs_op = unary({
    .name = "abs",
    .doc = "Absolute value of x.",
    .formula =
        [](PointwiseContext& c) {
          const Scalar x = c.input(0);
          return x.dtype() == DType::U8 ? x : loop::abs(x);
        },
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {mul(call.grads[0], sign(call.inputs[0]))}; },
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_unary(
              call, [](double x) { return std::abs(x); },
              [](i64 x) { return x < 0 ? static_cast<i64>(0 - static_cast<std::uint64_t>(x)) : x; });
        },
});

constexpr OpDef sign_op = unary({
    .name = "sign",
    .doc = "-1, 0 or 1 with the sign of x.",
    .formula = sign_formula,
    .vjp = flat_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_unary(
              call, [](double x) { return x > 0   ? 1.0
                                          : x < 0 ? -1.0
                                                  : 0.0; },
              [](i64 x) { return x > 0   ? i64{1}
                                 : x < 0 ? i64{-1}
                                         : i64{0}; });
        },
    .dtypes = ir::kArithmeticDTypes,
});

// --- rounding -----------------------------------------------------------------------------------------------------------------------
template <class Formula>
Scalar rounded(PointwiseContext& c, Formula formula) {
  const Scalar x = c.input(0);
  return is_floating(x.dtype()) ? formula(x) : x;
}
template <class Real>
void rounding_reference(ir::ReferenceCall& call, Real real) {
  ops::reference_unary(call, real, [](i64 x) { return x; });
}

constexpr OpDef floor_op = unary({
    .name = "floor",
    .doc = "The largest whole number that is not above x.",
    .formula = [](PointwiseContext& c) { return rounded(c, loop::floor); },
    .vjp = flat_vjp,
    .reference = [](ir::ReferenceCall& call) { rounding_reference(call, [](double x) { return std::floor(x); }); },
});
constexpr OpDef ceil_op = unary({
    .name = "ceil",
    .doc = "The smallest whole number that is not below x.",
    .formula = [](PointwiseContext& c) { return rounded(c, loop::ceil); },
    .vjp = flat_vjp,
    .reference = [](ir::ReferenceCall& call) { rounding_reference(call, [](double x) { return std::ceil(x); }); },
});
constexpr OpDef trunc_op = unary({
    .name = "trunc",
    .doc = "x without its fraction.",
    .formula = [](PointwiseContext& c) { return rounded(c, loop::trunc); },
    .vjp = flat_vjp,
    .reference = [](ir::ReferenceCall& call) { rounding_reference(call, [](double x) { return std::trunc(x); }); },
});
constexpr OpDef round_op = unary({
    .name = "round",
    .doc = "The whole number nearest to x; of two the even one.",
    .formula = [](PointwiseContext& c) { return rounded(c, loop::round_even); },
    .vjp = flat_vjp,
    .reference = [](ir::ReferenceCall& call) { rounding_reference(call, [](double x) { return std::nearbyint(x); }); },
});

constexpr const OpDef* kTable[] = {&abs_op, &sign_op, &floor_op, &ceil_op, &trunc_op, &round_op};

}  // namespace

constexpr OpTable kUnaryOps = kTable;

Tensor abs(const Tensor& x) { return apply_one(abs_op, {x}); }
Tensor sign(const Tensor& x) { return apply_one(sign_op, {x}); }
Tensor floor(const Tensor& x) { return apply_one(floor_op, {x}); }
Tensor ceil(const Tensor& x) { return apply_one(ceil_op, {x}); }
Tensor trunc(const Tensor& x) { return apply_one(trunc_op, {x}); }
Tensor round(const Tensor& x) { return apply_one(round_op, {x}); }
const Tensor& abs_(const Tensor& x) { return apply_into(x, abs_op, {x}); }
const Tensor& sign_(const Tensor& x) { return apply_into(x, sign_op, {x}); }
const Tensor& floor_(const Tensor& x) { return apply_into(x, floor_op, {x}); }
const Tensor& ceil_(const Tensor& x) { return apply_into(x, ceil_op, {x}); }
const Tensor& trunc_(const Tensor& x) { return apply_into(x, trunc_op, {x}); }
const Tensor& round_(const Tensor& x) { return apply_into(x, round_op, {x}); }

}  // namespace resilin
