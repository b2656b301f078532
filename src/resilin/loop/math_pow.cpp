// src/resilin/loop/math_pow.cpp -- pow: e^(y log |x|), in f64 for f32 operands and with log as a sum of two f64 numbers for f64, then C's special cases.
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "resilin/loop/math_parts.h"

namespace resilin::loop {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;  // k * high is exact

// (log(1 + f) - f) / f^2 on |f| <= 1/3, degree 11: 2.4e-11 relative to log(1 + f).
constexpr double kLogOfSingle[] = {-0x1.fffffff6364bdp-2, 0x1.55555537b6edep-2, -0x1.000009cffcc3bp-2, 0x1.9999becabacc3p-3,
                                   -0x1.554fcdafce875p-3, 0x1.248a24c85ed59p-3, -0x1.00a8958f65f87p-3, 0x1.c8c17aa875f87p-4,
                                   -0x1.86645af709086p-4, 0x1.5f0c8d0c66e28p-4, -0x1.d739b4c1561bdp-4, 0x1.bea8ddd303e2bp-4};
// (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2, degree 4: 3.1e-9 relative to e^r.
constexpr double kExpToSingle[] = {0x1.fffffb9a67c80p-2, 0x1.5554916d1e697p-3, 0x1.5558f1632c29dp-5, 0x1.1239d1bd0aff9p-7,
                                   0x1.6a243769388d0p-10};
// ((2 atanh(s) / s - 2) / s^2 - 2/3) / s^2 in s^2, |s| <= 3 - 2 sqrt(2), degree 6: 1.4e-20 relative to log.
constexpr double kLogTail[] = {0x1.9999999999b30p-2, 0x1.2492492457d95p-2, 0x1.c71c722d60a1ap-3, 0x1.745ce9e596998p-3,
                               0x1.3b1eeb9a7bcc9p-3, 0x1.0f7ff485e87b7p-3, 0x1.0e42420ba167dp-3};

/// |x|^y for f32 operands, rounded once.
Scalar power_of_single(const FloatFormat& f, const Scalar& magnitude, const Scalar& y) {
  const FloatFormat& wide = format_of(Scalar::constant(DType::F64, 0), "pow");
  const Scalar a = cast(magnitude, DType::F64);  // denormals become normal
  const Scalar bits = wide.bits(a);
  const Exponent e = split_exponent(wide, bits, std::bit_cast<std::uint64_t>(0x1.5555555555555p-1));
  const Scalar m = wide.value(bits - e.scaled) - 1.0;
  const Scalar near = fma(polynomial(m, kLogOfSingle), m * m, m);
  const Scalar finite = select(a < wide.constant(kInfinity), fma(e.k, wide.constant(kLn2), near), a);
  const Scalar log_a = select(equal(a, wide.constant(0)), wide.constant(-kInfinity), finite);
  const Scalar z = at_most(at_least(cast(y, DType::F64) * log_a, -200.0), 200.0);  // beyond, f32 gives 0 and infinity
  const ExpReduction r = reduce_exp(wide, z, wide.bias);
  const Scalar near_one = fma(fma(polynomial(r.r, kExpToSingle), r.r, 1.0), r.r, 1.0);
  return cast(near_one * wide.value(r.word << wide.fraction_bits), f.dtype);
}

/// high + low, |low| at most an ulp of high.
struct Pair {
  Scalar high, low;
};

// a + b for |a| >= |b| or a = 0, exact.
Pair fast_sum(const Scalar& a, const Scalar& b) {
  const Scalar sum = a + b;
  return {sum, b - (sum - a)};
}

Pair product(const Pair& a, const Pair& b) {
  const Scalar high = a.high * b.high;
  return {high, fma(a.high, b.high, -high) + fma(a.high, b.low, a.low * b.high)};
}

/// log(1 + f) = 2 s + s^3 (2/3 + s^2 tail), s = f / (2 + f), to about 2^-65 of its value.
Pair log_near_one(const Scalar& f) {
  const Scalar sum = f + 2.0;
  const Scalar lost = f - (sum - 2.0);
  const Scalar quotient = f / sum;
  const Scalar rest = fma(-quotient, lost, fma(-quotient, sum, f));
  const Pair s{quotient, rest * fma(quotient, constant_like(f, -0.5), 0.5)};  // 1 / (2 + f) = (1 - s) / 2
  const Pair square = product(s, s);
  Pair factor = fast_sum(constant_like(f, 0x1.5555555555555p-1), square.high * polynomial(square.high, kLogTail));
  factor.low = factor.low + 0x1.5555555555555p-55;
  const Pair cubic = product(s, product(square, factor));
  const Pair total = fast_sum(s.high + s.high, cubic.high);
  return {total.high, total.low + fma(s.low, constant_like(f, 2.0), cubic.low)};
}

Pair log_of_double(const FloatFormat& f, const Scalar& a) {
  const Scalar denormal = a < f.constant(0x1p-1022);
  const Scalar bits = f.bits(select(denormal, a * 0x1p52, a));
  const Exponent e = split_exponent(f, bits, std::bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp-1));
  const Scalar k = e.k + select(denormal, f.constant(-52), f.constant(0));
  const Pair near = log_near_one(f.value(bits - e.scaled) - 1.0);
  const Pair sum = fast_sum(k * kLn2High, near.high);
  const Scalar finite = select(a < f.constant(kInfinity), sum.high, a);
  return {select(equal(a, f.constant(0)), f.constant(-kInfinity), finite), sum.low + fma(k, f.constant(kLn2Low), near.low)};
}

Scalar power_of_double(const FloatFormat& f, const Scalar& magnitude, const Scalar& y) {
  const Pair log_a = log_of_double(f, magnitude);
  const Scalar high = y * log_a.high;
  const Scalar low = fma(y, log_a.low, fma(y, log_a.high, -high));
  return exp_of_sum(high, select(abs(high) < f.constant(1024), low, f.constant(0)));
}

}  // namespace

Scalar pow(const Scalar& x, const Scalar& y) {
  const FloatFormat& f = format_of(x, "pow");
  const Scalar magnitude = abs(x);
  const Scalar power = f.dtype == DType::F32 ? power_of_single(f, magnitude, y) : power_of_double(f, magnitude, y);
  const Scalar half = y * 0.5;
  const Scalar whole = equal(trunc(y), y);
  const Scalar odd = whole & not_equal(trunc(half), half);
  const Scalar signed_power = f.value(f.bits(power) ^ select(odd, f.bits(x) & f.sign_mask(), f.integer(0)));
  const Scalar undefined = (x < f.constant(0)) & (x > f.constant(-kInfinity)) & !whole;
  const Scalar usual = select(undefined, f.constant(std::nan("")), signed_power);
  // 1 for y = 0 and x = 1 whatever the other, and for x = -1 with infinite y.
  const Scalar one =
      equal(y, f.constant(0)) | equal(x, f.constant(1)) | (equal(magnitude, f.constant(1)) & equal(abs(y), f.constant(kInfinity)));
  return select(one, f.constant(1), usual);
}

}  // namespace resilin::loop
