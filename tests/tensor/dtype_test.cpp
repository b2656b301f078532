// tests/tensor/dtype_test.cpp -- small floats against arithmetic in double over all bit patterns; promotion against PyTorch's table.
#include "resilin/tensor/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace resilin {
namespace {

/// What a format is, said once more and independently of the code under test.
struct Format {
  int width;
  int mantissa_bits;
  int bias;
  bool has_infinity;
  int exponent_bits() const { return width - 1 - mantissa_bits; }
};
template <class T>
constexpr Format kFormat{};
template <>
constexpr Format kFormat<F16>{16, 10, 15, true};
template <>
constexpr Format kFormat<BF16>{16, 7, 127, true};
template <>
constexpr Format kFormat<F8E4M3FN>{8, 3, 7, false};
template <>
constexpr Format kFormat<F8E5M2>{8, 2, 15, true};

/// The value of a bit pattern, computed in double.
double value_of(unsigned bits, Format f) {
  const int mantissa = static_cast<int>(bits) & ((1 << f.mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> f.mantissa_bits) & ((1 << f.exponent_bits()) - 1);
  const double sign = bits >> (f.width - 1) != 0 ? -1 : 1;
  const bool top = exponent == (1 << f.exponent_bits()) - 1;
  if (f.has_infinity && top)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (!f.has_infinity && top && mantissa == (1 << f.mantissa_bits) - 1) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << f.mantissa_bits), exponent - f.bias - f.mantissa_bits);
}

template <class T>
T from_bits(unsigned bits) {
  T out;
  out.bits = static_cast<decltype(out.bits)>(bits);
  return out;
}

/// The first positive bit pattern that is no number: those below are in ascending order of value.
template <class T>
unsigned first_special() {
  unsigned bits = 0;
  while (std::isfinite(value_of(bits, kFormat<T>))) ++bits;
  return bits;
}

TEST_CASE_TEMPLATE("every bit pattern widens to its value and rounds back to itself", T, F16, BF16, F8E4M3FN, F8E5M2) {
  for (unsigned bits = 0; bits < 1u << kFormat<T>.width; ++bits) {
    const double expected = value_of(bits, kFormat<T>);
    const float got = static_cast<float>(from_bits<T>(bits));
    if (std::isnan(expected)) {
      REQUIRE(std::isnan(got));
      REQUIRE(std::signbit(got) == (bits >> (kFormat<T>.width - 1) != 0));
      REQUIRE(std::isnan(static_cast<float>(T(got))));
    } else {
      REQUIRE(got == static_cast<float>(expected));
      REQUIRE(std::signbit(got) == std::signbit(expected));
      REQUIRE(T(got).bits == bits);
    }
  }
}

TEST_CASE_TEMPLATE("rounding goes to the nearest number and from the middle to the even one", T, F16, BF16, F8E4M3FN, F8E5M2) {
  const unsigned end = first_special<T>();
  const unsigned sign_bit = 1u << (kFormat<T>.width - 1);
  for (unsigned bits = 0; bits < end; ++bits) {
    // After the last number comes what it would be with one more exponent: from the middle on numbers overflow.
    const double low = value_of(bits, kFormat<T>);
    const double high = bits + 1 < end ? value_of(bits + 1, kFormat<T>) : low + (low - value_of(bits - 1, kFormat<T>));
    const float middle = static_cast<float>((low + high) / 2);
    if (static_cast<double>(middle) != (low + high) / 2) continue;  // bf16 beyond the largest float
    const unsigned even = bits % 2 == 0 ? bits : bits + 1;
    REQUIRE(T(middle).bits == even);
    REQUIRE(T(-middle).bits == (even | sign_bit));
    REQUIRE(T(std::nextafter(middle, 0.0f)).bits == bits);
    REQUIRE(T(std::nextafter(middle, std::numeric_limits<float>::infinity())).bits == bits + 1);
  }
}

/// Nearest by search: the slow twin of rounding.
template <class T>
unsigned nearest_bits(float value, const std::vector<double>& numbers) {
  const double magnitude = std::fabs(static_cast<double>(value));
  const std::size_t above = static_cast<std::size_t>(std::lower_bound(numbers.begin(), numbers.end(), magnitude) - numbers.begin());
  const unsigned sign_bit = std::signbit(value) ? 1u << (kFormat<T>.width - 1) : 0;
  if (above == numbers.size()) return sign_bit | static_cast<unsigned>(numbers.size() - 1);
  if (above == 0) return sign_bit;
  const double up = numbers[above] - magnitude, down = magnitude - numbers[above - 1];
  const bool take_up = up < down || (up == down && above % 2 == 0);
  return sign_bit | static_cast<unsigned>(take_up ? above : above - 1);
}

TEST_CASE_TEMPLATE("floats of all exponents round as a search in double does", T, F16, BF16, F8E4M3FN, F8E5M2) {
  std::vector<double> numbers;
  const unsigned end = first_special<T>();
  for (unsigned bits = 0; bits < end; ++bits) numbers.push_back(value_of(bits, kFormat<T>));
  numbers.push_back(2 * numbers.back() - numbers[numbers.size() - 2]);  // the first that overflows
  for (std::uint64_t word = 0; word <= 0xffffffffu; word += 4999) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(word));
    if (!std::isnan(value)) REQUIRE(T(value).bits == nearest_bits<T>(value, numbers));
  }
}

TEST_CASE("overflow gives infinity, or NaN where the format has no infinity") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(F16(65519.99f).bits == 0x7bff);
  CHECK(F16(65520.0f).bits == 0x7c00);
  CHECK(F16(-infinity).bits == 0xfc00);
  CHECK(BF16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(F8E5M2(1e9f).bits == 0x7c);
  CHECK(F8E4M3FN(464.0f).bits == 0x7e);
  CHECK(F8E4M3FN(465.0f).bits == 0x7f);
  CHECK(F8E4M3FN(-infinity).bits == 0xff);
}

TEST_CASE("NaN keeps its sign; half keeps its payload and makes it quiet; bfloat16 has one payload") {
  const float signalling = std::bit_cast<float>(0xff812000u);
  CHECK(F16(signalling).bits == 0xfe09);
  CHECK(std::bit_cast<std::uint32_t>(static_cast<float>(from_bits<F16>(0x7c01))) == 0x7fc02000u);
  CHECK(BF16(signalling).bits == 0xffc0);
  CHECK(F8E5M2(signalling).bits == 0xfe);
  CHECK(F8E4M3FN(signalling).bits == 0xff);
}

TEST_CASE("names are parsed back and PyTorch's names are known") {
  for (int i = 0; i < kDTypeCount; ++i) CHECK(parse_dtype(name(static_cast<DType>(i))) == static_cast<DType>(i));
  CHECK(torch_name(DType::F8E4M3FN) == "float8_e4m3fn");
  CHECK(torch_name(DType::Bool) == "bool");
  CHECK(torch_name(DType::C128) == "complex128");
  CHECK(torch_name(DType::U8) == "uint8");
  CHECK_THROWS_WITH_AS(
      parse_dtype("float"),
      "parse_dtype: unknown dtype: \"float\"; it must be one of [bool, u8, i8, i16, i32, i64, f16, bf16, f32, f64, f8e4m3fn, "
      "f8e5m2, c64, c128]",
      ArgumentError);
}

TEST_CASE("promotion follows PyTorch's table") {
  const std::vector<std::string> order = {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"};
  // Printed by torch.promote_types of PyTorch 1.13.
  const std::vector<std::vector<std::string>> table = {
      {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"},
      {"u8", "u8", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"},
      {"i8", "i16", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"},
      {"i16", "i16", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"},
      {"i32", "i32", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"},
      {"i64", "i64", "i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64", "c64", "c128"},
      {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64", "c64", "c128"},
      {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32", "f64", "c64", "c128"},
      {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64", "c64", "c128"},
      {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "c128", "c128"},
      {"c64", "c64", "c64", "c64", "c64", "c64", "c64", "c64", "c64", "c128", "c64", "c128"},
      {"c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128"}};
  for (std::size_t a = 0; a < order.size(); ++a) {
    for (std::size_t b = 0; b < order.size(); ++b) {
      CAPTURE(order[a]);
      CAPTURE(order[b]);
      CHECK(name(promote(parse_dtype(order[a]), parse_dtype(order[b]))) == table[a][b]);
    }
  }
}

TEST_CASE("8-bit floats promote only with themselves") {
  CHECK(promote(DType::F8E5M2, DType::F8E5M2) == DType::F8E5M2);
  CHECK_THROWS_WITH_AS(
      promote(DType::F8E4M3FN, DType::F32),
      "promote: Promotion for Float8 Types is not supported, attempted to promote float8_e4m3fn and float32; cast one of them first",
      DtypeError);
  CHECK_THROWS_AS(promote(DType::Bool, DType::F8E5M2), DtypeError);
}

TEST_CASE("a visitor meets each real dtype as its C++ type and complex ones are refused by name") {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (is_complex(dtype)) continue;
    CHECK(visit_dtype(dtype, [](auto zero) { return kDTypeOf<decltype(zero)>; }) == dtype);
    CHECK(visit_dtype(dtype, [](auto zero) { return static_cast<i64>(sizeof zero); }) == size_bytes(dtype));
  }
  CHECK_THROWS_WITH_AS(visit_dtype(
                           DType::C64, [](auto) {}, "sum"),
                       "sum: complex elements are not supported: dtype is c64", UnsupportedError);
}

}  // namespace
}  // namespace resilin
