// src/resilin/loop/math.h -- elementary functions written with primitive Scalars, so that interpreter, eager and fused kernels agree bit for bit.
#pragma once

#include "resilin/loop/scalar.h"

namespace resilin::loop {

/// Each takes and gives F32 or F64 (others: InternalError), handles NaN, infinities, signed zero, denormals and overflow as the C library does.
/// Error at most 2 ULP in f32 and in f64 against the exact value (tests/loop/math_test.cpp states the measured maxima).
/// One exception: sin and cos give NaN for |x| > 2^48, where the quadrant can no longer be counted.
Scalar exp(const Scalar& x);
Scalar expm1(const Scalar& x);
Scalar log(const Scalar& x);
Scalar log1p(const Scalar& x);
Scalar tanh(const Scalar& x);
Scalar erf(const Scalar& x);
Scalar sigmoid(const Scalar& x);
Scalar sin(const Scalar& x);
Scalar cos(const Scalar& x);
Scalar pow(const Scalar& x, const Scalar& y);

/// The four i32 words of Philox4x32-10 for a 64-bit key and a 128-bit counter (I64 Scalars): bit-equal to resilin::philox4x32.
struct PhiloxScalars {
  Scalar word[4];
};
PhiloxScalars philox(const Scalar& key, const Scalar& counter_low, const Scalar& counter_high);

}  // namespace resilin::loop
