// src/resilin/loop/operators.cpp -- the operators and functions that formulas are written with.
#include "resilin/loop/scalar.h"

namespace resilin::loop {
namespace {

DType dtype_of(const Scalar& a) {
  RESILIN_ASSERT(a.defined(), "formula: operand is an undefined Scalar");
  return a.dtype();
}

Scalar unary(Code code, const Scalar& a) { return Scalar::make(code, dtype_of(a), {a}); }
Scalar binary(Code code, const Scalar& a, const Scalar& b) { return Scalar::make(code, dtype_of(a), {a, b}); }
Scalar compare(Code code, const Scalar& a, const Scalar& b) { return Scalar::make(code, DType::Bool, {a, b}); }

}  // namespace

Scalar operator+(const Scalar& a, const Scalar& b) { return binary(Code::Add, a, b); }
Scalar operator-(const Scalar& a, const Scalar& b) { return binary(Code::Sub, a, b); }
Scalar operator*(const Scalar& a, const Scalar& b) { return binary(Code::Mul, a, b); }
Scalar operator/(const Scalar& a, const Scalar& b) { return binary(Code::Div, a, b); }
Scalar operator-(const Scalar& a) { return unary(Code::Neg, a); }
Scalar operator+(const Scalar& a, double b) { return a + constant_like(a, b); }
Scalar operator-(const Scalar& a, double b) { return a - constant_like(a, b); }
Scalar operator*(const Scalar& a, double b) { return a * constant_like(a, b); }
Scalar operator/(const Scalar& a, double b) { return a / constant_like(a, b); }
Scalar operator+(double a, const Scalar& b) { return constant_like(b, a) + b; }
Scalar operator-(double a, const Scalar& b) { return constant_like(b, a) - b; }
Scalar operator*(double a, const Scalar& b) { return constant_like(b, a) * b; }
Scalar operator/(double a, const Scalar& b) { return constant_like(b, a) / b; }
Scalar operator<(const Scalar& a, const Scalar& b) { return compare(Code::Lt, a, b); }
Scalar operator<=(const Scalar& a, const Scalar& b) { return compare(Code::Le, a, b); }
Scalar operator>(const Scalar& a, const Scalar& b) { return compare(Code::Gt, a, b); }
Scalar operator>=(const Scalar& a, const Scalar& b) { return compare(Code::Ge, a, b); }
Scalar operator&(const Scalar& a, const Scalar& b) { return binary(Code::And, a, b); }
Scalar operator|(const Scalar& a, const Scalar& b) { return binary(Code::Or, a, b); }
Scalar operator^(const Scalar& a, const Scalar& b) { return binary(Code::Xor, a, b); }
Scalar operator!(const Scalar& a) { return unary(Code::Not, a); }
Scalar operator<<(const Scalar& a, i64 count) { return binary(Code::ShiftLeft, a, Scalar::constant_integer(dtype_of(a), count)); }
Scalar equal(const Scalar& a, const Scalar& b) { return compare(Code::Eq, a, b); }
Scalar not_equal(const Scalar& a, const Scalar& b) { return compare(Code::Ne, a, b); }
Scalar div_int(const Scalar& a, const Scalar& b) { return binary(Code::DivInt, a, b); }
Scalar mod_int(const Scalar& a, const Scalar& b) { return binary(Code::ModInt, a, b); }
Scalar min(const Scalar& a, const Scalar& b) { return binary(Code::Min, a, b); }
Scalar max(const Scalar& a, const Scalar& b) { return binary(Code::Max, a, b); }
Scalar abs(const Scalar& a) { return unary(Code::Abs, a); }
Scalar sqrt(const Scalar& a) { return unary(Code::Sqrt, a); }
Scalar floor(const Scalar& a) { return unary(Code::Floor, a); }
Scalar ceil(const Scalar& a) { return unary(Code::Ceil, a); }
Scalar trunc(const Scalar& a) { return unary(Code::Trunc, a); }
Scalar round_even(const Scalar& a) { return unary(Code::RoundEven, a); }
Scalar fma(const Scalar& a, const Scalar& b, const Scalar& c) { return Scalar::make(Code::Fma, dtype_of(a), {a, b, c}); }
Scalar fma(const Scalar& a, const Scalar& b, double c) { return fma(a, b, constant_like(a, c)); }
Scalar select(const Scalar& condition, const Scalar& a, const Scalar& b) {
  return Scalar::make(Code::Select, dtype_of(a), {condition, a, b});
}
Scalar is_nan(const Scalar& a) { return not_equal(a, a); }
Scalar cast(const Scalar& a, DType to) { return Scalar::make(Code::Cast, to, {a}); }
Scalar bitcast(const Scalar& a, DType to) { return Scalar::make(Code::Bitcast, to, {a}); }
Scalar constant_like(const Scalar& like, double v) { return Scalar::constant(dtype_of(like), v); }

}  // namespace resilin::loop
