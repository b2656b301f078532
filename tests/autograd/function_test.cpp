// tests/autograd/function_test.cpp -- functions with a backward of their own, and checkpoints.
#include "resilin/autograd/function.h"

#include <doctest/doctest.h>

#include "resilin/autograd/checkpoint.h"
#include "resilin/autograd/gradcheck.h"
#include "resilin/autograd/hooks.h"
#include "resilin/autograd/node.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/activation/softmax.h"
#include "resilin/ops/contract/matmul.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/random/uniform.h"
#include "resilin/ops/reduce/reduce.h"

#include "tests/autograd/leaf.h"

using namespace resilin;
using test::leaf;
using test::starts_with;
using test::Values;
using test::values_of;
using test::words_of;

namespace {

const Function kSquare{
    .name = "Square",
    .forward =
        [](FunctionContext& c, std::span<const Tensor> in) {
          CHECK(!is_grad_enabled());
          c.save_for_backward({in[0]});
          return std::vector<Tensor>{in[0] * in[0]};
        },
    .backward = [](FunctionContext& c, std::span<const Tensor> grads) { return std::vector<Tensor>{grads[0] * 2 * c.saved_tensors()[0]}; }};

const Function kExp{
    .name = "Exp",
    .forward =
        [](FunctionContext& c, std::span<const Tensor> in) {
          const Tensor y = exp(in[0]);
          c.save_for_backward({y});
          return std::vector<Tensor>{y};
        },
    .backward = [](FunctionContext& c, std::span<const Tensor> grads) { return std::vector<Tensor>{grads[0] * c.saved_tensors()[0]}; }};

}  // namespace

TEST_CASE("a function is one step with its own backward, which can be differentiated again") {
  const Tensor x = leaf({3});
  const Tensor y = apply_function(kSquare, {x})[0];
  CHECK(grad_fn(y).name() == "SquareBackward");
  const Tensor first = gradients(sum(y * y), {x}, {.create_graph = true})[0];
  CHECK(values_of(first) == Values{108});
  CHECK(values_of(gradients(sum(first), {x})[0]) == Values{108});
  CHECK(!requires_grad(apply_function(kSquare, {detach(x)})[0]));
}

TEST_CASE("a function may save its output") {
  const Tensor memory = test::make<double>({1, 2});
  {
    const Tensor x = requires_grad_(detach(memory));
    const GradcheckFunction f = [](std::span<const Tensor> in) { return apply_function(kExp, {in[0]}); };
    gradcheck(f, {&x, 1});
    gradgradcheck(f, {&x, 1});
    const Tensor y = apply_function(kExp, {x})[0];
    add_(detach(y), 1);
    CHECK(starts_with(words_of<ArgumentError>([&] { backward(sum(y)); }), "one of the variables needed"));
  }
  CHECK(memory.storage().use_count() == 1);
}

TEST_CASE("a function frees what it saved") {
  const Tensor x = leaf({3});
  const Tensor y = sum(apply_function(kSquare, {x})[0]);
  backward(y);
  CHECK(starts_with(words_of<ArgumentError>([&] { backward(y); }), "Trying to backward through the graph a second time"));
}

TEST_CASE("gradients that did not arrive are zeros, unless the function wants to know") {
  for (const bool materialize : {true, false}) {
    const Function two{.name = "Two",
                       .forward =
                           [&](FunctionContext& c, std::span<const Tensor> in) {
                             c.set_materialize_grads(materialize);
                             CHECK(c.needs_input_grad(0));
                             CHECK(!c.needs_input_grad(1));
                             return std::vector<Tensor>{in[0] * 2, in[0] * 3};
                           },
                       .backward =
                           [&](FunctionContext&, std::span<const Tensor> grads) {
                             CHECK(grads[0].defined() == materialize);
                             return std::vector<Tensor>{grads[1] * 3, Tensor()};
                           }};
    const Tensor x = leaf({1});
    backward(sum(apply_function(two, {x, test::make<double>({1})})[1]));
    CHECK(values_of(grad(x)) == Values{3});
  }
}

TEST_CASE("a wrong number of gradients and a wrong shape are named") {
  const auto with = [](std::vector<Tensor> grads) {
    return Function{.name = "Wrong",
                    .forward = [](FunctionContext&, std::span<const Tensor> in) { return std::vector<Tensor>{in[0] * 2}; },
                    .backward = [grads](FunctionContext&, std::span<const Tensor>) { return grads; }};
  };
  const Tensor x = leaf({1, 2});
  CHECK(words_of<ArgumentError>([&] {
          backward(sum(apply_function(with({x, x}), {x})[0]));
        }) == "function WrongBackward returned an incorrect number of gradients (expected 1, got 2)");
  CHECK(words_of<ShapeError>([&] {
          backward(sum(apply_function(with({test::make<double>({1, 2, 3, 4, 5})}), {x})[0]));
        }) == "Function WrongBackward returned an invalid gradient at index 0 - got [5] but expected shape compatible with [2]");
}

TEST_CASE("outputs of a function: those without gradients, and inputs given back") {
  const Function same{.name = "Same",
                      .forward =
                          [](FunctionContext& c, std::span<const Tensor> in) {
                            const Tensor other = in[0] * 2;
                            c.mark_non_differentiable(other);
                            return std::vector<Tensor>{in[0], other};
                          },
                      .backward = [](FunctionContext&, std::span<const Tensor> grads) { return std::vector<Tensor>{grads[0] * 5}; }};
  const Tensor x = leaf({1});
  const std::vector<Tensor> y = apply_function(same, {x});
  CHECK(!requires_grad(y[1]));
  CHECK(is_leaf(x));
  CHECK(!is_leaf(y[0]));
  CHECK(starts_with(words_of<UnsupportedError>([&] { add_(y[0], 1); }), "add: an output of a custom function that shares the memory"));
  backward(sum(y[0]));
  CHECK(values_of(grad(x)) == Values{5});
}

TEST_CASE("a checkpoint keeps its inputs and runs again") {
  const Tensor x = leaf({1, 2, 3});
  const Tensor w = leaf({0.5, -1, 2});
  int runs = 0;
  const auto f = [&](std::span<const Tensor> in) {
    ++runs;
    return std::vector<Tensor>{softmax(exp(in[0]) * w, {.axis = 0})};
  };
  backward(sum(f({{x}})[0] * x));
  const Values to_x = values_of(grad(x));
  const Values to_w = values_of(grad(w));
  clear_grad(x);
  clear_grad(w);
  runs = 0;
  const Tensor loss = sum(checkpoint(f, {{x}})[0] * x);
  CHECK(runs == 1);
  backward(loss, {.retain_graph = true});
  CHECK(runs == 2);
  CHECK(values_of(grad(x)) == to_x);
  CHECK(values_of(grad(w)) == to_w);
  backward(loss);
  CHECK(runs == 3);
}

TEST_CASE("a checkpoint draws the same random numbers again and can be differentiated twice") {
  default_generator().manual_seed(5);
  const auto f = [](std::span<const Tensor> in) { return std::vector<Tensor>{in[0] * in[0] * rand({2}, DType::F64)}; };
  const Tensor x = leaf({1, 2});
  const Tensor y = checkpoint(f, {{x}})[0];
  const Values drawn{values_of(y)[0], values_of(y)[1] / 4};
  const Values next = values_of(rand({2}, DType::F64));
  const Tensor first = gradients(sum(y), {x}, {.create_graph = true})[0];
  CHECK(values_of(first)[1] == doctest::Approx(4 * drawn[1]));
  CHECK(values_of(gradients(sum(first), {x})[0])[0] == doctest::Approx(2 * drawn[0]));
  CHECK(next != drawn);
}

TEST_CASE("a checkpoint that makes other tensors the second time is refused") {
  int runs = 0;
  const auto f = [&](std::span<const Tensor> in) { return std::vector<Tensor>{++runs == 1 ? in[0] * in[0] : in[0] * 2}; };
  const Tensor x = leaf({1, 2});
  const Tensor loss = sum(checkpoint(f, {{x}})[0]);
  CHECK(starts_with(words_of<ArgumentError>([&] { backward(loss); }), "checkpoint: A different number of tensors was saved"));
}
