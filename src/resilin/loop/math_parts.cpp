// src/resilin/loop/math_parts.cpp -- rounding, scaling by powers of two and polynomials out of primitive operations.
#include "resilin/loop/math_parts.h"

#include <bit>

namespace resilin::loop {

const FloatFormat& format_of(const Scalar& x, const char* function) {
  static constexpr FloatFormat kSingle{DType::F32, DType::I32, 23, 127};
  static constexpr FloatFormat kDouble{DType::F64, DType::I64, 52, 1023};
  RESILIN_ASSERT(x.defined(), cat(function, ": operand is an undefined Scalar"));
  RESILIN_ASSERT(x.dtype() == DType::F32 || x.dtype() == DType::F64, cat(function, ": dtype is ", x.dtype(), "; must be f32 or f64"));
  return x.dtype() == DType::F32 ? kSingle : kDouble;
}

Scalar polynomial(const Scalar& x, std::span<const double> c) {
  Scalar sum = constant_like(x, c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, c[i]);
  return sum;
}

Scalar shift_right_logical(const Scalar& a, i64 count) {
  return Scalar::make(Code::ShiftRightLogical, a.dtype(), {a, Scalar::constant_integer(a.dtype(), count)});
}

Scalar with_sign(const FloatFormat& f, const Scalar& magnitude, const Scalar& sign) {
  return f.value(f.bits(magnitude) | (f.bits(sign) & f.sign_mask()));
}

Scalar at_most(const Scalar& x, double bound) { return select(x > constant_like(x, bound), constant_like(x, bound), x); }
Scalar at_least(const Scalar& x, double bound) { return select(x < constant_like(x, bound), constant_like(x, bound), x); }

Exponent split_exponent(const FloatFormat& f, const Scalar& bits, std::uint64_t first) {
  const i64 one = static_cast<i64>(f.bias) << f.fraction_bits;
  const Scalar moved = bits + f.integer(one - static_cast<i64>(first));  // its exponent field is k + bias
  const Scalar mask = f.integer(-(i64{1} << f.fraction_bits));
  Exponent e;
  e.scaled = (moved & mask) - f.integer(one);
  const Scalar biased = shift_right_logical(moved, f.fraction_bits);
  if (f.dtype == DType::F32) {
    e.k = cast(biased, DType::F32) - f.bias;
  } else {
    // No AVX2 instruction converts 64-bit integers: the exponent is put into the low bits of 2^52.
    e.k = f.value(biased | Scalar::constant_bits(f.word, std::bit_cast<std::uint64_t>(0x1p52))) - (0x1p52 + f.bias);
  }
  return e;
}

}  // namespace resilin::loop
