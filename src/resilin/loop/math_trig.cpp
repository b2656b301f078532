// src/resilin/loop/math_trig.cpp -- sin and cos: reduction to |r| about pi/4 at most, in f64, then one polynomial each, chosen by the quadrant.
#include <bit>
#include <cmath>

#include "resilin/loop/math_parts.h"

namespace resilin::loop {
namespace {

// pi/2 in three parts of 53 bits.
constexpr double kHalfPi[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
// Up to here n is the nearest integer within 0.02, so |r| <= 1.03 pi/4; neighbouring f64 numbers are 1/16 apart there.
constexpr double kLargest = 0x1p48;

// (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4 in r^2 on |r| <= 1.03 pi/4; errors relative to sin and cos.
constexpr double kSin32[] = {-0x1.555542p-3, 0x1.1105e8p-7, -0x1.98d242p-13};  // 6.2e-9
constexpr double kCos32[] = {0x1.555548p-5, -0x1.6c0ac4p-10, 0x1.9983b0p-16};  // 5.2e-10
constexpr double kSin64[] = {-0x1.5555555555542p-3, 0x1.111111110ee6bp-7,   -0x1.a01a019acf6b4p-13,
                             0x1.71de3460ce1e5p-19, -0x1.ae5d8cb30bb28p-26, 0x1.5d544b7bd955cp-33};  // 1.3e-17
constexpr double kCos64[] = {0x1.5555555555546p-5,   -0x1.6c16c16c144d3p-10, 0x1.a01a019b796cep-16,
                             -0x1.27e4f72b5a2b9p-22, 0x1.1ee956ab37a05p-29,  -0x1.8f6266ba23efap-37};  // 1.2e-18

/// The angle r around 0 and the quadrant, in the low bits of an integer of x's width, for x >= 0.
struct Reduced {
  Scalar r, quadrant;
};

Reduced reduce(const FloatFormat& f, const Scalar& x) {
  const bool single = f.dtype == DType::F32;
  const Scalar known = select(x <= f.constant(kLargest), x, f.constant(std::nan("")));
  const Scalar wide = cast(known, DType::F64);  // f32 too: three f32 parts of pi/2 would serve up to 2^22 only
  const Scalar t = fma(wide, Scalar::constant(DType::F64, kTwoOverPi), 0x1.8p52);
  const Scalar n = t - 0x1.8p52;
  Scalar r = wide;
  for (int part = 0; part < (single ? 2 : 3); ++part) r = fma(n, Scalar::constant(DType::F64, -kHalfPi[part]), r);
  return {cast(r, f.dtype), cast(bitcast(t, DType::I64), f.word)};
}

/// sin(r + quadrant * pi/2), its sign flipped where the sign bit of `flip` is set.
Scalar sin_of(const FloatFormat& f, const Reduced& x, const Scalar& flip) {
  const bool single = f.dtype == DType::F32;
  const Scalar s = x.r * x.r;
  const Scalar sine = fma(x.r * s, polynomial(s, single ? std::span<const double>(kSin32) : kSin64), x.r);
  const Scalar cosine = fma(fma(polynomial(s, single ? std::span<const double>(kCos32) : kCos64), s, -0.5), s, 1.0);
  const Scalar value = select(equal(x.quadrant & f.integer(1), f.integer(0)), sine, cosine);
  const Scalar second_half = x.quadrant << (f.fraction_bits == 23 ? 30 : 62);
  return f.value(f.bits(value) ^ ((second_half ^ flip) & f.sign_mask()));
}

}  // namespace

Scalar sin(const Scalar& x) {
  const FloatFormat& f = format_of(x, "sin");
  return sin_of(f, reduce(f, abs(x)), f.bits(x));
}

Scalar cos(const Scalar& x) {
  const FloatFormat& f = format_of(x, "cos");
  const Reduced reduced = reduce(f, abs(x));
  return sin_of(f, {reduced.r, reduced.quadrant + f.integer(1)}, f.integer(0));
}

}  // namespace resilin::loop
