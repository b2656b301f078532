// tests/ops/split_test.cpp -- narrow, split, chunk and unbind give aliases of the right parts.
#include <vector>

#include <doctest/doctest.h>

#include "resilin/resilin.h"

#include "tests/support/tensor.h"

using namespace resilin;

namespace {

Tensor numbers(i64 rows, i64 columns) { return reshape(arange(0, rows * columns), {rows, columns}); }

std::vector<i64> sizes_along(const std::vector<Tensor>& parts, i64 axis) {
  std::vector<i64> sizes;
  for (const Tensor& part : parts) sizes.push_back(part.size(axis).value());
  return sizes;
}

void check_parts(const std::vector<Tensor>& parts, const Tensor& x, i64 axis, const std::vector<i64>& sizes) {
  CHECK(sizes_along(parts, axis) == sizes);
  CHECK(test::values_of(cat(parts, axis)) == test::values_of(x));
  for (const Tensor& part : parts) CHECK(part.storage().data() == x.storage().data());
}

}  // namespace

TEST_CASE("split, chunk and narrow give aliases that make up the tensor") {
  const Tensor x = numbers(5, 7);
  check_parts(split(x, 2), x, 0, {2, 2, 1});
  check_parts(split(x, 9, 1), x, 1, {7});
  check_parts(split(x, {1, 4, 2}, -1), x, 1, {1, 4, 2});
  check_parts(chunk(x, 3, 1), x, 1, {3, 3, 1});
  check_parts(chunk(x, 4, 0), x, 0, {2, 2, 1});
  check_parts({narrow(x, 1, 0, 3), narrow(x, 1, -4, 4)}, x, 1, {3, 4});
  CHECK(sizes_along(split(zeros({0, 2}), 3), 0) == std::vector<i64>{0});
  CHECK(sizes_along(chunk(zeros({0, 2}), 3), 0) == std::vector<i64>{0, 0, 0});
}

TEST_CASE("unbind drops the axis") {
  const std::vector<Tensor> columns = unbind(numbers(2, 3), 1);
  REQUIRE(columns.size() == 3);
  CHECK(columns[2].shape() == Shape{2});
  CHECK(test::values_of(columns[2]) == std::vector<double>{2, 5});
}

TEST_CASE("parts of a leaf write their gradients into its places") {
  const Tensor x = requires_grad_(ones({4}));
  const std::vector<Tensor> parts = split(x, {1, 3});
  backward(sum(parts[1] * parts[1] * 2));
  CHECK(test::values_of(grad(x)) == std::vector<double>{0, 4, 4, 4});
}
