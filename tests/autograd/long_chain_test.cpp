// tests/autograd/long_chain_test.cpp -- histories that are longer than the C++ stack.
#include <doctest/doctest.h>

#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/shape.h"

#include "tests/autograd/leaf.h"

using namespace resilin;
using test::leaf;
using test::Values;
using test::values_of;

TEST_CASE("a long chain is built, run and freed without depth") {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = y + x;
  backward(sum(y));
  CHECK(values_of(grad(x)) == Values{100001});
}

TEST_CASE("a long chain that nobody runs is freed without depth, with what it saved") {
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 1000000; ++i) y = y * x;
  y = Tensor();
  CHECK(x.storage().use_count() == 1);
}

TEST_CASE("a long chain of writes and of views is freed without depth") {
  const Tensor x = leaf({1});
  const Tensor y = x * 1;
  for (int i = 0; i < 100000; ++i) add_(y, x);
  Tensor view = y;
  for (int i = 0; i < 100000; ++i) view = reshape(view, {i % 2 == 0 ? 1 : -1, 1});
  backward(sum(view));
  CHECK(values_of(grad(x)) == Values{100001});
}
