// tests/ops/pad_test.cpp -- padding of many axes.
#include <vector>

#include <doctest/doctest.h>

#include "resilin/resilin.h"

#include "tests/support/tensor.h"

using namespace resilin;

TEST_CASE("every axis of a tensor of six is padded and cropped") {
  const Shape sizes{2, 3, 1, 2, 4, 2};
  const Tensor x = requires_grad_(reshape(arange(1.0, product(sizes).value() + 1), sizes));
  const std::vector<i64> amounts{1, 0, -1, 2, 0, 1, 1, 1, 2, -1, 1, 0};  // from the last axis backwards
  const Tensor y = pad(x, amounts, 7.5);
  REQUIRE(y.shape() == Shape{3, 4, 3, 3, 5, 3});
  const std::vector<double> values = test::values_of(y);
  const std::vector<double> old = test::values_of(x);
  std::vector<double> wanted;
  std::vector<double> is_kept(old.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    i64 rest = static_cast<i64>(i);
    i64 from = 0;
    i64 stride = 1;
    bool is_inside = true;
    for (std::size_t a = 6; a-- > 0;) {
      const i64 position = rest % y.shape()[a].value() - amounts[2 * (5 - a)];
      rest /= y.shape()[a].value();
      is_inside = is_inside && position >= 0 && position < sizes[a].value();
      from += position * stride;
      stride *= sizes[a].value();
    }
    wanted.push_back(is_inside ? old[static_cast<std::size_t>(from)] : 7.5);
    if (is_inside) is_kept[static_cast<std::size_t>(from)] = 1;
  }
  CHECK(values == wanted);
  backward(sum(y));
  CHECK(test::values_of(grad(x)) == is_kept);
}
