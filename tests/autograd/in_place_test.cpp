// tests/autograd/in_place_test.cpp -- writes into tensors with a history, and through views of them.
#include <doctest/doctest.h>

#include "resilin/autograd/node.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"

#include "tests/autograd/leaf.h"

using namespace resilin;
using test::leaf;
using test::starts_with;
using test::Values;
using test::values_of;
using test::words_of;

TEST_CASE("a leaf that requires a gradient is not written, nor through a view") {
  const Tensor x = leaf({1, 2});
  CHECK(words_of<ArgumentError>([&] { add_(x, 1); }) == "add: a leaf Variable that requires grad is being used in an in-place operation.");
  CHECK(words_of<ArgumentError>([&] { mul_(slice(x, 0, 0, 1), 2); }) ==
        "mul: a view of a leaf Variable that requires grad is being used in an in-place operation.");
  CHECK(values_of(x) == Values{1, 2});
  const NoGrad no_grad;
  add_(x, 1);
  mul_(slice(x, 0, 0, 1), 2);
  CHECK(values_of(x) == Values{4, 3});
}

TEST_CASE("a write in place is a step of the history") {
  const Tensor x = leaf({1, 2});
  const Tensor w = leaf({5, 6});
  const Tensor y = x * 3;
  add_(y, w);
  mul_(y, w);
  CHECK(grad_fn(y).name() == "MulBackward0");
  backward(sum(y));
  CHECK(values_of(grad(x)) == Values{15, 18});
  CHECK(values_of(grad(w)) == Values{8 + 5, 12 + 6});
}

TEST_CASE("an old value that the gradient needs is copied before the write") {
  const Tensor x = leaf({2});
  const Tensor y = x * 1;
  mul_(y, y);
  backward(sum(y));
  CHECK(values_of(grad(x)) == Values{4});
}

TEST_CASE("an old value that an earlier step needs is missed in backward") {
  const Tensor x = leaf({2});
  const Tensor y = x * 1;
  const Tensor z = y * y;
  add_(y, 1);
  CHECK(starts_with(
      words_of<ArgumentError>([&] { backward(sum(z)); }),
      "one of the variables needed for gradient computation has been modified by an inplace operation: [f64 [1]], which is output 0 "
      "of MulBackward0, is at version 1; expected version 0 instead"));
}

TEST_CASE("a plain tensor gets a history by a write") {
  const Tensor x = leaf({1, 2});
  const Tensor total = test::make<double>({10, 20});
  add_(total, x * x);
  add_(total, x);
  CHECK(requires_grad(total));
  backward(sum(total));
  CHECK(values_of(grad(x)) == Values{3, 5});
}

TEST_CASE("assign sends the gradient to the value alone") {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  const Tensor w = leaf({7, 8});
  const Tensor y = x * 2;
  assign(y, w);
  backward(sum(y * y));
  CHECK(values_of(grad(w)) == Values{28, 32});
  CHECK(!grad(x).defined());
}

TEST_CASE("a write through a view changes the history of its base") {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor w = leaf({10, 20, 30});
  const Tensor y = x * 2;
  const Tensor row = select(y, 0, 1);
  mul_(row, w);
  CHECK(grad_fn(y).name() == "CopySlices");
  backward(sum(y * y));
  // y = [[2, 4, 6], [80, 200, 360]]
  CHECK(values_of(grad(x)) == Values{8, 16, 24, 2 * 80 * 20, 2 * 200 * 40, 2 * 360 * 60});
  CHECK(values_of(grad(w)) == Values{2 * 80 * 8, 2 * 200 * 10, 2 * 360 * 12});
}

TEST_CASE("the view itself and other views see the write in their histories") {
  const Tensor x = leaf({1, 2, 3, 4}, {2, 2});
  const Tensor y = x * 1;
  const Tensor flat = reshape(y, {4});
  const Tensor turned = transpose(y, 0, 1);
  mul_(slice(flat, 0, 1, 3), 10);  // [1, 20, 30, 4]
  CHECK(values_of(gradients(sum(flat), {x}, {.retain_graph = true})[0]) == Values{1, 10, 10, 1});
  CHECK(values_of(gradients(sum(turned * turned), {x}, {.retain_graph = true})[0]) == Values{2, 400, 600, 8});
  mul_(y, 2);
  CHECK(values_of(gradients(sum(flat), {x}, {.retain_graph = true})[0]) == Values{2, 20, 20, 2});
  CHECK(grad_fn(turned).name() == "ViewBackward0");
}

TEST_CASE("writes through views can be differentiated twice") {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = x * x;
  const Tensor part = slice(y, 0, 0, 2);
  mul_(part, slice(x, 0, 1, 3));  // [1 * 2, 4 * 3, 9]
  const Tensor first = gradients(sum(y), {x}, {.create_graph = true})[0];
  CHECK(values_of(first) == Values{2 * 1 * 2, 1 + 2 * 2 * 3, 4 + 6});
  CHECK(values_of(gradients(sum(first), {x})[0]) == Values{4 + 2, 2 + 6 + 4, 4 + 2});
}

TEST_CASE("infinite gradients outside a written part stay outside") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 1;
  assign(slice(y, 0, 0, 1), 0.0);
  backward(sum(y / test::make<double>({0, 1})));
  CHECK(values_of(grad(x)) == Values{0, 1});
}

TEST_CASE("a write that would lose a gradient is refused") {
  const Tensor x = leaf({1});
  const Tensor buffer = zeros({3}, DType::F64);
  CHECK(starts_with(words_of<UnsupportedError>([&] { assign(slice(buffer, 0, 0, 1), x); }),
                    "assign: a value that requires grad is written into a tensor that does not and whose memory other tensors"));
  CHECK(values_of(buffer) == Values{0, 0, 0});
}

TEST_CASE("a write of a constant cuts the history") {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  assign(y, 5.0);
  backward(sum(y) + sum(x));
  CHECK(values_of(grad(x)) == Values{1, 1});
}
