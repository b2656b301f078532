// tests/autograd/backward_test.cpp -- gradients through chains, sums and broadcasts; what may be asked of backward and gradients.
#include "resilin/autograd/backward.h"

#include <thread>

#include <doctest/doctest.h>

#include "resilin/autograd/hooks.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/activation/softmax.h"
#include "resilin/ops/contract/matmul.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/norm/layer_norm.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/sort/sort.h"
#include "resilin/tensor/allocator.h"

#include "tests/autograd/leaf.h"

using namespace resilin;
using test::leaf;
using test::starts_with;
using test::Values;
using test::values_of;
using test::words_of;

TEST_CASE("a gradient runs through a chain of ops") {
  const Tensor x = leaf({1, 2, 3});
  backward(sum(exp(x * 2) + x));
  const Values got = values_of(grad(x));
  for (std::size_t i = 0; i < 3; ++i) CHECK(got[i] == doctest::Approx(2 * std::exp(2.0 * static_cast<double>(i + 1)) + 1));
}

TEST_CASE("gradients of several uses are summed, and backward adds to what is there") {
  const Tensor x = leaf({2, 3});
  const Tensor y = x * x + x * x * x;
  backward(sum(y + x));
  CHECK(values_of(grad(x)) == Values{1 + 4 + 12, 1 + 6 + 27});
  backward(sum(x * 10));
  CHECK(values_of(grad(x)) == Values{27, 44});
  clear_grad(x);
  CHECK(!grad(x).defined());
}

TEST_CASE("a gradient has the shape and dtype of its input, whatever was broadcast or promoted") {
  const Tensor row = leaf({1, 2, 3});
  const Tensor column = leaf({1, 2}, {2, 1});
  const Tensor low = requires_grad_(test::make<float>({3}));
  backward(sum(row * column + low));
  CHECK(values_of(grad(row)) == Values{3, 3, 3});
  CHECK(values_of(grad(column)) == Values{6, 6});
  CHECK(grad(column).shape() == column.shape());
  CHECK(grad(low).dtype() == DType::F32);
  CHECK(values_of(grad(low)) == Values{6});
}

TEST_CASE("only a scalar starts with an implicit gradient") {
  const Tensor x = leaf({1, 2});
  CHECK(words_of<ArgumentError>([&] { backward(x * 2); }) == "grad can be implicitly created only for scalar outputs");
  backward(x * 2, {.gradient = test::make<double>({1, 10})});
  CHECK(values_of(grad(x)) == Values{2, 20});
  CHECK(starts_with(words_of<ShapeError>([&] { backward(x * 2, {.gradient = test::make<double>({1})}); }),
                    "Mismatch in shape: grad_output[0] has a shape of [1] and output[0] has a shape of [2]."));
}

TEST_CASE("backward of what requires no gradient is refused") {
  const Tensor x = test::make<double>({1});
  CHECK(words_of<ArgumentError>([&] { backward(x); }) == "element 0 of tensors does not require grad and does not have a grad_fn");
  CHECK(words_of<ArgumentError>([&] { backward(sum(gt(requires_grad_(x), 0))); }) != "");
}

TEST_CASE("a second backward needs retain_graph where something was saved") {
  const Tensor x = leaf({3});
  const Tensor y = sum(x * x);
  backward(y, {.retain_graph = true});
  backward(y);
  CHECK(values_of(grad(x)) == Values{12});
  CHECK(starts_with(words_of<ArgumentError>([&] { backward(y); }), "Trying to backward through the graph a second time"));
  const Tensor z = sum(x + x);
  backward(z);
  backward(z);  // sums save nothing
  CHECK(values_of(grad(x)) == Values{16});
}

TEST_CASE("gradients gives results back and leaves the leaves alone") {
  const Tensor x = leaf({2});
  const Tensor y = x * x;
  const Tensor z = y * x;
  const std::vector<Tensor> got = gradients(sum(z), {x, y});
  CHECK(values_of(got[0]) == Values{12});
  CHECK(values_of(got[1]) == Values{2});
  CHECK(!grad(x).defined());
  CHECK(values_of(gradients(x, {x}, {.grad_outputs = {test::make<double>({7})}})[0]) == Values{7});
}

TEST_CASE("gradients runs only what leads to the inputs asked for") {
  const Tensor x = leaf({2});
  const Tensor w = leaf({5});
  int calls = 0;
  const Tensor other = w * 2;
  register_hook(other, [&](const Tensor&) {
    ++calls;
    return Tensor();
  });
  CHECK(values_of(gradients(sum(x * other), {x})[0]) == Values{10});
  CHECK(calls == 0);
}

TEST_CASE("an input without influence is an error, undefined, or zeros") {
  const Tensor x = leaf({2});
  const Tensor unused = leaf({4});
  const auto loss = [&] { return sum(x * 3); };
  CHECK(starts_with(words_of<ArgumentError>([&] { gradients(loss(), {unused}); }),
                    "One of the differentiated Tensors appears to not have been used in the graph."));
  CHECK(starts_with(words_of<ArgumentError>([&] { gradients(loss(), {test::make<double>({1})}); }),
                    "One of the differentiated Tensors does not require grad"));
  const std::vector<Tensor> got = gradients(loss(), {x, unused}, {.allow_unused = true});
  CHECK(values_of(got[0]) == Values{3});
  CHECK(!got[1].defined());
  CHECK(values_of(gradients(loss(), {unused}, {.materialize_grads = true})[0]) == Values{0});
}

TEST_CASE("backward with inputs adds to these only") {
  const Tensor x = leaf({2});
  const Tensor w = leaf({5});
  const Tensor y = x * w;
  backward(sum(y * y), {.inputs = {w, y}});
  CHECK(!grad(x).defined());
  CHECK(values_of(grad(w)) == Values{40});
  CHECK(values_of(grad(y)) == Values{20});
}

TEST_CASE("gradients have gradients: x to the fourth, three times") {
  const Tensor x = leaf({3});
  const Tensor square = x * x;
  const Tensor first = gradients(sum(square * square), {x}, {.create_graph = true})[0];
  const Tensor second = gradients(sum(first), {x}, {.create_graph = true})[0];
  const Tensor third = gradients(sum(second), {x})[0];
  CHECK(values_of(first) == Values{108});
  CHECK(values_of(second) == Values{108});
  CHECK(values_of(third) == Values{72});
  CHECK(!requires_grad(third));
}

TEST_CASE("backward with create_graph leaves gradients with a history") {
  const Tensor x = leaf({3});
  backward(sum(x * x * x), {.create_graph = true});
  const Tensor first = grad(x);
  CHECK(requires_grad(first));
  clear_grad(x);
  backward(sum(first * first));
  CHECK(values_of(grad(x)) == Values{2 * 27 * 18});
}

TEST_CASE("only the outputs that were used bring gradients") {
  const Tensor x = leaf({3, 1, 2});
  const auto [values, positions] = sort(x);
  CHECK(requires_grad(values));
  CHECK(!requires_grad(positions));
  backward(sum(values * test::make<double>({1, 10, 100})));
  CHECK(values_of(grad(x)) == Values{100, 1, 10});
}

TEST_CASE("an op without a derivative says so in backward") {
  static constexpr ir::OpDef twin_op{
      .name = "twin",
      .inputs = {{"x", "[...]"}},
      .dtypes = ir::kFloats,
      .infer = ir::infer_pointwise,
      .lower = ir::Pointwise{[](ir::PointwiseContext& c) { return c.input(0); }},
  };
  const Tensor y = apply_one(twin_op, {leaf({1, 2})});
  CHECK(requires_grad(y));
  CHECK(words_of<UnsupportedError>([&] { backward(sum(y)); }) == "derivative for twin is not implemented");
}

TEST_CASE("a training loop takes no new memory from step to step") {
  const Tensor w = requires_grad_(test::random({16, 4}, DType::F32, 1));
  const Tensor x = test::random({8, 16}, DType::F32, 2);
  const auto step = [&] {
    clear_grad(w);
    const Tensor y = layer_norm(softmax(matmul(x, w), {.axis = -1}), {4});
    backward(mean(y * y + y));
    const NoGrad no_grad;
    sub_(w, grad(w) * 0.1);
  };
  for (int i = 0; i < 5; ++i) step();
  const AllocatorStats before = allocator_stats();
  for (int i = 0; i < 5; ++i) step();
  const AllocatorStats after = allocator_stats();
  CHECK(after.in_use_bytes == before.in_use_bytes);
  CHECK(after.reserved_bytes == before.reserved_bytes);
  CHECK(after.system_allocations == before.system_allocations);
}

TEST_CASE("threads differentiate histories of their own, and share a leaf") {
  const Tensor shared = leaf({1, 2, 3});
  const auto work = [&](double factor, Tensor& result) {
    for (int i = 0; i < 50; ++i) {
      const Tensor x = leaf({factor});
      backward(sum(x * x * shared));
      result = grad(x);
    }
  };
  Tensor first, second;
  std::thread a(work, 2, std::ref(first));
  std::thread b(work, 3, std::ref(second));
  a.join();
  b.join();
  CHECK(values_of(first) == Values{24});
  CHECK(values_of(second) == Values{36});
  CHECK(values_of(grad(shared)) == Values{650, 650, 650});
}
