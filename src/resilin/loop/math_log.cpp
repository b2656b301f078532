// src/resilin/loop/math_log.cpp -- log and log1p: x = 2^k m with m around 1, log x = k ln 2 + log(1 + f), f = m - 1.
#include <bit>
#include <cmath>
#include <limits>

#include "resilin/loop/math_parts.h"

namespace resilin::loop {
namespace {

// (log(1 + f) - f + f^2 / 2) / f^3 on |f| <= 1/3, f32, degree 7: 7.2e-9 relative to log(1 + f).
constexpr double kLog32[] = {0x1.555508p-2, -0x1.fffefp-3,  0x1.99d068p-3, -0x1.559decp-3,
                             0x1.1ed4b4p-3, -0x1.f3122ep-4, 0x1.1e6684p-3, -0x1.0803d6p-3};
// (2 atanh(s) / s - 2) / s^2 in s^2, |s| <= 3 - 2 sqrt(2), f64, degree 6: 1.7e-18 relative to log.
constexpr double kLog64[] = {0x1.5555555555592p-1, 0x1.999999997fdd4p-2, 0x1.24924941f048dp-2, 0x1.c71c5209bc504p-3,
                             0x1.74663ede89272p-3, 0x1.39a1bb28729afp-3, 0x1.2f0562632ccb3p-3};

constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;  // k * high is exact

// The smallest m: 2/3 makes |f| <= 1/3; sqrt(1/2) makes s smallest.
std::uint64_t first_bits(const FloatFormat& f) {
  return f.dtype == DType::F32 ? std::bit_cast<std::uint32_t>(0x1.555556p-1f) : std::bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp-1);
}

/// k ln 2 + log(1 + f).
Scalar log_sum(const FloatFormat& format, const Scalar& k, const Scalar& f) {
  if (format.dtype == DType::F32) {
    const Scalar square = f * f;
    const Scalar near = fma(fma(polynomial(f, kLog32), f, -0.5), square, f);
    return fma(k, format.constant(kLn2), near);
  }
  const Scalar s = f / (f + 2.0);
  const Scalar z = s * s;
  const Scalar half_square = 0.5 * (f * f);
  const Scalar r = z * polynomial(z, kLog64);
  const Scalar tail = fma(s, half_square + r, k * kLn2Low);
  return fma(k, format.constant(kLn2High), f - (half_square - tail));
}

/// `value` for ordinary x; infinity and NaN map to themselves, `pole` to -infinity, what is below it to NaN.
Scalar log_edges(const Scalar& x, double pole, const Scalar& value) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Scalar finite = select(x < constant_like(x, infinity), value, x);
  const Scalar defined = select(x < constant_like(x, pole), constant_like(x, std::nan("")), finite);
  return select(equal(x, constant_like(x, pole)), constant_like(x, -infinity), defined);
}

}  // namespace

Scalar log(const Scalar& x) {
  const FloatFormat& f = format_of(x, "log");
  const bool single = f.dtype == DType::F32;
  const Scalar denormal = x < f.constant(single ? 0x1p-126 : 0x1p-1022);
  const double up = single ? 0x1p23 : 0x1p52;
  const Scalar bits = f.bits(select(denormal, x * up, x));
  const Exponent e = split_exponent(f, bits, first_bits(f));
  const Scalar k = e.k + select(denormal, f.constant(-f.fraction_bits), f.constant(0));
  return log_edges(x, 0.0, log_sum(f, k, f.value(bits - e.scaled) - 1.0));
}

Scalar log1p(const Scalar& x) {
  const FloatFormat& f = format_of(x, "log1p");
  const Exponent e = split_exponent(f, f.bits(x + 1.0), first_bits(f));
  // 1 + x = 2^k (1 + m) with m = 2^-k x + (2^-k - 1), which rounds once and is x itself for k = 0. 4 * 2^-k never leaves the normal range.
  const Scalar four_power = f.value(f.bits(f.constant(4)) - e.scaled);
  const Scalar m = f.value(f.bits(x) - e.scaled) + fma(four_power, f.constant(0.25), -1.0);
  const Scalar value = log_edges(x, -1.0, log_sum(f, e.k, m));
  return select(equal(x, f.constant(0)), x, value);
}

}  // namespace resilin::loop
