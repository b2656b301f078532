// src/resilin/loop/primitive.cpp -- the meaning of every primitive operation, on raw bits.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "resilin/loop/scalar.h"

namespace resilin::loop {
namespace {

using Bits = std::uint64_t;

template <class T>
T from_bits(Bits bits) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(bits);
  } else if constexpr (std::is_same_v<T, bool>) {
    return bits != 0;
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
Bits to_bits(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<Bits>(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? 1 : 0;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Bits>(static_cast<i64>(value));
  } else {
    return value;
  }
}

// A 16- or 8-bit float from and to its pattern.
template <class T>
float widen(Bits bits) {
  T small;
  small.bits = static_cast<decltype(small.bits)>(bits);
  return static_cast<float>(small);
}
template <class T>
Bits narrow(float value) {
  return T(value).bits;
}

/// The value of a float of any width; exact.
double float_value(DType dtype, Bits bits) {
  switch (dtype) {
    case DType::F16: return widen<F16>(bits);
    case DType::BF16: return widen<BF16>(bits);
    case DType::F32: return from_bits<float>(bits);
    case DType::F64: return from_bits<double>(bits);
    case DType::F8E4M3FN: return widen<F8E4M3FN>(bits);
    default: return widen<F8E5M2>(bits);
  }
}

Bits integer_bits(DType to, i64 value) {
  switch (to) {
    case DType::U8: return to_bits(static_cast<std::uint8_t>(value));
    case DType::I8: return to_bits(static_cast<std::int8_t>(value));
    case DType::I16: return to_bits(static_cast<std::int16_t>(value));
    case DType::I32: return to_bits(static_cast<std::int32_t>(value));
    default: return to_bits(value);
  }
}

Bits narrow_float_bits(DType to, float value) {
  switch (to) {
    case DType::F16: return narrow<F16>(value);
    case DType::BF16: return narrow<BF16>(value);
    case DType::F32: return to_bits(value);
    case DType::F8E4M3FN: return narrow<F8E4M3FN>(value);
    default: return narrow<F8E5M2>(value);
  }
}

Bits cast_float(DType to, double value) {
  if (to == DType::Bool) return value != 0 ? 1 : 0;
  if (to == DType::F64) return to_bits(value);
  if (is_floating(to)) return narrow_float_bits(to, static_cast<float>(value));
  if (to == DType::I64) {
    const bool fits = value >= -0x1p63 && value < 0x1p63;
    return to_bits(fits ? static_cast<i64>(value) : std::numeric_limits<i64>::lowest());
  }
  const bool fits = value > -0x1p31 - 1 && value < 0x1p31;
  return integer_bits(to, fits ? static_cast<std::int32_t>(value) : std::numeric_limits<std::int32_t>::lowest());
}

Bits cast_integer(DType to, i64 value) {
  if (to == DType::Bool) return value != 0 ? 1 : 0;
  if (to == DType::F64) return to_bits(static_cast<double>(value));
  if (is_floating(to)) return narrow_float_bits(to, static_cast<float>(value));
  return integer_bits(to, value);
}

Bits evaluate_cast(DType to, DType from, Bits bits) {
  if (to == from) return bits;
  if (is_floating(from)) return cast_float(to, float_value(from, bits));
  return cast_integer(to, static_cast<i64>(bits));
}

template <class T>
Bits compare(Code code, T a, T b) {
  switch (code) {
    case Code::Eq: return a == b;
    case Code::Ne: return a != b;
    case Code::Lt: return a < b;
    case Code::Le: return a <= b;
    case Code::Gt: return a > b;
    default: return a >= b;
  }
}

bool is_comparison(Code code) { return code >= Code::Eq && code <= Code::Ge; }

[[noreturn]] void refuse(Code code, DType from) {
  RESILIN_ASSERT(false, cat("no primitive ", name(code), " for ", from));
  throw InternalError("unreachable");
}

Bits evaluate_bool(Code code, bool a, bool b) {
  switch (code) {
    case Code::Not: return !a;
    case Code::And: return a && b;
    case Code::Or: return a || b;
    case Code::Xor: return a != b;
    default: refuse(code, DType::Bool);
  }
}

// IEEE 754-2019 minimum and maximum.
template <class T>
T float_min(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T float_max(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

template <class T>
T float_unary(Code code, T a) {
  switch (code) {
    case Code::Neg: return -a;
    case Code::Abs: return std::fabs(a);
    case Code::Sqrt: return std::sqrt(a);
    case Code::Floor: return std::floor(a);
    case Code::Ceil: return std::ceil(a);
    case Code::Trunc: return std::trunc(a);
    case Code::RoundEven: return std::nearbyint(a);
    default: refuse(code, kDTypeOf<T>);
  }
}

template <class T>
T evaluate_float(Code code, std::span<const Bits> args) {
  const T a = from_bits<T>(args[0]);
  if (args.size() == 1) return float_unary(code, a);
  const T b = from_bits<T>(args[1]);
  switch (code) {
    case Code::Add: return a + b;
    case Code::Sub: return a - b;
    case Code::Mul: return a * b;
    case Code::Div: return a / b;
    case Code::Min: return float_min(a, b);
    case Code::Max: return float_max(a, b);
    case Code::Fma: return std::fma(a, b, from_bits<T>(args[2]));
    default: refuse(code, kDTypeOf<T>);
  }
}

template <class T>
T divide(Code code, T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1 && a == std::numeric_limits<T>::lowest()) return code == Code::DivInt ? a : T{0};
  }
  return static_cast<T>(code == Code::DivInt ? a / b : a % b);
}

template <class T>
T integer_unary(Code code, T a) {
  const Bits wide = static_cast<Bits>(a);
  switch (code) {
    case Code::Neg: return static_cast<T>(0 - wide);
    case Code::Abs: return a < 0 ? static_cast<T>(0 - wide) : a;
    case Code::Not: return static_cast<T>(~wide);
    default: refuse(code, kDTypeOf<T>);
  }
}

template <class T>
T evaluate_integer(Code code, std::span<const Bits> args) {
  using U = std::make_unsigned_t<T>;
  const T a = from_bits<T>(args[0]);
  if (args.size() == 1) return integer_unary(code, a);
  const T b = from_bits<T>(args[1]);
  const Bits x = static_cast<Bits>(a), y = static_cast<Bits>(b);  // wrapping arithmetic is modulo 2^64, then cut
  const int count = static_cast<int>(y & (sizeof(T) * 8 - 1));
  switch (code) {
    case Code::Add: return static_cast<T>(x + y);
    case Code::Sub: return static_cast<T>(x - y);
    case Code::Mul: return static_cast<T>(x * y);
    case Code::DivInt:
    case Code::ModInt: return divide(code, a, b);
    case Code::Min: return a < b ? a : b;
    case Code::Max: return a > b ? a : b;
    case Code::And: return static_cast<T>(x & y);
    case Code::Or: return static_cast<T>(x | y);
    case Code::Xor: return static_cast<T>(x ^ y);
    case Code::ShiftLeft: return static_cast<T>(x << count);
    case Code::ShiftRight: return static_cast<T>(a >> count);
    case Code::ShiftRightLogical: return static_cast<T>(static_cast<U>(a) >> count);
    case Code::MulHigh32: return static_cast<T>((static_cast<std::uint32_t>(x) * Bits{static_cast<std::uint32_t>(y)}) >> 32);
    default: refuse(code, kDTypeOf<T>);
  }
}

template <class T>
Bits evaluate_as(Code code, std::span<const Bits> args) {
  if (is_comparison(code)) return compare<T>(code, from_bits<T>(args[0]), from_bits<T>(args[1]));
  if constexpr (std::is_floating_point_v<T>) {
    return to_bits(evaluate_float<T>(code, args));
  } else {
    return to_bits(evaluate_integer<T>(code, args));
  }
}

// Same size, other type: an i32 is kept sign-extended, an f32 zero-extended.
Bits evaluate_bitcast(DType to, Bits bits) {
  if (to == DType::I32) return to_bits(static_cast<std::int32_t>(bits));
  if (to == DType::F32) return static_cast<std::uint32_t>(bits);
  return bits;
}

}  // namespace

std::uint64_t evaluate_primitive(Code code, DType dtype, DType from, std::span<const std::uint64_t> args) {
  if (code == Code::Select) return args[0] != 0 ? args[1] : args[2];
  if (code == Code::Cast) return evaluate_cast(dtype, from, args[0]);
  if (code == Code::Bitcast) return evaluate_bitcast(dtype, args[0]);
  switch (from) {
    case DType::Bool:
      if (is_comparison(code)) return compare<bool>(code, args[0] != 0, args[1] != 0);
      return evaluate_bool(code, args[0] != 0, args.size() > 1 && args[1] != 0);
    case DType::U8: return evaluate_as<std::uint8_t>(code, args);
    case DType::I8: return evaluate_as<std::int8_t>(code, args);
    case DType::I16: return evaluate_as<std::int16_t>(code, args);
    case DType::I32: return evaluate_as<std::int32_t>(code, args);
    case DType::I64: return evaluate_as<i64>(code, args);
    case DType::F32: return evaluate_as<float>(code, args);
    case DType::F64: return evaluate_as<double>(code, args);
    default: refuse(code, from);
  }
}

}  // namespace resilin::loop
