// tests/ops/pointwise_test.cpp -- what pointwise ops promise beyond a value: dtypes of mixed calls, gradients at special points, writes in place.
#include <vector>

#include <doctest/doctest.h>

#include "resilin/resilin.h"

#include "tests/support/tensor.h"

using namespace resilin;
using test::make;
using Values = std::vector<double>;

namespace {

// The gradients of sum(f(x)).
template <class F>
Values slopes(const F& f, std::initializer_list<double> at) {
  const Tensor x = requires_grad_(make<double>(at));
  backward(sum(f(x)));
  return test::values_of(grad(x));
}

}  // namespace

TEST_CASE("powers have PyTorch's dtypes and wrap as integers") {
  const Tensor whole = make<std::int32_t>({-3, 2, 10});
  CHECK(pow(whole, 2).dtype() == DType::I32);
  CHECK(test::values_of(pow(whole, 3)) == Values{-27, 8, 1000});
  CHECK(pow(whole, 2.0).dtype() == DType::F32);
  CHECK(test::values_of(pow(2, whole - whole + 5)) == Values{32, 32, 32});
  CHECK(square(make<bool>({true, false})).dtype() == DType::I64);
  CHECK(test::values_of(pow(make<std::int32_t>({3}), 41)) == Values{2069870691});  // 3^41 modulo 2^32
  CHECK(test::values_of(pow(make<std::uint8_t>({2, 3, 0}), make<std::uint8_t>({8, 5, 0}))) == Values{0, 243, 1});
}

TEST_CASE("gradients at 0 and at bounds are PyTorch's") {
  CHECK(slopes([](const Tensor& x) { return pow(x, 0.0); }, {0, 2}) == Values{0, 0});
  CHECK(slopes([](const Tensor& x) { return pow(x, 1.0); }, {0, 2}) == Values{1, 1});
  CHECK(slopes([](const Tensor& x) { return pow(x, zeros_like(x)); }, {0, 2}) == Values{0, 0});
  CHECK(slopes([](const Tensor& x) { return pow(0.0, x); }, {0, 2}) == Values{0, 0});
  CHECK(slopes([](const Tensor& x) { return abs(x); }, {-2, 0, 3}) == Values{-1, 0, 1});
  CHECK(slopes([](const Tensor& x) { return clamp(x, -1.0, 2.0); }, {-2, -1, 0, 2, 3}) == Values{0, 1, 1, 1, 0});
  CHECK(slopes([](const Tensor& x) { return clamp(x, {}, make<double>({1, 1})); }, {1, 2}) == Values{1, 0});
}

TEST_CASE("filling by a mask keeps the dtype") {
  const Tensor x = make<i64>({1, 2, 3});
  const Tensor mask = make<bool>({true, false, true});
  CHECK(masked_fill(x, mask, 7.9).dtype() == DType::I64);
  CHECK(test::values_of(masked_fill(x, mask, 7.9)) == Values{7, 2, 7});
  CHECK(test::values_of(masked_fill(x, mask, test::scalar<float>(5))) == Values{5, 2, 5});
  CHECK(masked_fill(make<bool>({true}), make<bool>({true}), 3).dtype() == DType::Bool);
  CHECK(masked_fill_(x, mask, 0).is_same(x));
  CHECK(test::values_of(x) == Values{0, 2, 0});
}

TEST_CASE("writes in place are the functions in the tensor's memory") {
  const Tensor x = make<double>({-1.5, 2.25});
  const void* const memory = x.data();
  neg_(abs_(x));
  CHECK(test::values_of(x) == Values{-1.5, -2.25});
  clamp_(pow_(x, 2), {}, 4.0);
  CHECK(test::values_of(x) == Values{2.25, 4});
  sqrt_(x);
  CHECK(test::values_of(floor_(x)) == Values{1, 2});
  CHECK(test::values_of(square_(reciprocal_(x))) == Values{1, 0.25});
  CHECK(x.data() == memory);
}

TEST_CASE("logic asks every input in its own dtype") {
  const Tensor tiny = test::scalar<double>(1e-300);
  CHECK(test::values_of(logical_and(make<float>({1, 0}), tiny)) == Values{1, 0});
  CHECK(test::values_of(logical_xor(make<i64>({4, 0}), make<bool>({true, true}))) == Values{0, 1});
}
