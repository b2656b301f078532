// tests/ops/random_test.cpp -- random numbers are functions of seed, offset and element, and have the distributions they promise.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/resilin.h"

#include "tests/support/tensor.h"

using namespace resilin;

namespace {

bool same(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype() && test::values_of(a) == test::values_of(b); }

struct Moments {
  double mean = 0;
  double variance = 0;
  double largest = 0;
};
Moments moments_of(const Tensor& x) {
  const std::vector<double> values = test::values_of(x);
  Moments m;
  for (const double v : values) m.mean += v / static_cast<double>(values.size());
  for (const double v : values) {
    m.variance += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
    m.largest = std::max(m.largest, std::abs(v));
  }
  return m;
}

}  // namespace

TEST_CASE("a generator hands its offsets to one call after the other") {
  Generator stream(5);
  const Tensor first = randn({3, 4}, DType::F32, &stream);
  const Tensor second = randint(-9, 9, {5}, DType::I32, &stream);
  const Tensor third = bernoulli(full({2}, 0.5), &stream);
  CHECK(stream.offset() == 19);
  CHECK(same(first, randn_at(Shape{3, 4}, 5, 0)));
  CHECK(same(second, randint_at({-9, 9}, Shape{5}, 5, 12, DType::I32)));
  CHECK(same(third, bernoulli_at(full({2}, 0.5), Shape{2}, 5, 17)));
  CHECK(same(first, reshape(cat({randn_at(Shape{5}, 5, 0), randn_at(Shape{7}, 5, 5)}), {3, 4})));
}

TEST_CASE("an element of randn is Box and Muller's formula of its words") {
  const Tensor x = randn_at(Shape{64}, 1234, i64{1} << 40, DType::F64);
  for (i64 i = 0; i < 64; ++i) {
    const PhiloxWords w = philox4x32(1234, (std::uint64_t{1} << 40) + static_cast<std::uint64_t>(i), 0);
    const auto unit = [](std::uint32_t a, std::uint32_t b) {
      return (static_cast<double>(a >> 5) * 0x1p26 + static_cast<double>(b >> 6)) * 0x1p-53;
    };
    const double expected =
        std::sqrt(-2 * std::log(1 - unit(w.word[0], w.word[1]))) * std::cos(2 * std::numbers::pi * (unit(w.word[2], w.word[3]) - 0.5));
    CHECK(std::abs(x.data_as<double>()[i] - expected) <= 1e-14);
  }
}

TEST_CASE("normal, uniform and integer numbers have their means and variances") {
  constexpr i64 kCount = 200000;
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
    const Moments m = moments_of(randn_at(Shape{kCount}, 1, 0, dtype));
    CHECK(std::abs(m.mean) < 0.01);
    CHECK(std::abs(m.variance - 1) < 0.02);
    CHECK(m.largest > 3.5);
  }
  const Moments integers = moments_of(randint_at({-3, 8}, Shape{kCount}, 1, 0));
  CHECK(std::abs(integers.mean - 2) < 0.03);
  CHECK(std::abs(integers.variance - 10) < 0.1);
  CHECK(integers.largest == 7);
  CHECK(std::abs(moments_of(bernoulli_at(0.3, Shape{kCount}, 1, 0)).mean - 0.3) < 0.005);
}

TEST_CASE("initialisers write scaled numbers into the tensor") {
  Generator stream(3);
  const Tensor x = zeros({6});
  CHECK(uniform_(x, -2, 3, &stream).is_same(x));
  CHECK(same(x, rand_at(Shape{6}, 3, 0) * 5.0 - 2.0));
  normal_(x, 1, 0.5, &stream);
  CHECK(same(x, randn_at(Shape{6}, 3, 6) * 0.5 + 1.0));
  const Tensor coins = zeros({6}, DType::Bool);
  bernoulli_(coins, 1.0, &stream);
  CHECK(test::values_of(coins) == std::vector<double>(6, 1));
  bernoulli_(coins, 0, &stream);
  CHECK(test::values_of(coins) == std::vector<double>(6, 0));
}
