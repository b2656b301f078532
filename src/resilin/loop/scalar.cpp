// src/resilin/loop/scalar.cpp -- making Scalars: dtype rules, constant folding and the few rewrites that keep every bit.
#include "resilin/loop/scalar.h"

#include <array>
#include <bit>
#include <cmath>

namespace resilin::loop {
namespace {

constexpr std::array<std::string_view, 39> kNames = {
    "constant",   "input",   "load",  "integer",    "argument", "local",   "neg", "abs",        "not",         "sqrt",
    "floor",      "ceil",    "trunc", "round_even", "cast",     "bitcast", "add", "sub",        "mul",         "div",
    "div_int",    "mod_int", "min",   "max",        "and",      "or",      "xor", "shift_left", "shift_right", "shift_right_logical",
    "mul_high32", "eq",      "ne",    "lt",         "le",       "gt",      "ge",  "fma",        "select"};
static_assert(kNames[static_cast<std::size_t>(Code::Select)] == "select");

bool is_wide_float(DType t) { return t == DType::F32 || t == DType::F64; }
bool is_number(DType t) { return is_integral(t) || is_wide_float(t); }

std::size_t arity(Code code) {
  if (code >= Code::Fma) return 3;
  return code >= Code::Add ? 2 : code >= Code::Neg ? 1 : 0;
}

bool is_comparison(Code code) { return code >= Code::Eq && code <= Code::Ge; }

/// What dtypes an operation computes in.
bool accepts(Code code, DType t) {
  switch (code) {
    case Code::Sqrt:
    case Code::Floor:
    case Code::Ceil:
    case Code::Trunc:
    case Code::RoundEven:
    case Code::Div:
    case Code::Fma: return is_wide_float(t);
    case Code::Not:
    case Code::And:
    case Code::Or:
    case Code::Xor: return t == DType::Bool || is_integral(t);
    case Code::DivInt:
    case Code::ModInt:
    case Code::ShiftLeft:
    case Code::ShiftRight:
    case Code::ShiftRightLogical: return is_integral(t);
    case Code::MulHigh32: return t == DType::I32;
    case Code::Cast:
    case Code::Select: return !is_complex(t);
    case Code::Bitcast: return is_wide_float(t) || t == DType::I32 || t == DType::I64;
    default: return is_number(t) || (t == DType::Bool && is_comparison(code));
  }
}

std::string describe(Code code, DType dtype, std::span<const Scalar> args) {
  std::string text = cat(name(code), ": dtypes do not fit: result is ", dtype, ", operands are");
  for (const Scalar& arg : args) text += arg.defined() ? cat(' ', arg.dtype()) : std::string(" undefined");
  return text;
}

bool operands_fit(Code code, DType dtype, std::span<const Scalar> args) {
  if (args.size() != arity(code) || args.empty()) return false;
  for (const Scalar& arg : args) {
    if (!arg.defined()) return false;
  }
  const DType from = args.back().dtype();
  if (!accepts(code, from)) return false;
  if (code == Code::Cast) return !is_complex(dtype);
  if (code == Code::Bitcast) return accepts(code, dtype) && size_bytes(dtype) == size_bytes(from);
  if (dtype != (is_comparison(code) ? DType::Bool : from)) return false;
  for (std::size_t i = code == Code::Select ? 1 : 0; i < args.size(); ++i) {
    if (args[i].dtype() != from) return false;
  }
  return code != Code::Select || args[0].dtype() == DType::Bool;
}

/// The bits in the form that evaluate_primitive keeps: narrow signed integers sign-extended, all else zero-extended.
std::uint64_t normal_bits(DType dtype, std::uint64_t bits) {
  switch (dtype) {
    case DType::Bool: return bits & 1;
    case DType::I8: return static_cast<std::uint64_t>(static_cast<i64>(static_cast<std::int8_t>(bits)));
    case DType::I16: return static_cast<std::uint64_t>(static_cast<i64>(static_cast<std::int16_t>(bits)));
    case DType::I32: return static_cast<std::uint64_t>(static_cast<i64>(static_cast<std::int32_t>(bits)));
    default: return size_bytes(dtype) == 8 ? bits : bits & ((std::uint64_t{1} << (8 * size_bytes(dtype))) - 1);
  }
}

bool is_bits(const Scalar& a, std::uint64_t bits) { return a.code() == Code::Constant && a.bits() == bits; }
bool is_value(const Scalar& a, double value) {
  if (a.code() != Code::Constant) return false;
  const std::array<std::uint64_t, 1> bits = {a.bits()};
  return evaluate_primitive(Code::Cast, DType::F64, a.dtype(), bits) == std::bit_cast<std::uint64_t>(value);
}

/// a op b where one operand decides; undefined when nothing is known. Floats keep signed zeros: only x - 0, x + -0, x * 1 and x / 1 are x.
Scalar fold_integer(Code code, DType t, const Scalar& a, const Scalar& b) {
  switch (code) {
    case Code::Add: return is_bits(b, 0) ? a : is_bits(a, 0) ? b : Scalar();
    case Code::Sub:
    case Code::ShiftLeft:
    case Code::ShiftRight:
    case Code::ShiftRightLogical: return is_bits(b, 0) ? a : Scalar();
    case Code::Mul:
      if (is_bits(a, 0) || is_bits(b, 0)) return Scalar::constant_bits(t, 0);
      return is_bits(b, 1) ? a : is_bits(a, 1) ? b : Scalar();
    case Code::DivInt: return is_bits(b, 1) ? a : Scalar();
    default: return {};
  }
}

Scalar fold_float(Code code, const Scalar& a, const Scalar& b) {
  switch (code) {
    case Code::Add: return is_value(b, -0.0) ? a : is_value(a, -0.0) ? b : Scalar();
    case Code::Sub: return is_value(b, 0.0) ? a : Scalar();
    case Code::Mul: return is_value(b, 1.0) ? a : is_value(a, 1.0) ? b : Scalar();
    case Code::Div: return is_value(b, 1.0) ? a : Scalar();
    default: return {};
  }
}

Scalar fold_logic(Code code, DType t, const Scalar& a, const Scalar& b) {
  if (a.identity() == b.identity()) return code == Code::Xor ? Scalar::constant_bits(t, 0) : a;
  const std::uint64_t ones = normal_bits(t, ~std::uint64_t{0});
  const Scalar& known = a.code() == Code::Constant ? a : b;
  const Scalar& other = a.code() == Code::Constant ? b : a;
  if (is_bits(known, 0)) return code == Code::And ? known : other;
  if (is_bits(known, ones) && code != Code::Xor) return code == Code::And ? other : known;
  return {};
}

Scalar fold(Code code, DType t, std::span<const Scalar> args) {
  switch (code) {
    case Code::Cast:
    case Code::Bitcast: return args[0].dtype() == t ? args[0] : Scalar();
    case Code::Select:
      if (args[0].code() == Code::Constant) return args[0].bits() != 0 ? args[1] : args[2];
      return args[1].identity() == args[2].identity() ? args[1] : Scalar();
    case Code::Not: return args[0].code() == Code::Not ? args[0].args()[0] : Scalar();
    case Code::And:
    case Code::Or:
    case Code::Xor: return fold_logic(code, t, args[0], args[1]);
    default: break;
  }
  if (args.size() != 2 || is_comparison(code)) return {};
  return is_integral(t) ? fold_integer(code, t, args[0], args[1]) : fold_float(code, args[0], args[1]);
}

Scalar fold_constants(Code code, DType dtype, std::span<const Scalar> args) {
  std::array<std::uint64_t, 3> bits{};
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].code() != Code::Constant) return {};
    bits[i] = args[i].bits();
  }
  return Scalar::constant_bits(dtype, evaluate_primitive(code, dtype, args.back().dtype(), {bits.data(), args.size()}));
}

}  // namespace

Scalar Scalar::constant(DType dtype, double value) {
  RESILIN_ASSERT(!is_complex(dtype), cat("constant: no Scalar has dtype ", dtype));
  if (is_integral(dtype)) {
    RESILIN_ASSERT(value == std::trunc(value) && std::fabs(value) < 0x1p63, cat("constant: ", value, " is no ", dtype));
    return constant_integer(dtype, static_cast<i64>(value));
  }
  const std::array<std::uint64_t, 1> bits = {std::bit_cast<std::uint64_t>(value)};
  return constant_bits(dtype, evaluate_primitive(Code::Cast, dtype, DType::F64, bits));
}

Scalar Scalar::constant_integer(DType dtype, i64 value) {
  RESILIN_ASSERT(!is_complex(dtype), cat("constant: no Scalar has dtype ", dtype));
  const std::array<std::uint64_t, 1> bits = {static_cast<std::uint64_t>(value)};
  return constant_bits(dtype, evaluate_primitive(Code::Cast, dtype, DType::I64, bits));
}

Scalar Scalar::constant_bits(DType dtype, std::uint64_t bits) {
  return Scalar(std::make_shared<Node>(Node{Code::Constant, dtype, 0, normal_bits(dtype, bits), Dim(), {}}));
}

Scalar Scalar::input(DType dtype, int index) { return Scalar(std::make_shared<Node>(Node{Code::Input, dtype, index, 0, Dim(), {}})); }

Scalar Scalar::load(DType dtype, int buffer, Dim offset) {
  RESILIN_ASSERT(!is_complex(dtype), cat("load: no Scalar has dtype ", dtype));
  return Scalar(std::make_shared<Node>(Node{Code::Load, dtype, buffer, 0, offset, {}}));
}

Scalar Scalar::integer(Dim value) {
  if (value.is_constant()) return constant_integer(DType::I64, value.value());
  return Scalar(std::make_shared<Node>(Node{Code::Integer, DType::I64, 0, 0, value, {}}));
}

Scalar Scalar::argument(DType dtype, int index) { return Scalar(std::make_shared<Node>(Node{Code::Argument, dtype, index, 0, Dim(), {}})); }

Scalar Scalar::local(DType dtype, int index) { return Scalar(std::make_shared<Node>(Node{Code::Local, dtype, index, 0, Dim(), {}})); }

Scalar Scalar::make(Code code, DType dtype, std::initializer_list<Scalar> list) {
  const std::span<const Scalar> args(list.begin(), list.size());
  RESILIN_ASSERT(operands_fit(code, dtype, args), describe(code, dtype, args));
  if (Scalar known = fold_constants(code, dtype, args); known.defined()) return known;
  if (Scalar known = fold(code, dtype, args); known.defined()) return known;
  return Scalar(std::make_shared<Node>(Node{code, dtype, 0, 0, Dim(), std::vector<Scalar>(list)}));
}

Code Scalar::code() const { return node_->code; }
DType Scalar::dtype() const { return node_->dtype; }
std::span<const Scalar> Scalar::args() const { return node_->args; }
std::uint64_t Scalar::bits() const { return node_->bits; }
int Scalar::index() const { return node_->index; }
Dim Scalar::offset() const { return node_->offset; }

std::string_view name(Code code) { return kNames[static_cast<std::size_t>(code)]; }

}  // namespace resilin::loop
