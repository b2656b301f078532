// src/resilin/ops/pointwise/arithmetic.cpp -- addition, subtraction, multiplication, division, negation.
#include "resilin/ops/pointwise/arithmetic.h"

#include <cmath>

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/pointwise/pointwise.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::Pointwise;
using ir::PointwiseContext;
using ir::Promotion;
using loop::Scalar;

i64 wrapped(std::uint64_t value) { return static_cast<i64>(value); }

Scalar add_formula(PointwiseContext& c) {
  const Scalar a = c.input(0);
  return a.dtype() == DType::Bool ? a | c.input(1) : a + c.input(1);
}
Scalar mul_formula(PointwiseContext& c) {
  const Scalar a = c.input(0);
  return a.dtype() == DType::Bool ? a & c.input(1) : a * c.input(1);
}

// DivInt truncates; rounding down subtracts 1 where the signs differ and a remainder is left.
Scalar integer_quotient(PointwiseContext& c, bool round_down) {
  const Scalar a = c.input(0);
  const Scalar b = c.input(1);
  const Scalar zero = loop::constant_like(b, 0);
  c.check(loop::not_equal(b, zero), StatusCode::DivisionByZero, 1, Scalar::constant_integer(DType::I64, 0));
  const Scalar quotient = loop::div_int(a, b);
  if (!round_down) return quotient;
  const Scalar rest = loop::mod_int(a, b);
  const Scalar signs_differ = loop::not_equal(rest < zero, b < zero);
  return loop::select(loop::not_equal(rest, zero) & signs_differ, quotient - loop::constant_like(quotient, 1), quotient);
}
Scalar floor_divide_formula(PointwiseContext& c) {
  return is_floating(c.input(0).dtype()) ? loop::floor(c.input(0) / c.input(1)) : integer_quotient(c, true);
}
Scalar trunc_divide_formula(PointwiseContext& c) {
  return is_floating(c.input(0).dtype()) ? loop::trunc(c.input(0) / c.input(1)) : integer_quotient(c, false);
}

// --- gradients -----------------------------------------------------------------------------------------------------------------------
std::vector<Tensor> add_vjp(const ir::VjpCall& call) {
  const Tensor& g = call.grads[0];
  return {ops::reduce_to(g, call.inputs[0]), ops::reduce_to(g, call.inputs[1])};
}
std::vector<Tensor> sub_vjp(const ir::VjpCall& call) {
  const Tensor& g = call.grads[0];
  return {ops::reduce_to(g, call.inputs[0]), call.inputs[1].defined() ? ops::reduce_to(neg(g), call.inputs[1]) : Tensor()};
}
std::vector<Tensor> mul_vjp(const ir::VjpCall& call) {
  const Tensor& g = call.grads[0];
  const auto one = [&](std::size_t i) {
    if (!call.inputs[i].defined() || !call.wants(i)) return Tensor();
    return ops::reduce_to(mul(g, ops::operand(call, 1 - i)), call.inputs[i]);
  };
  return {one(0), one(1)};
}
std::vector<Tensor> div_vjp(const ir::VjpCall& call) {
  const Tensor& g = call.grads[0];
  const Tensor to_a = div(g, ops::operand(call, 1));
  const bool to_b = call.inputs[1].defined() && call.wants(1);
  return {ops::reduce_to(to_a, call.inputs[0]), to_b ? ops::reduce_to(neg(mul(to_a, call.outputs[0])), call.inputs[1]) : Tensor()};
}
std::vector<Tensor> neg_vjp(const ir::VjpCall& call) { return {neg(call.grads[0])}; }

// --- references ----------------------------------------------------------------------------------------------------------------------
i64 reference_quotient(std::string_view op, i64 a, i64 b, bool round_down) {
  if (b == 0) throw NumericError(cat(op, ": integer division by zero"));
  if (b == -1) return wrapped(0 - static_cast<std::uint64_t>(a));
  const i64 quotient = a / b;
  return round_down && a % b != 0 && ((a % b < 0) != (b < 0)) ? quotient - 1 : quotient;
}

constexpr OpDef add_op{
    .name = "add",
    .doc = "a + b.",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .promote = Promotion::Arithmetic,
    .dtypes = ir::kArithmeticDTypes,
    .infer = ir::infer_pointwise,
    .lower = Pointwise{add_formula},
    .vjp = add_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          const bool is_bool = call.output().dtype == DType::Bool;
          ops::reference_binary(
              call, [](double a, double b) { return a + b; },
              [&](i64 a, i64 b) { return is_bool ? (a | b) : wrapped(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b)); });
        },
    .samples = ops::samples_binary,
};

constexpr OpDef sub_op{
    .name = "sub",
    .doc = "a - b.",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .promote = Promotion::Arithmetic,
    .dtypes = ir::kFloats | ir::kInts,
    .infer = ir::infer_pointwise,
    .lower = Pointwise{[](PointwiseContext& c) { return c.input(0) - c.input(1); }},
    .vjp = sub_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_binary(
              call, [](double a, double b) { return a - b; },
              [](i64 a, i64 b) { return wrapped(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)); });
        },
    .samples = ops::samples_binary,
};

constexpr OpDef mul_op{
    .name = "mul",
    .doc = "a * b.",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .promote = Promotion::Arithmetic,
    .dtypes = ir::kArithmeticDTypes,
    .infer = ir::infer_pointwise,
    .lower = Pointwise{mul_formula},
    .vjp = mul_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_binary(
              call, [](double a, double b) { return a * b; },
              [](i64 a, i64 b) { return wrapped(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)); });
        },
    .samples = ops::samples_binary,
};

constexpr OpDef div_op{
    .name = "div",
    .doc = "a / b; integers are divided as f32.",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .promote = Promotion::Floating,
    .dtypes = ir::kFloats,
    .infer = ir::infer_pointwise,
    .lower = Pointwise{[](PointwiseContext& c) { return c.input(0) / c.input(1); }},
    .vjp = div_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_binary(
              call, [](double a, double b) { return a / b; }, [](i64 a, i64) { return a; });
        },
    .samples = ops::samples_binary,
};

// Steps are flat.
std::vector<Tensor> quotient_vjp(const ir::VjpCall& call) {
  const auto flat = [](const Tensor& x) { return x.defined() && is_floating(x.dtype()) ? zeros_like(x) : Tensor(); };
  return {flat(call.inputs[0]), flat(call.inputs[1])};
}

constexpr OpDef floor_divide_op{
    .name = "floor_divide",
    .doc = "a / b rounded down.",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .promote = Promotion::Arithmetic,
    .dtypes = ir::kFloats | ir::kInts,
    .infer = ir::infer_pointwise,
    .lower = Pointwise{floor_divide_formula},
    .vjp = quotient_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_binary(
              call, [](double a, double b) { return std::floor(a / b); },
              [](i64 a, i64 b) { return reference_quotient("floor_divide", a, b, true); });
        },
    .samples = ops::samples_divisor,
};

constexpr OpDef trunc_divide_op{
    .name = "trunc_divide",
    .doc = "a / b rounded towards zero.",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .promote = Promotion::Arithmetic,
    .dtypes = ir::kFloats | ir::kInts,
    .infer = ir::infer_pointwise,
    .lower = Pointwise{trunc_divide_formula},
    .vjp = quotient_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_binary(
              call, [](double a, double b) { return std::trunc(a / b); },
              [](i64 a, i64 b) { return reference_quotient("trunc_divide", a, b, false); });
        },
    .samples = ops::samples_divisor,
};

constexpr OpDef neg_op{
    .name = "neg",
    .doc = "-x.",
    .inputs = {{"x", "[...]"}},
    .promote = Promotion::Arithmetic,
    .dtypes = ir::kFloats | ir::kInts,
    .infer = ir::infer_pointwise,
    .lower = Pointwise{[](PointwiseContext& c) { return -c.input(0); }},
    .vjp = neg_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_unary(
              call, [](double x) { return -x; }, [](i64 x) { return wrapped(0 - static_cast<std::uint64_t>(x)); });
        },
    .samples = ops::samples_unary,
};

constexpr const OpDef* kTable[] = {&add_op, &sub_op, &mul_op, &div_op, &floor_divide_op, &trunc_divide_op, &neg_op};

}  // namespace

constexpr OpTable kArithmeticOps = kTable;

Tensor add(Input a, Input b) { return apply_one(add_op, {a, b}); }
Tensor sub(Input a, Input b) { return apply_one(sub_op, {a, b}); }
Tensor mul(Input a, Input b) { return apply_one(mul_op, {a, b}); }
Tensor div(Input a, Input b) {
  if (a.is_number() && b.is_number()) a = a.number().as_double();  // of two integers the promotion has no tensor to make a float of
  return apply_one(div_op, {a, b});
}
Tensor floor_divide(Input a, Input b) { return apply_one(floor_divide_op, {a, b}); }
Tensor trunc_divide(Input a, Input b) { return apply_one(trunc_divide_op, {a, b}); }
Tensor neg(const Tensor& x) { return apply_one(neg_op, {x}); }
const Tensor& add_(const Tensor& x, Input y) { return apply_into(x, add_op, {x, y}); }
const Tensor& sub_(const Tensor& x, Input y) { return apply_into(x, sub_op, {x, y}); }
const Tensor& mul_(const Tensor& x, Input y) { return apply_into(x, mul_op, {x, y}); }
const Tensor& div_(const Tensor& x, Input y) { return apply_into(x, div_op, {x, y}); }
const Tensor& neg_(const Tensor& x) { return apply_into(x, neg_op, {x}); }

}  // namespace resilin
