// src/resilin/loop/philox.cpp -- Philox4x32-10 on i32 words: ten rounds of two 32x32-bit products.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#include "resilin/loop/math.h"

namespace resilin::loop {
namespace {

Scalar word(std::uint32_t bits) { return Scalar::constant_bits(DType::I32, bits); }
Scalar low_word(const Scalar& a) { return cast(a, DType::I32); }
Scalar high_word(const Scalar& a) {
  return cast(Scalar::make(Code::ShiftRightLogical, DType::I64, {a, Scalar::constant_integer(DType::I64, 32)}), DType::I32);
}
Scalar multiply_high(const Scalar& a, const Scalar& b) { return Scalar::make(Code::MulHigh32, DType::I32, {a, b}); }

}  // namespace

PhiloxScalars philox(const Scalar& key, const Scalar& counter_low, const Scalar& counter_high) {
  const Scalar m0 = word(0xD2511F53), m1 = word(0xCD9E8D57);
  const Scalar weyl0 = word(0x9E3779B9), weyl1 = word(0xBB67AE85);
  Scalar k0 = low_word(key), k1 = high_word(key);
  Scalar c0 = low_word(counter_low), c1 = high_word(counter_low), c2 = low_word(counter_high), c3 = high_word(counter_high);
  for (int round = 0; round < 10; ++round) {
    const Scalar next0 = multiply_high(c2, m1) ^ c1 ^ k0;
    const Scalar next2 = multiply_high(c0, m0) ^ c3 ^ k1;
    c1 = c2 * m1;
    c3 = c0 * m0;
    c0 = next0;
    c2 = next2;
    k0 = k0 + weyl0;
    k1 = k1 + weyl1;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace resilin::loop
