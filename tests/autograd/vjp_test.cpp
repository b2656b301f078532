// tests/autograd/vjp_test.cpp -- what is found out of a vjp before it runs, and gradients derived from the bodies of Composites.
#include <doctest/doctest.h>

#include "resilin/autograd/gradcheck.h"
#include "resilin/autograd/node.h"
#include "resilin/autograd/saved_tensor_hooks.h"
#include "resilin/dispatch/apply.h"
#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/activation/softmax.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/reduce/reduce.h"

#include "tests/autograd/leaf.h"

using namespace resilin;
using test::leaf;
using test::Values;
using test::values_of;

namespace {

struct ScaleAttrs {
  Number scale = 1.0;
  static constexpr auto fields() { return std::tuple{field("scale", &ScaleAttrs::scale, "Factor.")}; }
};

loop::Scalar scale_formula(ir::PointwiseContext& c) { return c.input(0) * c.number(c.attrs<ScaleAttrs>().scale, c.input(0).dtype()); }
// Each of them decides by a value what it reads and gives.
std::vector<Tensor> attribute_vjp(const ir::VjpCall& call) {
  const Number scale = call.attributes<ScaleAttrs>().scale;
  if (scale.as_double() == 0) return {Tensor()};
  if (scale.as_double() == 1) return {call.grads[0]};
  return {div(call.grads[0] * call.outputs[0], call.inputs[0])};
}
std::vector<Tensor> number_vjp(const ir::VjpCall& call) {
  if (call.numbers[1].as_double() == 1) return {call.grads[0], Tensor()};
  return {div(call.grads[0] * call.outputs[0], call.inputs[0]), Tensor()};
}
std::vector<Tensor> size_vjp(const ir::VjpCall& call) {
  if (call.inputs[0].numel().value() == 2) return {call.grads[0] * 2};
  return {div(call.grads[0] * call.outputs[0], call.inputs[0])};
}

constexpr ir::OpDef attribute_op{.name = "scale_by_attribute",
                                 .inputs = {{"x", "[...]"}},
                                 .attrs = &ir::kAttrsInfo<ScaleAttrs>,
                                 .infer = ir::infer_pointwise,
                                 .lower = ir::Pointwise{scale_formula},
                                 .vjp = attribute_vjp};
constexpr ir::OpDef number_op{.name = "scale_by_number",
                              .inputs = {{"x", "[...]"}, {"scale", "[...]"}},
                              .promote = ir::Promotion::Arithmetic,
                              .infer = ir::infer_pointwise,
                              .lower = ir::Pointwise{[](ir::PointwiseContext& c) { return c.input(0) * c.input(1); }},
                              .vjp = number_vjp};
constexpr ir::OpDef size_op{.name = "scale_by_size",
                            .inputs = {{"x", "[...]"}},
                            .infer = ir::infer_pointwise,
                            .lower = ir::Pointwise{[](ir::PointwiseContext& c) { return c.input(0) * 2.0; }},
                            .vjp = size_vjp};

// A Composite without a vjp: exp(x), times what else is there.
std::vector<Tensor> product_body(const ir::CompositeCall& call) {
  Tensor y = exp(call.inputs[0]);
  for (const std::size_t i : {1, 2}) {
    if (call.inputs[i].defined()) y = y * call.inputs[i];
  }
  return {y};
}
constexpr ir::OpDef product_op{.name = "exp_product",
                               .inputs = {{"x", "[...]"},
                                          {.name = "weight", .shape = "[...]", .kind = ir::InputKind::Optional},
                                          {.name = "count", .shape = "[...]", .kind = ir::InputKind::Optional, .promoted = false}},
                               .promote = ir::Promotion::Floating,
                               .infer = [](ir::InferContext& c) -> std::vector<ir::Type> {
                                 return {{c.dtype(0), c.shape(0), {}}};
                               },
                               .lower = ir::Composite{product_body}};
Tensor product(const Tensor& x, const Tensor& weight = {}, const Tensor& count = {}) { return apply_one(product_op, {x, weight, count}); }

// Two results; the gradient reads nothing.
constexpr ir::OpDef mix_op{.name = "mix",
                           .inputs = {{"a", "[...]"}, {"b", "[...]"}},
                           .output_count = 2,
                           .infer = [](ir::InferContext& c) -> std::vector<ir::Type> {
                             return {{c.dtype(0), c.shape(0), {}}, {c.dtype(0), c.shape(0), {}}};
                           },
                           .lower = ir::Composite{[](const ir::CompositeCall& call) -> std::vector<Tensor> {
                             return {call.inputs[0] * 2 + call.inputs[1], call.inputs[0]};
                           }}};
Outputs mix(const Tensor& a, const Tensor& b) {
  static const ir::Attrs kNone;
  const Input inputs[] = {a, b};
  return apply(mix_op, inputs, kNone.ref());
}

// A body of Composites, one of them without a vjp.
constexpr ir::OpDef nested_op{.name = "nested",
                              .inputs = {{"x", "[...]"}},
                              .infer = ir::infer_pointwise,
                              .lower = ir::Composite{[](const ir::CompositeCall& call) -> std::vector<Tensor> {
                                return {softmax(product(call.inputs[0]), {.axis = -1})};
                              }}};

constexpr ir::OpDef undifferentiable_op{.name = "undifferentiable",
                                        .inputs = {{"x", "[...]"}},
                                        .infer = ir::infer_pointwise,
                                        .lower = ir::Pointwise{[](ir::PointwiseContext& c) { return c.input(0) * 2.0; }}};
constexpr ir::OpDef stuck_op{.name = "stuck",
                             .inputs = {{"x", "[...]"}},
                             .infer = ir::infer_pointwise,
                             .lower = ir::Composite{[](const ir::CompositeCall& call) -> std::vector<Tensor> {
                               return {apply_one(undifferentiable_op, {call.inputs[0]})};
                             }}};

Tensor first_of(const Tensor& y, const Tensor& x) { return gradients(sum(y), {x})[0]; }

}  // namespace

TEST_CASE("a vjp may decide by a number, a value of an attribute or a size what it reads, and is asked anew for each") {
  for (int round = 0; round < 2; ++round) {
    for (const double scale : {1.0, 3.0, 0.0, 5.0}) {
      const Tensor x = leaf({1, 2, 4});
      const Tensor by_attribute = apply_one(attribute_op, {x}, ScaleAttrs{scale});
      if (scale == 0) {
        CHECK(!gradients({{sum(by_attribute)}}, {{x}}, {.allow_unused = true})[0].defined());
        continue;
      }
      CHECK(values_of(gradients(sum(by_attribute), {x})[0]) == Values{scale, scale, scale});
      CHECK(values_of(gradients(sum(apply_one(number_op, {x, scale})), {x})[0]) == Values{scale, scale, scale});
    }
    for (const i64 count : {2, 3, 2}) {
      const Tensor x =
          requires_grad_(test::make<double>(count == 2 ? std::initializer_list<double>{1, 2} : std::initializer_list<double>{1, 2, 3}));
      CHECK(values_of(gradients(sum(apply_one(size_op, {x})), {x})[0]) == Values(static_cast<std::size_t>(count), 2));
    }
  }
}

TEST_CASE("the gradient of a Composite without a vjp is derived from its body, twice too") {
  const Tensor x = leaf({0.5, -1, 2, 0.25, 1, -0.5}, {2, 3});
  const Tensor weight = leaf({1, 2, -3});
  const Tensor count = test::make<i64>({3, 2}, {2, 1});
  const GradcheckFunction with_all = [&](std::span<const Tensor> in) { return std::vector<Tensor>{product(in[0], in[1], count)}; };
  const GradcheckFunction with_count = [&](std::span<const Tensor> in) { return std::vector<Tensor>{product(in[0], {}, count)}; };
  const GradcheckFunction alone = [](std::span<const Tensor> in) { return std::vector<Tensor>{product(in[0])}; };
  const GradcheckFunction nested = [](std::span<const Tensor> in) { return std::vector<Tensor>{apply_one(nested_op, {in[0]})}; };
  const std::vector<Tensor> both{x, weight};
  for (const bool twice : {false, true}) {
    const auto check = [&](const GradcheckFunction& f, std::span<const Tensor> inputs) {
      twice ? gradgradcheck(f, inputs) : gradcheck(f, inputs);
    };
    CHECK_NOTHROW(check(with_all, both));
    CHECK_NOTHROW(check(with_count, {{x}}));
    CHECK_NOTHROW(check(alone, {{x}}));
    CHECK_NOTHROW(check(nested, {{x}}));
  }
  CHECK(values_of(first_of(product(x, detach(weight)), x)) == values_of(exp(x) * weight));
}

TEST_CASE("an input that is computed from another one has a gradient of its own") {
  const Tensor x = leaf({0.5, -1});
  const GradcheckFunction f = [](std::span<const Tensor> in) { return std::vector<Tensor>{product(in[0], in[0] * in[0])}; };
  CHECK_NOTHROW(gradcheck(f, {{x}}));
  CHECK_NOTHROW(gradgradcheck(f, {{x}}));
  const Tensor w = x * x;
  const Tensor y = product(x, w);
  CHECK(values_of(gradients(sum(y), {w}, {.create_graph = true})[0]) == values_of(exp(x)));
}

TEST_CASE("a derived gradient is one launch, in the dtypes of its inputs") {
  const Tensor x = requires_grad_(test::make<float>({0.5, -1, 2}));
  const Tensor y = product(x, requires_grad_(test::make<float>({1, 2, 3})));
  const GradientOptions options{.grad_outputs = {ones_like(y)}, .retain_graph = true};
  const auto run = [&] { return gradients({{y}}, {{x}}, options); };
  run();
  const i64 before = launch_count();
  run();
  CHECK(launch_count() - before == 1);
  const Tensor low = requires_grad_(cast(detach(x), DType::BF16));
  const Tensor gradient = first_of(product(low, test::make<i64>({1, 2, 3})), low);
  CHECK(gradient.dtype() == DType::BF16);
  CHECK(values_of(gradient) == values_of(cast(exp(cast(low, DType::F32)) * test::make<float>({1, 2, 3}), DType::BF16)));
}

TEST_CASE("what a derived gradient does not read may be written, and results without a gradient of their own do not matter") {
  const Tensor x = leaf({1, 2});
  const Tensor plain = test::make<double>({5, 6});
  for (const bool create_graph : {false, true}) {
    const Outputs both = mix(x, plain);
    add_(plain, 1);
    CHECK(values_of(gradients(sum(both[0]), {x}, {.create_graph = create_graph})[0]) == Values{2, 2});
    CHECK(values_of(gradients(sum(mix(x, plain)[1]), {x}, {.create_graph = create_graph})[0]) == Values{1, 1});
    CHECK(values_of(gradients(sum(both[0] * both[1]), {x}, {.create_graph = create_graph})[0]).size() == 2);
  }
  const Tensor read = leaf({1, 2});
  const Tensor y = product(x, read * 1);
  add_(detach(x), 1);
  CHECK(
      test::starts_with(test::words_of<ArgumentError>([&] { backward(sum(y)); }), "one of the variables needed for gradient computation"));
}

TEST_CASE("hooks of the user do not see the steps of a derived gradient that nobody asked for") {
  const Tensor x = leaf({1, 2});
  int steps = 0;
  int packed = 0;
  const auto count = [&] {
    const NodeCreationHook hook([&](const GradNode&) { ++steps; });
    const SavedTensorHooks hooks(
        [&](const Tensor& saved) {
          ++packed;
          return std::any(saved);
        },
        [](const std::any& saved) { return std::any_cast<Tensor>(saved); });
    backward(sum(apply_one(nested_op, {x})));
  };
  count();
  CHECK(steps == 2);
  CHECK(packed == 1);
}

TEST_CASE("a step in a body that has no derivative is named") {
  const Tensor x = leaf({1, 2});
  const Tensor y = apply_one(stuck_op, {x});
  CHECK(test::words_of<UnsupportedError>([&] { backward(sum(y)); }) == "derivative for undifferentiable is not implemented");
}
