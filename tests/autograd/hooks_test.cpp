// tests/autograd/hooks_test.cpp -- hooks on tensors, leaves and nodes: their order, what they may change, how they go.
#include "resilin/autograd/hooks.h"

#include <doctest/doctest.h>

#include "resilin/autograd/anomaly.h"
#include "resilin/autograd/node.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/reduce/reduce.h"

#include "tests/autograd/leaf.h"

using namespace resilin;
using test::leaf;
using test::Values;
using test::values_of;
using test::words_of;

TEST_CASE("tensor hooks run in order and may replace the gradient") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  std::vector<double> seen;
  register_hook(y, [&](const Tensor& g) {
    seen.push_back(values_of(g)[0]);
    return g * 10;
  });
  const HookHandle second = register_hook(y, [&](const Tensor& g) {
    seen.push_back(values_of(g)[0]);
    return Tensor();
  });
  register_hook(x, [&](const Tensor& g) {
    seen.push_back(values_of(g)[0]);
    return g + 1;
  });
  retain_grad(y);
  backward(sum(y * 3), {.retain_graph = true});
  CHECK(seen == Values{3, 30, 60});
  CHECK(values_of(grad(x)) == Values{61, 61});
  CHECK(values_of(grad(y)) == Values{30, 30});
  HookHandle handle = second;
  handle.remove();
  handle.remove();
  seen.clear();
  backward(sum(y * 3));
  CHECK(seen == Values{3, 60});
}

TEST_CASE("a hook runs once, on the sum of all uses") {
  const Tensor x = leaf({1});
  int calls = 0;
  register_hook(x, [&](const Tensor& g) {
    ++calls;
    CHECK(values_of(g) == Values{5});
    return Tensor();
  });
  backward(sum(x * 2 + x * 3));
  CHECK(calls == 1);
  CHECK(values_of(gradients(sum(x * 5), {x})[0]) == Values{5});
  CHECK(calls == 2);
}

TEST_CASE("a hook after accumulation may use up the gradient") {
  const Tensor w = leaf({1, 2});
  HookHandle handle = register_post_accumulate_grad_hook(w, [](const Tensor& leaf) {
    const NoGrad no_grad;
    sub_(leaf, grad(leaf));
    clear_grad(leaf);
  });
  backward(sum(w * 3));
  CHECK(values_of(w) == Values{-2, -1});
  CHECK(!grad(w).defined());
  handle.remove();
  backward(sum(w * 3));
  CHECK(values_of(grad(w)) == Values{3, 3});
}

TEST_CASE("node hooks stand before and after the step") {
  const Tensor x = leaf({1, 2});
  const Tensor y = exp(x);
  std::vector<std::string> order;
  HookHandle before = grad_fn(y).register_prehook([&](std::vector<Tensor>& grads) {
    order.push_back("before");
    grads[0] = grads[0] * 2;
  });
  HookHandle after = grad_fn(y).register_hook([&](std::vector<Tensor>& inputs, std::span<const Tensor> outputs) {
    order.push_back("after");
    CHECK(values_of(outputs[0]) == Values{2, 2});
    inputs[0] = zeros_like(inputs[0]) + 7;
  });
  backward(sum(y), {.retain_graph = true});
  CHECK(order == std::vector<std::string>{"before", "after"});
  CHECK(values_of(grad(x)) == Values{7, 7});
  before.remove();
  after.remove();
  backward(sum(y));
  CHECK(order.size() == 2);
}

TEST_CASE("backward may run inside a hook") {
  const Tensor x = leaf({3});
  const Tensor w = leaf({2});
  const Tensor y = x * 2;
  register_hook(y, [&](const Tensor& g) {
    const EnableGrad enable_grad;
    backward(sum(w * w));
    return g * grad(w);
  });
  backward(sum(y));
  CHECK(values_of(grad(x)) == Values{8});
  CHECK(values_of(grad(w)) == Values{4});
}

TEST_CASE("a hook on several tensors is called once a backward, when all that it reaches have their gradient or when the first has") {
  for (const MultiGradMode mode : {MultiGradMode::All, MultiGradMode::Any}) {
    const Tensor x = leaf({1});
    const Tensor a = x * 2;
    const Tensor b = a * 3;
    const Tensor c = x * 5;
    std::vector<Values> seen;
    const std::vector<Tensor> watched{a, b, c, x};
    HookHandle handle = register_multi_grad_hook(
        watched,
        [&](std::span<const Tensor> grads) {
          Values values;
          for (const Tensor& grad : grads) values.push_back(grad.defined() ? values_of(grad)[0] : -1);
          seen.push_back(values);
        },
        mode);
    const BackwardOptions again{.retain_graph = true};
    backward(sum(b + c), again);
    CHECK(seen == std::vector<Values>{mode == MultiGradMode::All ? Values{3, 1, 1, 11} : Values{-1, -1, 1, -1}});
    seen.clear();
    backward(sum(b * 2), again);
    CHECK(seen == std::vector<Values>{mode == MultiGradMode::All ? Values{6, 2, -1, 12} : Values{-1, 2, -1, -1}});
    seen.clear();
    gradients({{sum(b)}}, {{a}}, {.retain_graph = true});
    CHECK(seen == std::vector<Values>{mode == MultiGradMode::All ? Values{3, 1, -1, -1} : Values{-1, 1, -1, -1}});
    handle.remove();
    seen.clear();
    backward(sum(b + c));
    CHECK(seen.empty());
  }
  CHECK(words_of<ArgumentError>([&] {
          register_multi_grad_hook({{leaf({1}), test::make<double>({1})}}, [](std::span<const Tensor>) {});
        }) == "cannot register a hook on a tensor that doesn't require gradient");
}

TEST_CASE("a hook on several tensors keeps none of them alive and forgets a backward that failed") {
  const Tensor memory = test::make<double>({1, 2});
  {
    const Tensor x = requires_grad_(detach(memory));
    const Tensor y = x * 2;
    int calls = 0;
    bool fails = true;
    register_multi_grad_hook({{x, y}}, [&](std::span<const Tensor>) { ++calls; });
    register_hook(y, [&](const Tensor&) -> Tensor {
      if (fails) throw ArgumentError("stop");
      return {};
    });
    CHECK(words_of<ArgumentError>([&] { backward(sum(y), {.retain_graph = true}); }) == "stop");
    fails = false;
    backward(sum(y));
    CHECK(calls == 1);
  }
  CHECK(memory.storage().use_count() == 1);
}

TEST_CASE("gradients between edges of a history need no tensors") {
  const Tensor x = leaf({1, 2});
  GradientEdge from;
  GradientEdge middle;
  {
    const Tensor y = exp(x);
    middle = gradient_edge(y);
    from = gradient_edge(sum(y * y));
  }
  CHECK(middle.node.name() == "ExpBackward0");
  CHECK(gradient_edge(x).node.name() == "AccumulateGrad");
  const std::vector<GradientEdge> inputs{middle, gradient_edge(x)};
  const std::vector<Tensor> grads = edge_gradients({{from}}, inputs, {.retain_graph = true});
  CHECK(values_of(grads[0]) == values_of(exp(x) * 2));
  CHECK(values_of(edge_gradients({{middle}}, {{gradient_edge(x)}}, {.grad_outputs = {ones_like(x)}})[0]) == values_of(exp(x)));
  const Tensor other = leaf({7});
  CHECK(values_of(edge_gradients({{from}}, {{gradient_edge(other)}}, {.materialize_grads = true})[0]) == Values{0});
  CHECK(words_of<ArgumentError>([&] { edge_gradients({{middle}}, inputs); }) == "grad can be implicitly created only for scalar outputs");
  CHECK(words_of<ArgumentError>([&] { gradient_edge(detach(x)); }) ==
        "It is not possible to get the gradient edge for a Tensor that does not require gradients");
}

TEST_CASE("hooks are refused where no gradient comes") {
  const Tensor plain = test::make<double>({1});
  CHECK(words_of<ArgumentError>([&] { register_hook(plain, [](const Tensor& g) { return g; }); }) ==
        "cannot register a hook on a tensor that doesn't require gradient");
  CHECK(words_of<ArgumentError>([&] { retain_grad(plain); }) == "can't retain_grad on Tensor that has requires_grad=False");
  const Tensor y = leaf({1}) * 2;
  CHECK(words_of<ArgumentError>([&] { register_post_accumulate_grad_hook(y, [](const Tensor&) {}); }) ==
        "post accumulate grad hooks cannot be registered on non-leaf tensors");
}

TEST_CASE("the step that makes a NaN is named") {
  const Tensor x = leaf({0});
  const auto loss = [&] { return sum(sqrt(x) * 0); };
  backward(loss());
  const DetectAnomaly anomaly;
  CHECK(words_of<NumericError>([&] { backward(loss()); }) == "Function 'SqrtBackward0' returned nan values in its 0th output.");
}
