// tests/ops/index_test.cpp -- x[...] with tensors of positions and masks, against loops; sums at positions.
#include <vector>

#include <doctest/doctest.h>

#include "resilin/resilin.h"

#include "tests/support/tensor.h"

using namespace resilin;

namespace {

Tensor numbers(std::initializer_list<Dim> shape) {
  const Shape sizes(shape);
  return reshape(arange(0.0, product(sizes).value()), sizes);
}

using Values = std::vector<double>;

}  // namespace

TEST_CASE("positions of one axis stand where the axis was, with all their axes") {
  const Tensor x = numbers({2, 3, 4});
  const Tensor at = test::make<i64>({2, 0, -1, 1}, {2, 2});
  const Tensor y = index(x, {Slice{}, at, Slice{1, 3}});
  REQUIRE(y.shape() == Shape{2, 2, 2, 2});
  Values wanted;
  for (int i = 0; i < 2; ++i) {
    for (const int j : {2, 0, 2, 1}) {
      for (int k = 1; k < 3; ++k) wanted.push_back(i * 12 + j * 4 + k);
    }
  }
  CHECK(test::values_of(y) == wanted);
  CHECK(test::values_of(index(x, {Slice{}, test::make<std::int32_t>({-3})})) == Values{0, 1, 2, 3, 12, 13, 14, 15});
}

TEST_CASE("positions of several axes broadcast together") {
  const Tensor x = numbers({3, 4, 5});
  const Tensor rows = test::make<i64>({0, 2}, {2, 1});
  const Tensor columns = test::make<i64>({1, -1, 3});
  const Tensor together = index(x, {rows, columns});
  REQUIRE(together.shape() == Shape{2, 3, 5});
  const Tensor apart = index(x, {rows, Slice{}, columns});  // a kept axis between: theirs come first
  REQUIRE(apart.shape() == Shape{2, 3, 4});
  const Values a = test::values_of(together);
  const Values b = test::values_of(apart);
  const int row[] = {0, 2};
  const int column_of_4[] = {1, 3, 3};
  const int column_of_5[] = {1, 4, 3};
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 5; ++k) CHECK(a[static_cast<std::size_t>((i * 3 + j) * 5 + k)] == row[i] * 20 + column_of_4[j] * 5 + k);
      for (int k = 0; k < 4; ++k) CHECK(b[static_cast<std::size_t>((i * 3 + j) * 4 + k)] == row[i] * 20 + k * 5 + column_of_5[j]);
    }
  }
  CHECK(index(x, {Ellipsis{}, columns, columns}).shape() == Shape{3, 3});
  CHECK(index(x, {select(columns, 0, 0), i64{2}, NewAxis{}}).shape() == Shape{1, 5});
}

TEST_CASE("a mask stands for the positions of its true elements") {
  const Tensor x = numbers({2, 3, 2});
  const Tensor mask = test::make<bool>({true, false, true, false, false, true}, {2, 3});
  CHECK(test::values_of(index(x, {mask})) == Values{0, 1, 4, 5, 10, 11});
  CHECK(test::values_of(index(x, {i64{0}, Ellipsis{}, test::make<bool>({false, true})})) == Values{1, 3, 5});
  CHECK(index(x, {zeros({2}, DType::Bool)}).shape() == Shape{0, 3, 2});
}

TEST_CASE("gradients of an index add up where positions repeat") {
  const Tensor x = requires_grad_(numbers({3, 2}));
  const Tensor y = index(x, {test::make<i64>({1, 1, -1}), test::make<i64>({0, 0, 1})});
  backward(sum(y * test::make<float>({1, 10, 100})));
  CHECK(test::values_of(grad(x)) == Values{0, 0, 11, 0, 0, 100});
}

TEST_CASE("indices that mean nothing are refused with their values") {
  const Tensor x = numbers({2, 3});
  const Tensor at = test::make<i64>({0, 1});
  CHECK_THROWS_AS(index(x, {test::make<i64>({2})}), const IndexError&);
  CHECK_THROWS_AS(index(x, {at, test::make<i64>({0, -4})}), const IndexError&);
  CHECK_THROWS_WITH_AS(index(x, {at, at, at}), "too many indices for tensor of dimension 2: 3 are given", IndexError);
  CHECK_THROWS_WITH_AS(index(x, {ones({2})}), "index: tensors used as indices must be i64, i32 or bool, but one is f32", DtypeError);
  CHECK_THROWS_AS(index(x, {at, test::make<i64>({0, 1, 2})}), const ShapeError&);
  CHECK_THROWS_WITH_AS(index(x, {Slice{}, zeros({2}, DType::Bool)}),
                       "index: The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [2, 3] at index 1",
                       IndexError);
  CHECK_THROWS_AS(index(x, {test::scalar<bool>(true)}), const UnsupportedError&);
}

TEST_CASE("a tensor without axes takes sums in place at position 0") {
  const Tensor x = test::scalar<float>(1);
  CHECK(index_add_(x, 0, test::make<i64>({0}), test::make<float>({2})).is_same(x));
  CHECK(x.item<float>() == 3);
}
