// src/resilin/loop/math_parts.h -- Internal: the pieces that the elementary functions share.
#pragma once

#include <span>

#include "resilin/loop/math.h"

namespace resilin::loop {

/// What the bits of a binary float look like, and integer constants of its width.
struct FloatFormat {
  DType dtype;
  DType word;  // the integer of the same size
  int fraction_bits;
  int bias;

  Scalar bits(const Scalar& x) const { return bitcast(x, word); }
  Scalar value(const Scalar& word_bits) const { return bitcast(word_bits, dtype); }
  Scalar integer(i64 v) const { return Scalar::constant_integer(word, v); }
  Scalar constant(double v) const { return Scalar::constant(dtype, v); }
  Scalar sign_mask() const { return Scalar::constant_bits(word, std::uint64_t{1} << (fraction_bits == 23 ? 31 : 63)); }
  /// 1.5 * 2^fraction_bits: adding it rounds to an integer, which then stands in the low bits of the sum.
  double rounder() const { return fraction_bits == 23 ? 0x1.8p23 : 0x1.8p52; }
};

/// F32 or F64; InternalError for another dtype, naming the function.
const FloatFormat& format_of(const Scalar& x, const char* function);

/// c[0] + x * (c[1] + x * (c[2] + ...)), each step one fma.
Scalar polynomial(const Scalar& x, std::span<const double> c);

Scalar shift_right_logical(const Scalar& a, i64 count);
/// |magnitude| with the sign of `sign`; the magnitude must not be negative.
Scalar with_sign(const FloatFormat& f, const Scalar& magnitude, const Scalar& sign);
/// x, or the bound when x lies beyond it; NaN stays NaN.
Scalar at_most(const Scalar& x, double bound);
Scalar at_least(const Scalar& x, double bound);

/// x = n ln 2 + r with n the nearest integer: `n` as a float and, plus `bias`, in the low bits of `word`. `r` is `high` before its last rounding step.
struct ExpReduction {
  Scalar n, word, high, r;
};
ExpReduction reduce_exp(const FloatFormat& f, const Scalar& x, int bias);
/// e^(high + low) for F64, |low| a few ulp of high: the end of pow.
Scalar exp_of_sum(const Scalar& high, const Scalar& low);

/// x = 2^k * m for positive normal x, m in [first, 2 * first): `k` as a float, `scaled` the bits of 2^k minus those of 1.
struct Exponent {
  Scalar k, scaled;
};
Exponent split_exponent(const FloatFormat& f, const Scalar& bits, std::uint64_t first);

}  // namespace resilin::loop
