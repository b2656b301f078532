// tests/tensor/print_test.cpp -- the text of tensors, compared with what PyTorch 1.13 prints for the same values.
#include "resilin/tensor/print.h"

#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/tensor.h"

namespace resilin {
namespace {

using test::make;
using test::make_from;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// 0, 1, 2 ... of a dtype.
template <class T>
Tensor range(std::initializer_list<Dim> shape, double step = 1) {
  std::vector<double> values;
  const i64 count = product({shape.begin(), shape.size()}).value();
  for (i64 i = 0; i < count; ++i) values.push_back(static_cast<double>(i) * step);
  return make_from<T>(values, shape);
}

TEST_CASE("floats print whole, fixed or scientific as their values ask for") {
  CHECK(to_string(make<float>({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2})) ==
        R"(tensor([[1., 2.],
        [3., 4.]]))");
  CHECK(to_string(make<float>({1.5f, -2.25f, 3.0f}, {3})) == R"(tensor([ 1.5000, -2.2500,  3.0000]))");
  CHECK(to_string(make<float>({1.0f}, {})) == R"(tensor(1.))");
  CHECK(to_string(make<double>({0.1}, {})) == R"(tensor(0.1000, dtype=torch.float64))");
  CHECK(to_string(make<float>({0.0f, 0.0f, 0.0f}, {3})) == R"(tensor([0., 0., 0.]))");
  CHECK(to_string(make<float>({1.0f, kNan, kInf, -kInf}, {4})) == R"(tensor([1., nan, inf, -inf]))");
  CHECK(to_string(make<float>({1.5f, kNan, kInf, -kInf}, {4})) == R"(tensor([1.5000,    nan,    inf,   -inf]))");
  CHECK(to_string(make<float>({kNan, kInf}, {2})) == R"(tensor([nan, inf]))");
  CHECK(to_string(make<float>({1000.5f, 1.0f}, {2})) == R"(tensor([1.0005e+03, 1.0000e+00]))");
  CHECK(to_string(make<float>({1001.5f, 1.0f}, {2})) == R"(tensor([1.0015e+03, 1.0000e+00]))");
  CHECK(to_string(make<float>({1.0f, 1000.0f}, {2})) == R"(tensor([   1., 1000.]))");
  CHECK(to_string(make<float>({1.0f, 1001.0f}, {2})) == R"(tensor([1.0000e+00, 1.0010e+03]))");
  CHECK(to_string(make<float>({1e-05f, 0.0001f}, {2})) == R"(tensor([1.0000e-05, 1.0000e-04]))");
  CHECK(to_string(make<float>({0.0001f, 0.05f}, {2})) == R"(tensor([1.0000e-04, 5.0000e-02]))");
  CHECK(to_string(make<float>({1000000000.0f}, {1})) == R"(tensor([1.0000e+09]))");
  CHECK(to_string(make<float>({100000000.0f}, {1})) == R"(tensor([100000000.]))");
  CHECK(to_string(make<float>({-0.0f, 0.0f, 1.0f}, {3})) == R"(tensor([-0., 0., 1.]))");
  CHECK(to_string(make<float>({-0.0f, 0.5f}, {2})) == R"(tensor([-0.0000, 0.5000]))");
  CHECK(to_string(make<float>({1e-40f}, {1})) == R"(tensor([9.9999e-41]))");
  CHECK(to_string(make<double>({1e-310, 1.0}, {2})) == R"(tensor([1.0000e-310,  1.0000e+00], dtype=torch.float64))");
  CHECK(to_string(make<double>({1e+300}, {1})) == R"(tensor([1.0000e+300], dtype=torch.float64))");
  CHECK(to_string(make<double>({3.14159265358979, -2.71828}, {2, 1})) ==
        R"(tensor([[ 3.1416],
        [-2.7183]], dtype=torch.float64))");
}

TEST_CASE("integers and booleans stand in columns of one width") {
  CHECK(to_string(make<i64>({1, 2, 3}, {3})) == R"(tensor([1, 2, 3]))");
  CHECK(to_string(make<std::int32_t>({1, -20, 300}, {3})) == R"(tensor([  1, -20, 300], dtype=torch.int32))");
  CHECK(to_string(make<std::uint8_t>({1, 255}, {2})) == R"(tensor([  1, 255], dtype=torch.uint8))");
  CHECK(to_string(make<std::int8_t>({-128, 127}, {2})) == R"(tensor([-128,  127], dtype=torch.int8))");
  CHECK(to_string(make<std::int16_t>({-1000, 7}, {1, 2})) == R"(tensor([[-1000,     7]], dtype=torch.int16))");
  CHECK(to_string(make<bool>({true, false, true}, {3})) == R"(tensor([ True, False,  True]))");
  CHECK(to_string(make<bool>({true, false}, {1, 2})) == R"(tensor([[ True, False]]))");
  CHECK(to_string(make<bool>({true}, {})) == R"(tensor(True))");
  CHECK(to_string(make<i64>({9223372036854775807, -9223372036854775807}, {2})) ==
        R"(tensor([ 9223372036854775807, -9223372036854775807]))");
}

TEST_CASE("half precision prints its exact values and its dtype") {
  CHECK(to_string(make_from<F16>(std::vector<double>{1.5, 0.1}, {2})) == R"(tensor([1.5000, 0.1000], dtype=torch.float16))");
  CHECK(to_string(make_from<BF16>(std::vector<double>{1.5, 0.1}, {2})) == R"(tensor([1.5000, 0.1001], dtype=torch.bfloat16))");
  CHECK(to_string(make_from<F16>(std::vector<double>{1.0, 2.0, 3.0}, {3, 1})) ==
        R"(tensor([[1.],
        [2.],
        [3.]], dtype=torch.float16))");
}

TEST_CASE("an empty tensor shows its size unless it has one axis") {
  CHECK(to_string(make<float>({}, {0})) == R"(tensor([]))");
  CHECK(to_string(make<float>({}, {0, 3})) == R"(tensor([], size=(0, 3)))");
  CHECK(to_string(make<i64>({}, {0})) == R"(tensor([], dtype=torch.int64))");
  CHECK(to_string(make<std::int32_t>({}, {2, 0})) == R"(tensor([], size=(2, 0), dtype=torch.int32))");
  CHECK(to_string(make<bool>({}, {0})) == R"(tensor([], dtype=torch.bool))");
}

TEST_CASE("rows and blocks are set apart and long lines are broken") {
  CHECK(to_string(make<float>(
            {0.12345678f, 0.12345678f, 0.12345678f, 0.12345678f, 0.12345678f, 0.12345678f, 0.12345678f, 0.12345678f, 123.45678f}, {9})) ==
        R"(tensor([  0.1235,   0.1235,   0.1235,   0.1235,   0.1235,   0.1235,   0.1235,
          0.1235, 123.4568]))");
  CHECK(to_string(make<double>({0.12345678, 0.12345678, 0.12345678, 0.12345678, 0.12345678, 0.12345678, 0.12345678, 0.12345678, 0.12345678,
                                0.12345678, 0.12345678},
                               {11})) ==
        R"(tensor([0.1235, 0.1235, 0.1235, 0.1235, 0.1235, 0.1235, 0.1235, 0.1235, 0.1235,
        0.1235, 0.1235], dtype=torch.float64))");
  CHECK(to_string(make<float>({1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f}, {1, 2, 3})) ==
        R"(tensor([[[1., 1., 1.],
         [1., 1., 1.]]]))");
  CHECK(to_string(make<float>({0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f}, {2, 2, 2})) ==
        R"(tensor([[[0., 1.],
         [2., 3.]],

        [[4., 5.],
         [6., 7.]]]))");
  CHECK(to_string(make<float>({0.0f, 1.5f, 3.0f, 4.5f, 6.0f, 7.5f, 9.0f, 10.5f, 12.0f, 13.5f, 15.0f, 16.5f, 18.0f, 19.5f, 21.0f, 22.5f},
                              {2, 2, 2, 2})) ==
        R"(tensor([[[[ 0.0000,  1.5000],
          [ 3.0000,  4.5000]],

         [[ 6.0000,  7.5000],
          [ 9.0000, 10.5000]]],


        [[[12.0000, 13.5000],
          [15.0000, 16.5000]],

         [[18.0000, 19.5000],
          [21.0000, 22.5000]]]]))");
  CHECK(to_string(make_from<BF16>(std::vector<double>{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}, {10})) ==
        R"(tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000,
        0.5000], dtype=torch.bfloat16))");
  CHECK(to_string(make_from<F16>(std::vector<double>{0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25}, {9})) ==
        R"(tensor([0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500, 0.2500],
       dtype=torch.float16))");
}

TEST_CASE("more elements than the threshold are summarised on every axis") {
  CHECK(to_string(range<i64>({1001})) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  CHECK(to_string(range<float>({40, 30})) ==
        R"(tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 2.7000e+01, 2.8000e+01,
         2.9000e+01],
        [3.0000e+01, 3.1000e+01, 3.2000e+01,  ..., 5.7000e+01, 5.8000e+01,
         5.9000e+01],
        [6.0000e+01, 6.1000e+01, 6.2000e+01,  ..., 8.7000e+01, 8.8000e+01,
         8.9000e+01],
        ...,
        [1.1100e+03, 1.1110e+03, 1.1120e+03,  ..., 1.1370e+03, 1.1380e+03,
         1.1390e+03],
        [1.1400e+03, 1.1410e+03, 1.1420e+03,  ..., 1.1670e+03, 1.1680e+03,
         1.1690e+03],
        [1.1700e+03, 1.1710e+03, 1.1720e+03,  ..., 1.1970e+03, 1.1980e+03,
         1.1990e+03]]))");
  CHECK(to_string(range<i64>({2, 5, 200})) ==
        R"(tensor([[[   0,    1,    2,  ...,  197,  198,  199],
         [ 200,  201,  202,  ...,  397,  398,  399],
         [ 400,  401,  402,  ...,  597,  598,  599],
         [ 600,  601,  602,  ...,  797,  798,  799],
         [ 800,  801,  802,  ...,  997,  998,  999]],

        [[1000, 1001, 1002,  ..., 1197, 1198, 1199],
         [1200, 1201, 1202,  ..., 1397, 1398, 1399],
         [1400, 1401, 1402,  ..., 1597, 1598, 1599],
         [1600, 1601, 1602,  ..., 1797, 1798, 1799],
         [1800, 1801, 1802,  ..., 1997, 1998, 1999]]]))");
}

TEST_CASE("exactly as many elements as the threshold are all printed") {
  const std::string text = to_string(range<i64>({1000}));
  CHECK(text.find("...") == std::string::npos);
  CHECK(text.ends_with(
      "79,\n        980, 981, 982, 983, 984, 985, 986, 987, 988, 989, 990, 991, 992, 993,\n        994, 995, 996, 997, 998, 999])"));
}

TEST_CASE("the options set precision, threshold, edge items and line width") {
  const PrintOptions narrow{.precision = 2, .threshold = 5, .edge_items = 2, .line_width = 40};
  CHECK(to_string(range<float>({10}, 1.5), narrow) == "tensor([ 0.00,  1.50,  ..., 12.00,\n        13.50])");
  CHECK(to_string(range<i64>({6, 6}), narrow) ==
        R"(tensor([[ 0,  1,  ...,  4,  5],
        [ 6,  7,  ..., 10, 11],
        ...,
        [24, 25,  ..., 28, 29],
        [30, 31,  ..., 34, 35]]))");
  CHECK(to_string(range<float>({12}, 1.1), {.precision = 2, .threshold = 5000, .edge_items = 2, .line_width = 40}) ==
        "tensor([ 0.00,  1.10,  2.20,  3.30,\n         4.40,  5.50,  6.60,  7.70,\n         8.80,  9.90, 11.00, 12.10])");
}

TEST_CASE("a view prints its elements in the order of its axes") {
  const Tensor x = range<i64>({2, 3});
  const Shape shape{3, 2}, strides{1, 3};
  CHECK(to_string(Tensor::view(x.storage(), DType::I64, 0, shape, strides)) == "tensor([[0, 3],\n        [1, 4],\n        [2, 5]])");
  const Shape tail{2}, step{1};
  CHECK(to_string(Tensor::view(x.storage(), DType::I64, 4, tail, step)) == "tensor([4, 5])");
}

TEST_CASE("complex numbers print both parts in formats of their own") {
  const auto complex = [](const Tensor& parts, DType dtype, std::initializer_list<Dim> shape) {
    return Tensor::view(parts.storage(), dtype, 0, {shape.begin(), shape.size()}, contiguous_strides({shape.begin(), shape.size()}));
  };
  CHECK(to_string(complex(make<float>({1, 2, -1.5f, -0.5f}), DType::C64, {2})) == "tensor([ 1.0000+2.0000j, -1.5000-0.5000j])");
  CHECK(to_string(complex(make<double>({1, 2}), DType::C128, {})) == "tensor(1.+2.j, dtype=torch.complex128)");
  CHECK(to_string(complex(make<float>({kNan, -kInf, 0, 0}), DType::C64, {2})) == "tensor([nan-infj, 0.+0.j])");
}

TEST_CASE("8-bit floats print as their values with their dtype") {
  CHECK(to_string(make_from<F8E4M3FN>(std::vector<double>{1.5, 448}, {2})) == "tensor([  1.5000, 448.0000], dtype=torch.float8_e4m3fn)");
  CHECK(to_string(make_from<F8E5M2>(std::vector<double>{1, 2}, {2})) == "tensor([1., 2.], dtype=torch.float8_e5m2)");
}

TEST_CASE("a traced tensor prints its symbolic size and no elements") {
  const Shape shape{Dim::symbol('s', 0), 3};
  const Tensor x = Tensor::symbolic(shape, DType::F16, std::make_unique<Extension>());
  CHECK(to_string(x) == "tensor(..., size=(s0, 3), dtype=torch.float16)");
}

TEST_CASE("a stream prints what to_string gives") {
  std::ostringstream out;
  out << make<float>({1, 2});
  CHECK(out.str() == "tensor([1., 2.])");
}

}  // namespace
}  // namespace resilin
