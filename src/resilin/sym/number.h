// src/resilin/sym/number.h -- Number: a scalar operand, known (bool, integer, float) or a run-time argument v<k> of a graph.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "resilin/base/error.h"
#include "resilin/base/reflect.h"
#include "resilin/base/text.h"

namespace resilin {

enum class NumberKind : std::uint8_t { Bool, Integer, Float };
/// How text names a kind: the dtype in which it is passed.
constexpr std::array<std::string_view, 3> enum_names(const NumberKind*) { return {"bool", "i64", "f64"}; }

/// A C++ scalar given to an op or kept in an attribute. Its value never keys a kernel: eager turns constants into arguments v0, v1 ...
class RESILIN_API Number {
 public:
  constexpr Number() = default;  // the float 0
  template <std::same_as<bool> T>
  constexpr Number(T value) : bits_(value ? 1 : 0), kind_(NumberKind::Bool) {}  // NOLINT
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  constexpr Number(T value) : bits_(static_cast<i64>(value)), kind_(NumberKind::Integer) {}  // NOLINT
  template <std::floating_point T>
  constexpr Number(T value)  // NOLINT: all NaN are one number
      : bits_(std::bit_cast<i64>(value == value ? static_cast<double>(value) : std::numeric_limits<double>::quiet_NaN())),
        kind_(NumberKind::Float) {}
  static constexpr Number argument(NumberKind kind, int index) {
    Number n;
    n.kind_ = kind;
    n.argument_ = index;
    return n;
  }

  constexpr NumberKind kind() const { return kind_; }
  constexpr bool is_argument() const { return argument_ >= 0; }
  constexpr int argument_index() const { return argument_; }
  /// The value of a constant as double or as i64 (floats truncate; ArgumentError beyond 64 bits); DataDependentError for an argument.
  double as_double() const;
  i64 as_integer() const;
  /// Raw bits: a double's pattern, an i64, or 0/1.
  constexpr i64 bits() const { return bits_; }
  friend constexpr bool operator==(const Number&, const Number&) = default;

 private:
  i64 bits_ = 0;
  NumberKind kind_ = NumberKind::Float;
  int argument_ = -1;
};

/// "true", "3", "0x1.8p+0" or "v2:f64" (v2:i64, v2:bool); parse_number reads it back, decimal floats too.
RESILIN_API void append_text(std::string& out, const Number& number);
RESILIN_API Number parse_number(std::string_view text);

template <>
struct FieldTraits<Number> {
  static constexpr FieldKind kKind = FieldKind::Value;
  static bool equal(const Number& a, const Number& b) { return a == b; }
  static std::uint64_t hash(std::uint64_t seed, const Number& a) {
    return hash_mix(hash_mix(seed, static_cast<std::uint64_t>(a.bits())),
                    (static_cast<std::uint64_t>(a.argument_index() + 1) << 2) | static_cast<std::uint64_t>(a.kind()));
  }
  static void print(std::string& out, const Number& a) { append_text(out, a); }
  static Number parse(std::string_view text) { return parse_number(text); }
};

}  // namespace resilin
