// src/resilin/loop/math_erf.cpp -- erf: an odd polynomial near 0; beyond, 1 - erfc from a polynomial for its 4th root (f32) or its logarithm (f64).
#include "resilin/loop/math_parts.h"

namespace resilin::loop {
namespace {

// erf(x) / x - 1 in x^2, relative to erf. f32, |x| <= 1.25, degree 7: 1.4e-8. f64, |x| <= 1, degree 11: 1.6e-17.
constexpr double kNear32[] = {0x1.06eba6p-3, -0x1.812740p-2,  0x1.ce2de8p-4,  -0x1.b8140ap-6,
                              0x1.5560cap-8, -0x1.b53bcep-11, 0x1.b3f35ap-14, -0x1.fc365cp-18};
constexpr double kNear64[] = {0x1.06eba8214db68p-3,  -0x1.812746b0379bdp-2,  0x1.ce2f21a040d1ap-4,  -0x1.b82ce311fa98bp-6,
                              0x1.565bccf92ba3fp-8,  -0x1.c02db03de8374p-11, 0x1.f9a2baaa94e8fp-14, -0x1.f4ca4d8725312p-17,
                              0x1.b97fd4c12b33fp-20, -0x1.5c072c6dab743p-23, 0x1.d71b3518dfcc8p-27, -0x1.abaebb41db4ccp-31};
// erfc(a)^(1/4) on [1.25, 4], f32, degree 7: the error of erf is 6.6e-9.
constexpr double kFar32[] = {0x1.01cafep+0, -0x1.421b7cp-2, -0x1.bb28a2p-5, -0x1.e0f818p-5,
                             0x1.205ef0p-4, -0x1.816d86p-6, 0x1.c49b3ap-9,  -0x1.98a618p-13};
// log(erfc(a)) on [1, 6], f64, degree 17: the error of erf is 1.7e-17.
constexpr double kFar64[] = {-0x1.4c101556a4c32p-21, -0x1.20dd0d192cebep+0,  -0x1.45f6cf4cdee12p-1, -0x1.a49dd761b3819p-4,
                             0x1.36b399b4db033p-6,   0x1.d56e00dc0b2b6p-12,  -0x1.00498c704a6d0p-9, 0x1.a509220929373p-11,
                             -0x1.4720a831009c3p-13, -0x1.42342e68d9c64p-17, 0x1.3706b9dc5fd9cp-16, -0x1.eb17f67b0d2cbp-18,
                             0x1.e4f18948b972dp-20,  -0x1.4f7abed83e27fp-22, 0x1.47fc92668e50ep-25, -0x1.b2f0a18adca11p-29,
                             0x1.605167ad31194p-33,  -0x1.07ac9f383576bp-38};

// erf beyond the range of kNear.
Scalar erf_far(const FloatFormat& f, const Scalar& a) {
  if (f.dtype == DType::F64) return 1.0 - exp_of_sum(polynomial(at_most(a, 6.0), kFar64), f.constant(0));
  const Scalar root = polynomial(at_most(a, 4.0), kFar32);
  const Scalar square = root * root;
  return fma(-square, square, 1.0);
}

}  // namespace

Scalar erf(const Scalar& x) {
  const FloatFormat& f = format_of(x, "erf");
  const bool single = f.dtype == DType::F32;
  const Scalar a = abs(x);
  const Scalar near = fma(polynomial(x * x, single ? std::span<const double>(kNear32) : kNear64), a, a);
  return with_sign(f, select(a < f.constant(single ? 1.25 : 1.0), near, erf_far(f, a)), x);
}

}  // namespace resilin::loop
