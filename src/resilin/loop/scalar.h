// src/resilin/loop/scalar.h -- Scalar: a typed expression over one element, the language in which ops state their formulas.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "resilin/sym/dim.h"
#include "resilin/tensor/dtype.h"

namespace resilin::loop {

/// Primitive operations: what the interpreter evaluates and what code generation emits, one machine operation or a short fixed sequence each.
///
/// Semantics, the same in both: integers wrap (two's complement); float arithmetic is IEEE round to nearest even, never contracted;
/// Min/Max follow IEEE 754-2019 minimum/maximum (NaN wins, -0 < +0); comparisons with NaN are false except Ne; Select does not propagate from the
/// side not taken; shifts mask their count; DivInt/ModInt truncate (C's rules), a zero divisor gives 0 (formulas add a check), lowest/-1 wraps;
/// float->int casts truncate, out of range or NaN gives the lowest value of i32/i64 (x86's rule), narrower ints take the low bits of that i32.
enum class Code : std::uint8_t {
  Constant,  // bits
  Input,     // leaf `index` of a formula: replaced by substitution, never left in a nest
  Load,      // element `offset` of buffer `index`
  Integer,   // the i64 value of the Dim `offset`
  Argument,  // run-time value argument `index`
  Local,     // value named by a Let, Reduce or Scan statement: `index`
  // unary
  Neg,
  Abs,
  Not,
  Sqrt,
  Floor,
  Ceil,
  Trunc,
  RoundEven,
  Cast,
  Bitcast,
  // binary
  Add,
  Sub,
  Mul,
  Div,
  DivInt,
  ModInt,
  Min,
  Max,
  And,
  Or,
  Xor,
  ShiftLeft,
  ShiftRight,
  ShiftRightLogical,
  MulHigh32,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  // ternary
  Fma,
  Select
};
// MulHigh32: on i32 words, the high 32 bits of the unsigned 64-bit product. Not/And/Or/Xor act on Bool logically, on integers bitwise.
// Fma: a*b+c rounded once (floats). Select: args (Bool, a, b). Bitcast: same size, f32<->i32, f64<->i64. Eq..Ge give Bool.

/// How a formula's arguments are numbered and how wide a value may be.
struct Node;

/// A counted handle on an immutable expression node. Building one folds constants and checks dtypes (InternalError: formulas are our own code).
class Scalar {
 public:
  Scalar() = default;
  static Scalar constant(DType dtype, double value);  // rounded to the dtype; integers exactly when representable
  static Scalar constant_integer(DType dtype, i64 value);
  static Scalar constant_bits(DType dtype, std::uint64_t bits);
  static Scalar input(DType dtype, int index);
  static Scalar load(DType dtype, int buffer, Dim offset);
  static Scalar integer(Dim value);  // dtype I64
  static Scalar argument(DType dtype, int index);
  static Scalar local(DType dtype, int index);
  static Scalar make(Code code, DType dtype, std::initializer_list<Scalar> args);

  bool defined() const { return node_ != nullptr; }
  Code code() const;
  DType dtype() const;
  std::span<const Scalar> args() const;
  std::uint64_t bits() const;  // Constant
  int index() const;           // Input, Load (buffer), Argument, Local
  Dim offset() const;          // Load, Integer
  const void* identity() const { return node_.get(); }

 private:
  explicit Scalar(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

struct Node {
  Code code;
  DType dtype;
  int index = 0;
  std::uint64_t bits = 0;
  Dim offset;
  std::vector<Scalar> args;
};

// Construction; operands of binary operators must share a dtype. A double operand takes the dtype of the other side.
Scalar operator+(const Scalar& a, const Scalar& b);
Scalar operator-(const Scalar& a, const Scalar& b);
Scalar operator*(const Scalar& a, const Scalar& b);
Scalar operator/(const Scalar& a, const Scalar& b);  // floats; use div_int for integers
Scalar operator-(const Scalar& a);
Scalar operator+(const Scalar& a, double b);
Scalar operator-(const Scalar& a, double b);
Scalar operator*(const Scalar& a, double b);
Scalar operator/(const Scalar& a, double b);
Scalar operator+(double a, const Scalar& b);
Scalar operator-(double a, const Scalar& b);
Scalar operator*(double a, const Scalar& b);
Scalar operator/(double a, const Scalar& b);
Scalar operator<(const Scalar& a, const Scalar& b);
Scalar operator<=(const Scalar& a, const Scalar& b);
Scalar operator>(const Scalar& a, const Scalar& b);
Scalar operator>=(const Scalar& a, const Scalar& b);
Scalar operator&(const Scalar& a, const Scalar& b);
Scalar operator|(const Scalar& a, const Scalar& b);
Scalar operator^(const Scalar& a, const Scalar& b);
Scalar operator!(const Scalar& a);
Scalar operator<<(const Scalar& a, i64 count);
Scalar equal(const Scalar& a, const Scalar& b);
Scalar not_equal(const Scalar& a, const Scalar& b);
Scalar div_int(const Scalar& a, const Scalar& b);
Scalar mod_int(const Scalar& a, const Scalar& b);
Scalar min(const Scalar& a, const Scalar& b);
Scalar max(const Scalar& a, const Scalar& b);
Scalar abs(const Scalar& a);
Scalar sqrt(const Scalar& a);
Scalar floor(const Scalar& a);
Scalar ceil(const Scalar& a);
Scalar trunc(const Scalar& a);
Scalar round_even(const Scalar& a);
Scalar fma(const Scalar& a, const Scalar& b, const Scalar& c);
Scalar fma(const Scalar& a, const Scalar& b, double c);
Scalar select(const Scalar& condition, const Scalar& a, const Scalar& b);
Scalar is_nan(const Scalar& a);
/// Value conversion between any two arithmetic dtypes with the rules of Code::Cast; to Bool: a != 0. f64 -> bf16/f16 goes through f32 as PyTorch's does.
Scalar cast(const Scalar& a, DType to);
Scalar bitcast(const Scalar& a, DType to);
/// The number v in the dtype of `like`.
Scalar constant_like(const Scalar& like, double v);

/// Rewrites leaves bottom-up, sharing what is shared: `with` is called once per leaf node (Input, Load, Integer, Argument, Local).
Scalar substitute_leaves(const Scalar& a, const std::function<Scalar(const Scalar&)>& with);
/// Structural equality (shared nodes compare by address first).
bool same_expression(const Scalar& a, const Scalar& b);
/// Number of distinct operation nodes, a measure of the cost of computing it again.
int operation_count(const Scalar& a);

/// Evaluates one primitive on raw bits (a float is its IEEE pattern, Bool 0/1, narrow ints sign- or zero-extended): the single definition of the
/// semantics above, used by constant folding and by the interpreter. args has one entry per operand; `from` is the dtype of the operands.
std::uint64_t evaluate_primitive(Code code, DType dtype, DType from, std::span<const std::uint64_t> args);

std::string_view name(Code code);

}  // namespace resilin::loop
