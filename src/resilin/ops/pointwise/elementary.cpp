// src/resilin/ops/pointwise/elementary.cpp -- elementary functions of one tensor.
#include "resilin/ops/pointwise/elementary.h"

#include <cmath>
#include <numbers>

#include "resilin/ir/attrs_info.h"
#include "resilin/loop/math.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/pointwise.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::PointwiseContext;

// What differs between functions of one float.
struct Elementary {
  std::string_view name;
  std::string_view doc;
  loop::Scalar (*formula)(PointwiseContext&);
  ir::Vjp vjp;
  ir::Reference reference;
  ir::Samples samples = ops::samples_unary;
};
consteval OpDef elementary(const Elementary& e) {
  return {
      .name = e.name,
      .doc = e.doc,
      .inputs = {{"x", "[...]"}},
      .promote = ir::Promotion::Floating,
      .dtypes = ir::kFloats,
      .infer = ir::infer_pointwise,
      .lower = ir::Pointwise{e.formula},
      .vjp = e.vjp,
      .reference = e.reference,
      .samples = e.samples,
  };
}

std::vector<Tensor> erf_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  return {mul(mul(call.grads[0], 2 * std::numbers::inv_sqrtpi), exp(neg(mul(x, x))))};
}
std::vector<Tensor> rsqrt_vjp(const ir::VjpCall& call) {
  const Tensor& y = call.outputs[0];
  return {mul(mul(call.grads[0], -0.5), y * y * y)};
}

// Beyond 2^48 the formulas give NaN.
template <class Real>
void angle_reference(ir::ReferenceCall& call, Real real) {
  ops::reference_unary(call, [&](double x) { return std::abs(x) > 0x1p48 ? std::nan("") : real(x); });
}

constexpr OpDef exp_op = elementary({
    .name = "exp",
    .doc = "e to the power x.",
    .formula = [](PointwiseContext& c) { return loop::exp(c.input(0)); },
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {call.grads[0] * call.outputs[0]}; },
    .reference = [](ir::ReferenceCall& call) { ops::reference_unary(call, [](double x) { return std::exp(x); }); },
});

constexpr OpDef log_op = elementary({
    .name = "log",
    .doc = "Natural logarithm of x.",
    .formula = [](PointwiseContext& c) { return loop::log(c.input(0)); },
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {call.grads[0] / call.inputs[0]}; },
    .reference = [](ir::ReferenceCall& call) { ops::reference_unary(call, [](double x) { return std::log(x); }); },
    .samples = ops::samples_positive,
});

constexpr OpDef tanh_op = elementary({
    .name = "tanh",
    .doc = "Hyperbolic tangent of x.",
    .formula = [](PointwiseContext& c) { return loop::tanh(c.input(0)); },
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {call.grads[0] * (1 - call.outputs[0] * call.outputs[0])}; },
    .reference = [](ir::ReferenceCall& call) { ops::reference_unary(call, [](double x) { return std::tanh(x); }); },
});

constexpr OpDef erf_op = elementary({
    .name = "erf",
    .doc = "Error function of x.",
    .formula = [](PointwiseContext& c) { return loop::erf(c.input(0)); },
    .vjp = erf_vjp,
    .reference = [](ir::ReferenceCall& call) { ops::reference_unary(call, [](double x) { return std::erf(x); }); },
});

constexpr OpDef sigmoid_op = elementary({
    .name = "sigmoid",
    .doc = "1 / (1 + exp(-x)).",
    .formula = [](PointwiseContext& c) { return loop::sigmoid(c.input(0)); },
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {call.grads[0] * (call.outputs[0] * (1 - call.outputs[0]))}; },
    .reference = [](ir::ReferenceCall& call) { ops::reference_unary(call, [](double x) { return 1 / (1 + std::exp(-x)); }); },
});

constexpr OpDef sqrt_op = elementary({
    .name = "sqrt",
    .doc = "Square root of x.",
    .formula = [](PointwiseContext& c) { return loop::sqrt(c.input(0)); },
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {call.grads[0] / (2 * call.outputs[0])}; },
    .reference = [](ir::ReferenceCall& call) { ops::reference_unary(call, [](double x) { return std::sqrt(x); }); },
    .samples = ops::samples_positive,
});

constexpr OpDef rsqrt_op = elementary({
    .name = "rsqrt",
    .doc = "1 / sqrt(x).",
    .formula = [](PointwiseContext& c) { return 1.0 / loop::sqrt(c.input(0)); },
    .vjp = rsqrt_vjp,
    .reference = [](ir::ReferenceCall& call) { ops::reference_unary(call, [](double x) { return 1 / std::sqrt(x); }); },
    .samples = ops::samples_positive,
});

constexpr OpDef reciprocal_op = elementary({
    .name = "reciprocal",
    .doc = "1 / x.",
    .formula = [](PointwiseContext& c) { return 1.0 / c.input(0); },
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {neg(call.grads[0] * (call.outputs[0] * call.outputs[0]))}; },
    .reference = [](ir::ReferenceCall& call) { ops::reference_unary(call, [](double x) { return 1 / x; }); },
    .samples = ops::samples_positive,
});

constexpr OpDef expm1_op = elementary({
    .name = "expm1",
    .doc = "e to the power x, minus 1, exact near 0.",
    .formula = [](PointwiseContext& c) { return loop::expm1(c.input(0)); },
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {call.grads[0] * (call.outputs[0] + 1)}; },
    .reference = [](ir::ReferenceCall& call) { ops::reference_unary(call, [](double x) { return std::expm1(x); }); },
});

// Numbers of both signs as well, down to where there is no logarithm; as f32 alone, since differences of NaN say nothing about gradients.
std::vector<ir::Sample> samples_log1p() {
  std::vector<ir::Sample> samples = ops::samples_positive();
  samples.push_back(ops::samples_unary()[0]);
  samples[1].inputs[0].dtype = DType::F32;
  return samples;
}

constexpr OpDef log1p_op = elementary({
    .name = "log1p",
    .doc = "Natural logarithm of 1 + x, exact near 0.",
    .formula = [](PointwiseContext& c) { return loop::log1p(c.input(0)); },
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {call.grads[0] / (call.inputs[0] + 1)}; },
    .reference = [](ir::ReferenceCall& call) { ops::reference_unary(call, [](double x) { return std::log1p(x); }); },
    .samples = samples_log1p,
});

constexpr OpDef sin_op = elementary({
    .name = "sin",
    .doc = "Sine of x.",
    .formula = [](PointwiseContext& c) { return loop::sin(c.input(0)); },
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {call.grads[0] * cos(call.inputs[0])}; },
    .reference = [](ir::ReferenceCall& call) { angle_reference(call, [](double x) { return std::sin(x); }); },
});

constexpr OpDef cos_op = elementary({
    .name = "cos",
    .doc = "Cosine of x.",
    .formula = [](PointwiseContext& c) { return loop::cos(c.input(0)); },
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {neg(call.grads[0] * sin(call.inputs[0]))}; },
    .reference = [](ir::ReferenceCall& call) { angle_reference(call, [](double x) { return std::cos(x); }); },
});

constexpr const OpDef* kTable[] = {&exp_op,   &log_op,        &tanh_op,  &erf_op,   &sigmoid_op, &sqrt_op,
                                   &rsqrt_op, &reciprocal_op, &expm1_op, &log1p_op, &sin_op,     &cos_op};

}  // namespace

constexpr OpTable kElementaryOps = kTable;

Tensor exp(const Tensor& x) { return apply_one(exp_op, {x}); }
Tensor log(const Tensor& x) { return apply_one(log_op, {x}); }
Tensor tanh(const Tensor& x) { return apply_one(tanh_op, {x}); }
Tensor erf(const Tensor& x) { return apply_one(erf_op, {x}); }
Tensor sigmoid(const Tensor& x) { return apply_one(sigmoid_op, {x}); }
Tensor sqrt(const Tensor& x) { return apply_one(sqrt_op, {x}); }
Tensor rsqrt(const Tensor& x) { return apply_one(rsqrt_op, {x}); }
Tensor reciprocal(const Tensor& x) { return apply_one(reciprocal_op, {x}); }
Tensor expm1(const Tensor& x) { return apply_one(expm1_op, {x}); }
Tensor log1p(const Tensor& x) { return apply_one(log1p_op, {x}); }
Tensor sin(const Tensor& x) { return apply_one(sin_op, {x}); }
Tensor cos(const Tensor& x) { return apply_one(cos_op, {x}); }
const Tensor& exp_(const Tensor& x) { return apply_into(x, exp_op, {x}); }
const Tensor& log_(const Tensor& x) { return apply_into(x, log_op, {x}); }
const Tensor& tanh_(const Tensor& x) { return apply_into(x, tanh_op, {x}); }
const Tensor& erf_(const Tensor& x) { return apply_into(x, erf_op, {x}); }
const Tensor& sigmoid_(const Tensor& x) { return apply_into(x, sigmoid_op, {x}); }
const Tensor& sqrt_(const Tensor& x) { return apply_into(x, sqrt_op, {x}); }
const Tensor& rsqrt_(const Tensor& x) { return apply_into(x, rsqrt_op, {x}); }
const Tensor& reciprocal_(const Tensor& x) { return apply_into(x, reciprocal_op, {x}); }
const Tensor& expm1_(const Tensor& x) { return apply_into(x, expm1_op, {x}); }
const Tensor& log1p_(const Tensor& x) { return apply_into(x, log1p_op, {x}); }
const Tensor& sin_(const Tensor& x) { return apply_into(x, sin_op, {x}); }
const Tensor& cos_(const Tensor& x) { return apply_into(x, cos_op, {x}); }

}  // namespace resilin
