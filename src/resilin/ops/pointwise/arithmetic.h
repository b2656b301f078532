// src/resilin/ops/pointwise/arithmetic.h -- addition, subtraction, multiplication, division, negation.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kArithmeticOps;

/// [...], [...] broadcast -> [...]; PyTorch's type promotion; integers wrap; of Bools add is or, mul is and, sub is DtypeError.
RESILIN_API Tensor add(Input a, Input b);
RESILIN_API Tensor sub(Input a, Input b);
RESILIN_API Tensor mul(Input a, Input b);
/// True division: integers and Bools are divided as f32.
RESILIN_API Tensor div(Input a, Input b);
/// Quotient rounded down, or towards zero; integers stay integers and a zero divisor is NumericError.
RESILIN_API Tensor floor_divide(Input a, Input b);
RESILIN_API Tensor trunc_divide(Input a, Input b);
RESILIN_API Tensor neg(const Tensor& x);
/// x op= y in x's memory; gives back x.
RESILIN_API const Tensor& add_(const Tensor& x, Input y);
RESILIN_API const Tensor& sub_(const Tensor& x, Input y);
RESILIN_API const Tensor& mul_(const Tensor& x, Input y);
RESILIN_API const Tensor& div_(const Tensor& x, Input y);
/// x = -x in x's memory; gives back x.
RESILIN_API const Tensor& neg_(const Tensor& x);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator+(const Tensor& a, Number b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, Number b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, Number b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, Number b) { return div(a, b); }
inline Tensor operator+(Number a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(Number a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(Number a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(Number a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }

}  // namespace resilin
