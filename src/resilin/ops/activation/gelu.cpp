// src/resilin/ops/activation/gelu.cpp -- pointwise activations: gelu, silu, relu.
#include "resilin/ops/activation/gelu.h"

#include <cmath>
#include <numbers>

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/loop/math.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/pointwise/pointwise.h"
#include "resilin/ops/pointwise/select.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::PointwiseContext;

constexpr double kHalfSqrt2 = 1 / std::numbers::sqrt2;                           // sqrt(1/2)
constexpr double kSqrt2OverPi = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2/pi)
constexpr double kDensityAt0 = std::numbers::inv_sqrtpi / std::numbers::sqrt2;   // of the normal distribution
constexpr double kCubic = 0.044715;

bool uses_tanh(const GeluAttrs& attrs) { return attrs.approximate == GeluApproximation::Tanh; }

// --- gelu ----------------------------------------------------------------------------------------------------------------------------
// (1 + tanh u) / 2 = sigmoid(2u), which keeps its digits where tanh nears -1; u = sqrt(2/pi) (x + kCubic x^3).
Tensor tanh_share(const Tensor& x) { return sigmoid(x * (x * x * (2 * kCubic * kSqrt2OverPi) + 2 * kSqrt2OverPi)); }

std::vector<Tensor> gelu_body(const ir::CompositeCall& call) {
  const Tensor& x = call.inputs[0];
  if (uses_tanh(call.attributes<GeluAttrs>())) return {x * tanh_share(x)};
  return {x * 0.5 * (1 + erf(x * kHalfSqrt2))};
}
std::vector<Tensor> gelu_vjp(const ir::VjpCall& call) {
  const Tensor x = ops::widened(call.inputs[0]);
  Tensor slope;
  if (uses_tanh(call.attributes<GeluAttrs>())) {
    const Tensor s = tanh_share(x);
    slope = s + x * (s * (1 - s)) * (x * x * (6 * kCubic * kSqrt2OverPi) + 2 * kSqrt2OverPi);
  } else {
    slope = (1 + erf(x * kHalfSqrt2)) * 0.5 + x * (exp(x * x * -0.5) * kDensityAt0);
  }
  return {cast(ops::widened(call.grads[0]) * slope, call.inputs[0].dtype())};
}
void gelu_reference(ir::ReferenceCall& call) {
  const bool by_tanh = uses_tanh(call.attributes<GeluAttrs>());
  ops::reference_unary(call, [&](double x) {
    return 0.5 * x * (by_tanh ? 1 + std::tanh(kSqrt2OverPi * (x + kCubic * x * x * x)) : std::erfc(-x * kHalfSqrt2));
  });
}
std::vector<ir::Sample> gelu_samples() {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  return {{{{.shape = shape}}, ir::attrs_of(GeluAttrs{GeluApproximation::None}), {3, 37}},
          {{{.shape = shape}}, ir::attrs_of(GeluAttrs{GeluApproximation::Tanh}), {3, 37}}};
}

constexpr OpDef gelu_op{
    .name = "gelu",
    .doc = "Gaussian error linear unit.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<GeluAttrs>,
    .dtypes = ir::kFloats,
    .infer = ir::infer_pointwise,
    .lower = ir::Composite{gelu_body},
    .vjp = gelu_vjp,
    .reference = gelu_reference,
    .samples = gelu_samples,
};

// --- silu and relu -------------------------------------------------------------------------------------------------------------------
std::vector<Tensor> silu_vjp(const ir::VjpCall& call) {
  const Tensor x = ops::widened(call.inputs[0]);
  const Tensor s = sigmoid(x);
  return {cast(ops::widened(call.grads[0]) * (s * (1 + x * (1 - s))), call.inputs[0].dtype())};
}

constexpr OpDef silu_op{
    .name = "silu",
    .doc = "x sigmoid(x).",
    .inputs = {{"x", "[...]"}},
    .dtypes = ir::kFloats,
    .infer = ir::infer_pointwise,
    .lower = ir::Pointwise{[](PointwiseContext& c) { return c.input(0) * loop::sigmoid(c.input(0)); }},
    .vjp = silu_vjp,
    .reference = [](ir::ReferenceCall& call) { ops::reference_unary(call, [](double x) { return x / (1 + std::exp(-x)); }); },
    .samples = ops::samples_unary,
};

constexpr OpDef relu_op{
    .name = "relu",
    .doc = "max(x, 0).",
    .inputs = {{"x", "[...]"}},
    .dtypes = ir::kFloats | ir::kInts,
    .infer = ir::infer_pointwise,
    .lower = ir::Pointwise{[](PointwiseContext& c) { return loop::max(c.input(0), loop::constant_like(c.input(0), 0)); }},
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {where(le(call.outputs[0], 0), 0.0, call.grads[0])}; },
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_unary(
              call, [](double x) { return x > 0 || std::isnan(x) ? x : 0.0; }, [](i64 x) { return x > 0 ? x : i64{0}; });
        },
    .samples = ops::samples_unary,
};

constexpr const OpDef* kTable[] = {&gelu_op, &silu_op, &relu_op};

}  // namespace

constexpr OpTable kGeluOps = kTable;

Tensor gelu(const Tensor& x, const GeluAttrs& attrs) { return apply_one(gelu_op, {x}, attrs); }
Tensor silu(const Tensor& x) { return apply_one(silu_op, {x}); }
Tensor relu(const Tensor& x) { return apply_one(relu_op, {x}); }

}  // namespace resilin
