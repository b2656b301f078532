// src/resilin/loop/math_exp.cpp -- exp, expm1, sigmoid and tanh: x = n ln 2 + r, e^x = 2^n e^r with a polynomial for e^r.
#include "resilin/loop/math_parts.h"

namespace resilin::loop {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;
// ln 2 in two parts: n * high is exact enough in one fma, low is the rest.
constexpr double kLn2High32 = 0x1.62e43p-1, kLn2Low32 = -0x1.05c61p-29;
constexpr double kLn2High64 = 0x1.62e42fefa39efp-1, kLn2Low64 = 0x1.abc9e3b39803fp-56;

// (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2: minimax for the relative error of e^r.
// f32, degree 4: 3.8e-9. f64, degree 9: 1.3e-17.
constexpr double kExp32[] = {0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558f2p-5, 0x1.1239f0p-7, 0x1.6a2406p-10};
constexpr double kExp64[] = {0x1.0000000000009p-1,  0x1.55555555554f9p-3,  0x1.5555555550893p-5,  0x1.1111111127c0ep-7,
                             0x1.6c16c18426e9cp-10, 0x1.a01a012a6aa85p-13, 0x1.a0199a1622dd7p-16, 0x1.71df253bbd677p-19,
                             0x1.28ad692403923p-22, 0x1.ad7f73b6f11d1p-26};

// (tanh(x) / x - 1) / x^2 in x^2 on |x| <= 0.55, relative to tanh. f32, degree 4: 3.9e-9. f64, degree 9: 2.7e-17.
constexpr double kTanh32[] = {-0x1.55554ap-2, 0x1.110d24p-3, -0x1.b9283cp-5, 0x1.593aeep-6, -0x1.9b23c2p-8};
constexpr double kTanh64[] = {-0x1.555555555549cp-2,  0x1.111111110288ap-3, -0x1.ba1ba1ad67aaap-5,  0x1.664f45c1169bep-6,
                              -0x1.226ddd18dc667p-7,  0x1.d6c617bb74c0dp-9, -0x1.7cf3822261a8cp-10, 0x1.2fa1252636622p-11,
                              -0x1.b9008f06103b2p-13, 0x1.abe7708e78995p-15};

std::span<const double> exp_table(const FloatFormat& f) {
  if (f.dtype == DType::F32) return kExp32;
  return kExp64;
}

// 1 + r + r^2 q(r).
Scalar exp_near_zero(const FloatFormat& f, const Scalar& r) { return fma(fma(polynomial(r, exp_table(f)), r, 1.0), r, 1.0); }

/// 2^n = first * second where the low bits of `word` hold n + 2 * bias: so denormal results are rounded once and 2^bias + 1 is in reach.
struct Power {
  Scalar first, second;
};
Power wide_power(const FloatFormat& f, const Scalar& word) {
  const Scalar first = shift_right_logical(word, 1) << f.fraction_bits;
  return {f.value(first), f.value((word << f.fraction_bits) - first)};
}

// From here on e^x is 0 below, infinite above. At the low bound both parts of wide_power are 0: what vanishes (a masked score of -inf) is no product that
// underflows, which is slow on every processor.
double exp_low(const FloatFormat& f) { return f.dtype == DType::F32 ? -176.0 : -1418.0; }
double exp_high(const FloatFormat& f) { return f.dtype == DType::F32 ? 89.0 : 710.0; }

/// e^r 2^n.
Scalar scaled_exp(const FloatFormat& f, const Scalar& r, const Scalar& word) {
  const Power power = wide_power(f, word);
  return exp_near_zero(f, r) * power.first * power.second;
}

/// e^r - 1 in F32: pairs of terms first, which is as many operations and two thirds of the chain. In F64 it would cost a tenth of an ulp.
Scalar growth32(const FloatFormat& f, const Scalar& r) {
  const auto term = [&](int k) { return f.constant(kExp32[k]); };
  const Scalar square = r * r;
  const Scalar high = fma(square, term(4), fma(r, term(3), term(2)));
  return fma(fma(high, square, fma(r, term(1), term(0))), square, r);
}

Scalar scaled_exp32(const FloatFormat& f, const Scalar& r, const Scalar& word) {
  const Power power = wide_power(f, word);
  return fma(growth32(f, r), power.first, power.first) * power.second;
}

/// Of -x = n ln 2 + r: the signs vanish into the fmas.
ExpReduction reduce_exp_negated(const FloatFormat& f, const Scalar& x, int bias) {
  const bool single = f.dtype == DType::F32;
  const double rounder = f.rounder() + bias;
  const Scalar t = fma(x, f.constant(-kLog2E), rounder);
  ExpReduction e;
  e.n = t - rounder;
  e.word = f.bits(t);
  const Scalar high = fma(e.n, f.constant(single ? kLn2High32 : kLn2High64), x);
  e.high = -high;
  e.r = -fma(e.n, f.constant(single ? kLn2Low32 : kLn2Low64), high);
  return e;
}

/// 1 - 2 / (e^(2a) + 1), which keeps its digits from about a = 0.5 on.
Scalar tanh_far(const FloatFormat& f, const Scalar& a) {
  const Scalar bounded = at_most(a, f.dtype == DType::F32 ? 9.5 : 20.0);  // beyond, tanh rounds to 1
  const ExpReduction e = reduce_exp(f, bounded + bounded, f.bias);
  // One part of ln 2 is enough: n is large only where e^(2a) hardly matters.
  const Scalar power = exp_near_zero(f, e.high) * f.value(e.word << f.fraction_bits);
  return fma(1.0 / (power + 1.0), f.constant(-2.0), 1.0);
}

}  // namespace

ExpReduction reduce_exp(const FloatFormat& f, const Scalar& x, int bias) {
  const bool single = f.dtype == DType::F32;
  const double rounder = f.rounder() + bias;
  const Scalar t = fma(x, f.constant(kLog2E), rounder);
  ExpReduction e;
  e.n = t - rounder;
  e.word = f.bits(t);
  e.high = fma(e.n, f.constant(single ? -kLn2High32 : -kLn2High64), x);
  e.r = fma(e.n, f.constant(single ? -kLn2Low32 : -kLn2Low64), e.high);
  return e;
}

Scalar exp_of_sum(const Scalar& high, const Scalar& low) {
  const FloatFormat& f = format_of(high, "exp_of_sum");
  ExpReduction e = reduce_exp(f, at_most(at_least(high, exp_low(f)), exp_high(f)), 2 * f.bias);
  return scaled_exp(f, e.r + low, e.word);
}

Scalar exp(const Scalar& x) {
  const FloatFormat& f = format_of(x, "exp");
  const ExpReduction e = reduce_exp(f, at_most(at_least(x, exp_low(f)), exp_high(f)), 2 * f.bias);
  return f.dtype == DType::F32 ? scaled_exp32(f, e.r, e.word) : scaled_exp(f, e.r, e.word);
}

Scalar expm1(const Scalar& x) {
  const FloatFormat& f = format_of(x, "expm1");
  const bool single = f.dtype == DType::F32;
  const ExpReduction e = reduce_exp(f, at_most(at_least(x, single ? -25.0 : -50.0), exp_high(f)), f.bias - 1);
  // r is corrected by what its last step rounded off: the sum below may cancel a binade.
  const Scalar correction = fma(e.n, f.constant(single ? -kLn2Low32 : -kLn2Low64), e.high - e.r);
  const Scalar half_power = f.value(e.word << f.fraction_bits);  // 2^(n-1), which is finite for every x
  const Scalar tail = fma(polynomial(e.r, exp_table(f)), e.r * e.r, correction);
  const Scalar half = fma(half_power, tail, fma(half_power, e.r, half_power - 0.5));
  const Scalar tiny = abs(x) < f.constant(single ? 0x1p-26 : 0x1p-55);
  return select(tiny, x, half + half);
}

// 1 / (1 + e^-x), all times 2^-k with k one more than the fraction's bits: so the power stays finite down to the last denormal result, which
// the division rounds once. The sum takes e^-x as 2^n + 2^n (e^r - 1), whose small part is added last.
Scalar sigmoid(const Scalar& x) {
  const FloatFormat& f = format_of(x, "sigmoid");
  const bool single = f.dtype == DType::F32;
  const Scalar one = f.constant(single ? 0x1p-24 : 0x1p-53);
  // Below the bounds the result is 0, above them 1.
  const Scalar bounded = at_most(at_least(x, single ? -105.0 : -746.0), single ? 40.0 : 80.0);
  const ExpReduction e = reduce_exp_negated(f, bounded, f.bias - f.fraction_bits - 1);
  const Scalar growth = single ? growth32(f, e.r) : fma(polynomial(e.r, exp_table(f)), e.r, 1.0) * e.r;
  const Scalar power = f.value(e.word << f.fraction_bits);
  return one / fma(power, growth, one + power);
}

Scalar tanh(const Scalar& x) {
  const FloatFormat& f = format_of(x, "tanh");
  const Scalar a = abs(x);
  const Scalar square = a * a;
  const Scalar near = fma(polynomial(square, f.dtype == DType::F32 ? std::span<const double>(kTanh32) : kTanh64), square * a, a);
  return with_sign(f, select(a < f.constant(0.55), near, tanh_far(f, a)), x);
}

}  // namespace resilin::loop
