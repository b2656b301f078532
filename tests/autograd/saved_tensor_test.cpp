// tests/autograd/saved_tensor_test.cpp -- what histories keep alive, and writes into it.
#include <doctest/doctest.h>

#include "resilin/autograd/saved_tensor_hooks.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/activation/softmax.h"
#include "resilin/ops/contract/matmul.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/range.h"

#include "tests/autograd/leaf.h"

using namespace resilin;
using test::leaf;
using test::starts_with;
using test::Values;
using test::values_of;
using test::words_of;

TEST_CASE("a saved output that was written is refused in backward") {
  const Tensor x = requires_grad_(test::make<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  const Tensor y = exp(x);
  const Tensor loss = sum(y);
  add_(detach(y), 1);
  CHECK(
      starts_with(words_of<ArgumentError>([&] { backward(loss); }),
                  "one of the variables needed for gradient computation has been modified by an inplace operation: [f32 [2, 3]], which is "
                  "output 0 of ExpBackward0, is at version 1; expected version 0 instead"));
}

TEST_CASE("a saved input that was written is refused, one of which only the shape counts is not") {
  const Tensor x = leaf({1, 2});
  const Tensor plain = test::make<double>({3, 4});
  const Tensor product = x * plain;
  const Tensor total = x + plain;
  add_(plain, 1);
  CHECK(
      starts_with(words_of<ArgumentError>([&] { backward(sum(product)); }),
                  "one of the variables needed for gradient computation has been modified by an inplace operation: [f64 [2]] is at version "
                  "1; expected version 0 instead"));
  backward(sum(total));
  CHECK(values_of(grad(x)) == Values{1, 1});
}

TEST_CASE("a write through any view counts") {
  const Tensor x = leaf({1, 2});
  const Tensor plain = test::make<double>({3, 4});
  const Tensor loss = sum(x * plain);
  assign(slice(plain, 0, 0, 1), 0);
  CHECK(words_of<ArgumentError>([&] { backward(loss); }) != "");
}

TEST_CASE("only what a gradient reads is kept alive") {
  const Tensor x = leaf({1, 2});
  const Tensor plain = test::make<double>({3, 4});
  const Tensor kept = x * plain;
  CHECK(plain.storage().use_count() == 2);
  const Tensor other = test::make<double>({3, 4});
  const Tensor not_kept = x + other;
  CHECK(other.storage().use_count() == 1);
  const Tensor product = plain * x;  // x is needed by nobody: plain requires no gradient
  CHECK(x.storage().use_count() == 1);
}

TEST_CASE("a history that saves its own output is freed with it") {
  const Tensor memory = test::make<double>({1, 2});
  {
    const Tensor x = requires_grad_(detach(memory));
    const Tensor y = exp(x);
    const Tensor z = softmax(y * x, {.axis = 0});
    CHECK(memory.storage().use_count() > 2);
  }
  CHECK(memory.storage().use_count() == 1);
}

TEST_CASE("backward frees what was saved as it goes") {
  const Tensor x = leaf({1, 2});
  const Tensor plain = test::make<double>({3, 4});
  const Tensor loss = sum(x * plain);
  CHECK(plain.storage().use_count() == 2);
  backward(loss);
  CHECK(plain.storage().use_count() == 1);
}

TEST_CASE("saved tensors can be kept in another form") {
  const Tensor x = leaf({1, 2});
  int packed = 0;
  int unpacked = 0;
  Tensor loss;
  {
    const SavedTensorHooks hooks(
        [&](const Tensor& t) {
          ++packed;
          return std::any(values_of(t));
        },
        [&](const std::any& kept) {
          ++unpacked;
          const Values values = std::any_cast<Values>(kept);
          return test::make<double>({values[0], values[1]});
        });
    loss = sum(x * x * exp(x));
  }
  CHECK(packed == 5);
  backward(loss);
  CHECK(unpacked == 5);
  CHECK(values_of(grad(x))[1] == doctest::Approx((4 + 4) * std::exp(2.0)));
}

TEST_CASE("packed tensors keep their place in the history") {
  const Tensor x = leaf({3});
  Tensor first;
  {
    const SavedTensorHooks hooks([](const Tensor& t) { return std::any(t * 1); },
                                 [](const std::any& kept) { return std::any_cast<Tensor>(kept); });
    const Tensor square = x * x;
    first = gradients(sum(square * square), {x}, {.create_graph = true})[0];
  }
  CHECK(values_of(gradients(sum(first), {x})[0]) == Values{108});
}

TEST_CASE("a pack hook may not write into its input") {
  const Tensor x = leaf({1, 2});
  const SavedTensorHooks hooks(
      [](const Tensor& t) {
        mul_(t, 2);
        return std::any(t);
      },
      [](const std::any& kept) { return std::any_cast<Tensor>(kept); });
  CHECK(starts_with(words_of<ArgumentError>([&] { (void)(x * x); }), "A saved tensor pack hook is modifying its input in place."));
}
