// src/resilin/ops/optimizer/update.cpp -- one step of an optimizer on a parameter, its gradient and its state: one kernel.
#include "resilin/ops/optimizer/update.h"

#include <cmath>

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"

namespace resilin {
namespace {

// One type for each result: those of the parameter and of its state.
template <int results>
std::vector<ir::Type> infer_update(ir::InferContext& c) {
  const Shape& shape = c.shape(0);
  for (int i = 1; i < c.input_count(); ++i) {
    const Shape& other = c.shape(i);
    if (!may_be_equal(shape, other))
      throw ShapeError(cat(c.op(), ": gradient and state must have the shape of the parameter: it is ", shape, ", another is ", other));
    for (std::size_t a = 0; a < shape.size(); ++a) c.same(shape[a], other[a], "sizes of the parameter and of its gradient or state");
  }
  return std::vector<ir::Type>(results, ir::Type{c.dtype(0), shape, {}});
}

std::vector<ir::Sample> samples_of(int inputs, std::vector<ir::Attrs> attrs) {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  std::vector<ir::Sample> samples;
  for (ir::Attrs& each : attrs) {
    ir::Sample& sample = samples.emplace_back();
    for (int i = 0; i < inputs; ++i) sample.inputs.push_back({.shape = shape, .fill = i == 3 ? ir::Fill::Positive : ir::Fill::Small});
    sample.attrs = std::move(each);
    sample.sizes = {3, 37};
  }
  return samples;
}

// --- adamw ---------------------------------------------------------------------------------------------------------------------------
std::vector<Tensor> adamw_body(const ir::CompositeCall& call) {
  const AdamWAttrs& a = call.attributes<AdamWAttrs>();
  const Tensor& g = call.inputs[1];
  const Tensor average = call.inputs[2] + mul(g - call.inputs[2], a.gain1);
  const Tensor square = mul(call.inputs[3], a.beta2) + mul(g, a.gain2) * g;
  const Tensor root = add(div(sqrt(square), a.correction), a.eps);
  return {mul(call.inputs[0], a.decay) - mul(average / root, a.step_size), average, square};
}
void adamw_reference(ir::ReferenceCall& call) {
  const AdamWAttrs& a = call.attributes<AdamWAttrs>();
  for (i64 i = 0; i < call.input(0).numel(); ++i) {
    const double g = call.input(1).real(i);
    const double average = a.beta1.as_double() * call.input(2).real(i) + a.gain1.as_double() * g;
    const double square = a.beta2.as_double() * call.input(3).real(i) + a.gain2.as_double() * g * g;
    const double root = std::sqrt(square) / a.correction.as_double() + a.eps.as_double();
    call.output(0).set(i, call.input(0).real(i) * a.decay.as_double() - a.step_size.as_double() * average / root);
    call.output(1).set(i, average);
    call.output(2).set(i, square);
  }
}
std::vector<ir::Sample> adamw_samples() {
  const AdamWAttrs attrs{
      .decay = 0.99, .beta1 = 0.75, .beta2 = 0.875, .gain1 = 0.25, .gain2 = 0.125, .eps = 1e-3, .step_size = 0.25, .correction = 0.5};
  return samples_of(4, {ir::attrs_of(attrs)});
}

constexpr ir::OpDef adamw_op{
    .name = "adamw",
    .doc = "A step of AdamW: the parameter, the average and the average of squares after it.",
    .inputs = {{"param", "[...]"}, {"grad", "[...]"}, {"exp_avg", "[...]"}, {"exp_avg_sq", "[...]"}},
    .attrs = &ir::kAttrsInfo<AdamWAttrs>,
    .promote = ir::Promotion::First,
    .dtypes = ir::kFloats,
    .output_count = 3,
    .infer = infer_update<3>,
    .lower = ir::Composite{adamw_body},
    .reference = adamw_reference,
    .samples = adamw_samples,
};

// --- sgd -----------------------------------------------------------------------------------------------------------------------------
Tensor decayed(const ir::CompositeCall& call) { return call.inputs[1] + mul(call.inputs[0], call.attributes<SgdAttrs>().weight_decay); }

std::vector<Tensor> sgd_body(const ir::CompositeCall& call) {
  return {call.inputs[0] - mul(decayed(call), call.attributes<SgdAttrs>().lr)};
}
std::vector<Tensor> sgd_momentum_body(const ir::CompositeCall& call) {
  const SgdAttrs& a = call.attributes<SgdAttrs>();
  const Tensor g = decayed(call);
  const Tensor buffer = mul(call.inputs[2], a.momentum) + mul(g, a.gain);
  const Tensor along = a.nesterov ? g + mul(buffer, a.momentum) : buffer;
  return {call.inputs[0] - mul(along, a.lr), buffer};
}
void sgd_reference(ir::ReferenceCall& call) {
  const SgdAttrs& a = call.attributes<SgdAttrs>();
  const bool has_buffer = call.inputs.size() > 2;
  for (i64 i = 0; i < call.input(0).numel(); ++i) {
    const double x = call.input(0).real(i);
    const double g = call.input(1).real(i) + a.weight_decay.as_double() * x;
    const double buffer = has_buffer ? a.momentum.as_double() * call.input(2).real(i) + a.gain.as_double() * g : g;
    call.output(0).set(i, x - a.lr.as_double() * (a.nesterov ? g + a.momentum.as_double() * buffer : buffer));
    if (has_buffer) call.output(1).set(i, buffer);
  }
}

constexpr ir::OpDef sgd_op{
    .name = "sgd",
    .doc = "A step of gradient descent: the parameter after it.",
    .inputs = {{"param", "[...]"}, {"grad", "[...]"}},
    .attrs = &ir::kAttrsInfo<SgdAttrs>,
    .promote = ir::Promotion::First,
    .dtypes = ir::kFloats,
    .infer = infer_update<1>,
    .lower = ir::Composite{sgd_body},
    .reference = sgd_reference,
    .samples = [] { return samples_of(2, {ir::attrs_of(SgdAttrs{.lr = 0.25, .weight_decay = 0.125})}); },
};
constexpr ir::OpDef sgd_momentum_op{
    .name = "sgd_momentum",
    .doc = "A step of gradient descent with momentum: the parameter and the buffer after it.",
    .inputs = {{"param", "[...]"}, {"grad", "[...]"}, {"buffer", "[...]"}},
    .attrs = &ir::kAttrsInfo<SgdAttrs>,
    .promote = ir::Promotion::First,
    .dtypes = ir::kFloats,
    .output_count = 2,
    .infer = infer_update<2>,
    .lower = ir::Composite{sgd_momentum_body},
    .reference = sgd_reference,
    .samples =
        [] {
          return samples_of(3, {ir::attrs_of(SgdAttrs{.lr = 0.25, .momentum = 0.5, .gain = 0.75, .weight_decay = 0.125}),
                                ir::attrs_of(SgdAttrs{.lr = 0.25, .momentum = 0.5, .nesterov = true})});
        },
};

constexpr const ir::OpDef* kTable[] = {&adamw_op, &sgd_op, &sgd_momentum_op};

}  // namespace

constexpr OpTable kOptimizerOps = kTable;

void adamw_(const Tensor& param, const Tensor& grad, const AdamWState& state, const AdamWAttrs& attrs) {
  const Input inputs[] = {param, grad, state.exp_avg, state.exp_avg_sq};
  const Tensor destinations[] = {param, state.exp_avg, state.exp_avg_sq};
  apply(adamw_op, inputs, {&attrs, adamw_op.attrs}, destinations);
}
void sgd_(const Tensor& param, const Tensor& grad, const SgdAttrs& attrs) { apply_into(param, sgd_op, {param, grad}, attrs); }
void sgd_momentum_(const Tensor& param, const Tensor& grad, const Tensor& buffer, const SgdAttrs& attrs) {
  const Input inputs[] = {param, grad, buffer};
  const Tensor destinations[] = {param, buffer};
  apply(sgd_momentum_op, inputs, {&attrs, sgd_momentum_op.attrs}, destinations);
}

}  // namespace resilin
