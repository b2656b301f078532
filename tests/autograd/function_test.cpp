// tests/autograd/function_test.cpp -- functions with a backward of their own, and checkpoints.
#include "resilin/autograd/function.h"

#include <doctest/doctest.h>

#include "resilin/autograd/checkpoint.h"
#include "resilin/autograd/gradcheck.h"
#include "resilin/autograd/hooks.h"
#include "resilin/autograd/node.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/activation/softmax.h"
#include "resilin/ops/contract/matmul.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/random/uniform.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/range.h"

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

namespace {

// Doubles its first input in place.
Function doubling(std::vector<Tensor> (*outputs)(std::span<const Tensor> in) = [](std::span<const Tensor> in) {
  return std::vector<Tensor>{in[0]};
}) {
  return {.name = "Double",
          .forward =
              [outputs](FunctionContext& c, std::span<const Tensor> in) {
                mul_(in[0], 2);
                c.mark_dirty(in[0]);
                return outputs(in);
              },
          .backward = [](FunctionContext&, std::span<const Tensor> grads) { return std::vector<Tensor>{grads[0] * 2}; }};
}

// Its backward keeps the gradient that arrives.
Function watched(std::optional<DType> dtype, Tensor& arrived) {
  return {.name = "Watched",
          .forward =
              [dtype](FunctionContext& c, std::span<const Tensor> in) {
                const Tensor y = in[0] * 2;
                c.set_output_grad_dtype(y, dtype);
                return std::vector<Tensor>{y};
              },
          .backward =
              [&arrived](FunctionContext&, std::span<const Tensor> grads) {
                arrived = grads[0];
                return std::vector<Tensor>{grads[0] * 2};
              }};
}

}  // namespace

TEST_CASE("an input that a function writes and marks as dirty goes on from there") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  const Tensor before = y * y;
  const Tensor z = apply_function(doubling(), {y})[0];
  CHECK(z.is_same(y));
  CHECK(grad_fn(y).name() == "DoubleBackward");
  backward(sum(y * y));
  CHECK(values_of(grad(x)) == Values{72, 144});
  CHECK(starts_with(words_of<ArgumentError>([&] { backward(sum(before)); }),
                    "one of the variables needed for gradient computation has been modified by an inplace operation: [f64 [2]], which is "
                    "output 0 of MulBackward0, is at version 2; expected version 0 instead"));
}

TEST_CASE("a function may write into a view, and its base follows") {
  const Tensor x = leaf({1, 2, 3});
  const Tensor base = x * 1;
  apply_function(doubling(), {slice(base, 0, 0, 2)});
  CHECK(values_of(base) == Values{2, 4, 3});
  backward(sum(base * base));
  CHECK(values_of(grad(x)) == Values{8, 16, 6});
}

TEST_CASE("a function may keep an input that it wrote") {
  const Function exp_in_place{
      .name = "Exp",
      .forward =
          [](FunctionContext& c, std::span<const Tensor> in) {
            assign(in[0], exp(in[0]));
            c.mark_dirty(in[0]);
            c.save_for_backward({in[0]});
            return std::vector<Tensor>{in[0]};
          },
      .backward = [](FunctionContext& c, std::span<const Tensor> grads) { return std::vector<Tensor>{grads[0] * c.saved_tensors()[0]}; }};
  const Tensor x = leaf({0.5, -1});
  const GradcheckFunction f = [&](std::span<const Tensor> in) { return apply_function(exp_in_place, {in[0] * 1}); };
  gradcheck(f, {&x, 1});
  gradgradcheck(f, {&x, 1});
  const Tensor y = f({&x, 1})[0];
  add_(y, 1);
  CHECK(starts_with(words_of<ArgumentError>([&] { backward(sum(y)); }), "one of the variables needed for gradient computation"));
}

TEST_CASE("marks that cannot be followed are refused") {
  const Tensor x = leaf({1, 2});
  CHECK(words_of<ArgumentError>([&] { apply_function(doubling(), {x}); }) ==
        "Double: a leaf Variable that requires grad is being used in an in-place operation.");
  const Function lost = doubling([](std::span<const Tensor> in) { return std::vector<Tensor>{in[0] * 1}; });
  CHECK(words_of<ArgumentError>([&] { apply_function(lost, {x * 1}); }) ==
        "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace must "
        "all be outputs of the Function.");
  const Function two = doubling([](std::span<const Tensor> in) { return std::vector<Tensor>{in[0], in[0] * 1}; });
  CHECK(apply_function(two, {x * 1}).size() == 2);
  CHECK(starts_with(words_of<ArgumentError>([&] {
                      const Tensor y = x * 1;
                      apply_function(two, {slice(y, 0, 0, 1)});
                    }),
                    "If your Function modifies inplace an input that is a view of another Tensor"));
  const Function stray{.name = "Stray",
                       .forward =
                           [](FunctionContext& c, std::span<const Tensor> in) {
                             const Tensor y = in[0] * 2;
                             c.mark_dirty(y);
                             return std::vector<Tensor>{y};
                           },
                       .backward = [](FunctionContext&, std::span<const Tensor> grads) { return std::vector<Tensor>{grads[0]}; }};
  CHECK(words_of<ArgumentError>([&] { apply_function(stray, {x}); }) == "Stray: a tensor that is no input was marked as dirty");
}

TEST_CASE("a function says in which dtype the gradient of an output arrives") {
  const Tensor x = requires_grad_(test::make<float>({1, 2}));
  Tensor arrived;
  const auto run = [&](std::optional<DType> dtype) {
    clear_grad(x);
    const Tensor low = cast(x, DType::BF16);
    const Tensor y = apply_function(watched(dtype, arrived), {low})[0];
    CHECK(y.dtype() == DType::BF16);
    const Function wide{
        .name = "Wide",
        .forward = [](FunctionContext&, std::span<const Tensor> in) { return std::vector<Tensor>{sum(cast(in[0], DType::F32))}; },
        .backward =
            [](FunctionContext&, std::span<const Tensor>) {
              return std::vector<Tensor>{test::make<float>({1.0009765625f, 3})};
            }};
    backward(apply_function(wide, {y})[0]);
    CHECK(grad(x).dtype() == DType::F32);
  };
  run(DType::BF16);
  CHECK(arrived.dtype() == DType::BF16);
  CHECK(values_of(cast(arrived, DType::F32)) == Values{1, 3});
  run(DType::F32);
  CHECK(arrived.dtype() == DType::F32);
  CHECK(values_of(arrived) == Values{1.0009765625, 3});
  run(DType::F64);
  CHECK(arrived.dtype() == DType::F64);
  run(std::nullopt);
  CHECK(arrived.dtype() == DType::F32);
}

TEST_CASE("gradients given to an output take the dtype that it wants, and sums of several keep it") {
  const Tensor x = requires_grad_(cast(test::make<float>({1, 2}), DType::BF16));
  Tensor arrived;
  const Tensor y = apply_function(watched(DType::F32, arrived), {x})[0];
  backward(y, {.gradient = test::make<float>({1.0009765625f, 3}), .retain_graph = true});
  CHECK(values_of(arrived) == Values{1.0009765625, 3});
  backward(sum(y) + sum(y * 2));
  CHECK(arrived.dtype() == DType::F32);
  CHECK(values_of(arrived) == Values{3, 3});
  const Tensor free = apply_function(watched(std::nullopt, arrived), {x})[0];
  const std::vector<Tensor> outputs{free, free, free};
  gradients(outputs, {{x}}, {.grad_outputs = {test::make<float>({1, 1}), test::make<double>({1e-12, 1}), test::make<double>({1, 1})}});
  CHECK(arrived.dtype() == DType::F64);
  CHECK(words_of<DtypeError>([&] { apply_function(watched(DType::I64, arrived), {x}); }) ==
        "set_output_grad_dtype: a gradient cannot be of i64; it must be floating");
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
