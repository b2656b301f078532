// tests/ir/reference_test.cpp -- plain arrays and their positions.
#include "resilin/ir/reference.h"

#include <cmath>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

namespace resilin::ir {
namespace {

TEST_CASE("an array starts as zeros of its dtype") {
  const Array reals = Array::zeros(DType::BF16, {2, 3});
  CHECK(reals.numel() == 6);
  CHECK(reals.is_real());
  CHECK(reals.reals == std::vector<double>(6, 0.0));
  CHECK(reals.integers.empty());
  const Array scalar = Array::zeros(DType::I64, {});
  CHECK(scalar.numel() == 1);
  CHECK(scalar.integers.size() == 1);
  CHECK(Array::zeros(DType::F32, {3, 0}).reals.empty());
  CHECK_THROWS_AS(Array::zeros(DType::C64, {1}), UnsupportedError);
}

TEST_CASE("integers wrap to their dtype and floats keep double precision") {
  Array bytes = Array::zeros(DType::U8, {1});
  bytes.set_integer(0, 258);
  CHECK(bytes.integer(0) == 2);
  bytes.set(0, -1.0);
  CHECK(bytes.integer(0) == 255);
  Array truth = Array::zeros(DType::Bool, {1});
  truth.set(0, 0.5);
  CHECK(truth.integer(0) == 1);
  truth.set_integer(0, 2);
  CHECK(truth.integer(0) == 1);
  CHECK(truth.real(0) == 1.0);
  Array longs = Array::zeros(DType::I64, {1});
  longs.set(0, std::nan(""));
  CHECK(longs.integer(0) == std::numeric_limits<i64>::min());
  Array reals = Array::zeros(DType::F32, {1});
  reals.set(0, 0.1);
  CHECK(reals.real(0) == 0.1);
  reals.set_integer(0, 3);
  CHECK(reals.real(0) == 3.0);
  CHECK(reals.integer(0) == 3);
}

TEST_CASE("positions and indices are each other's inverse") {
  const std::vector<i64> shape = {2, 3, 5};
  for (i64 at = 0; at < 30; ++at) CHECK(ravel(unravel(at, shape), shape) == at);
  CHECK(unravel(29, shape) == std::vector<i64>{1, 2, 4});
  CHECK(unravel(0, {}).empty());
  CHECK(ravel({}, {}) == 0);
}

TEST_CASE("broadcasting ignores missing axes and axes of size 1") {
  const std::vector<i64> index = {1, 2, 4};
  CHECK(broadcast_position(index, std::vector<i64>{2, 3, 5}) == 29);
  CHECK(broadcast_position(index, std::vector<i64>{3, 1}) == 2);
  CHECK(broadcast_position(index, std::vector<i64>{1, 5}) == 4);
  CHECK(broadcast_position(index, {}) == 0);
}

}  // namespace
}  // namespace resilin::ir
