// src/resilin/sym/dim.h -- Dim: a size that is either a known integer or an integer expression over symbols.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resilin/base/error.h"
#include "resilin/base/field_traits.h"
#include "resilin/base/hash.h"
#include "resilin/base/small_vector.h"
#include "resilin/base/text.h"

namespace resilin {

/// An unknown integer, named by a space and a number: s0 (a graph's size or stride or integer argument), i1 (a loop variable),
/// t2 (a value bound inside a loop nest).
struct Symbol {
  char space = 's';
  int index = 0;
  friend bool operator==(const Symbol&, const Symbol&) = default;
};

/// An integer of 8 bytes: a constant (62 bits and sign, never allocates) or a pointer to an interned, immortal expression.
///
/// Expressions are kept in one canonical form, a sum of a constant and of coefficients times sorted products of atoms, where an atom is a
/// symbol, floordiv, mod, min or max of expressions. So two Dims are equal for all values of their symbols whenever their polynomials over
/// atoms are, and `==` is one comparison of words. Arithmetic throws ArgumentError when a constant or coefficient leaves 62 bits and when
/// an expression grows beyond 4096 operations or 96 levels.
class RESILIN_API Dim {
 public:
  static constexpr i64 kMin = -(i64{1} << 62);
  static constexpr i64 kMax = (i64{1} << 62) - 1;

  constexpr Dim() = default;
  constexpr Dim(i64 value) : word_(word_of(value)) {}  // NOLINT: integers are Dims; throws ArgumentError beyond 62 bits
  template <std::integral T>
  constexpr Dim(T value) : Dim(signed_of(value)) {}  // NOLINT
  static Dim symbol(char space, int index);
  static Dim symbol(Symbol s) { return symbol(s.space, s.index); }

  constexpr bool is_constant() const { return (word_ & 1) != 0; }
  /// The number of a constant; throws DataDependentError naming the expression otherwise.
  i64 value() const { return is_constant() ? static_cast<i64>(word_) >> 1 : refuse_value(); }
  explicit operator i64() const { return value(); }
  bool is_symbol() const;
  /// Requires is_symbol().
  Symbol as_symbol() const;

  friend bool operator==(Dim a, Dim b) { return a.word_ == b.word_; }
  friend bool operator==(Dim a, i64 b) { return a.is_constant() && a.value() == b; }
  friend Dim operator+(Dim a, Dim b);
  friend Dim operator-(Dim a, Dim b);
  friend Dim operator-(Dim a);
  friend Dim operator*(Dim a, Dim b);
  std::uint64_t hash() const;
  std::uintptr_t word() const { return word_; }

 private:
  friend struct DimAccess;
  static constexpr std::uintptr_t word_of(i64 value) {
    if (value < kMin || value > kMax) refuse_constant(value);
    return static_cast<std::uintptr_t>(value) << 1 | 1;
  }
  template <std::integral T>
  static constexpr i64 signed_of(T value) {
    if constexpr (std::unsigned_integral<T> && sizeof(T) == sizeof(i64)) {
      return value > static_cast<T>(kMax) ? kMax + 1 : static_cast<i64>(value);  // kMax + 1 is refused by word_of
    } else {
      return static_cast<i64>(value);
    }
  }
  static Dim from_word(i64 word) {
    Dim result;
    result.word_ = static_cast<std::uintptr_t>(word);
    return result;
  }
  i64 signed_word() const { return static_cast<i64>(word_); }
  [[noreturn]] static void refuse_constant(i64 value);
  i64 refuse_value() const;
  /// a + factor * b and a * b for any operands; throw on overflow.
  static Dim add(Dim a, Dim b, i64 factor);
  static Dim multiply(Dim a, Dim b);

  std::uintptr_t word_ = 1;  // the constant 0; the constant v is 2v + 1
};

// With words 2v + 1, a 64-bit overflow of the word is exactly a result beyond 62 bits.
inline Dim operator+(Dim a, Dim b) {
  i64 word = 0;
  if (a.is_constant() && b.is_constant() && !__builtin_add_overflow(a.signed_word(), b.signed_word() - 1, &word))
    return Dim::from_word(word);
  return Dim::add(a, b, 1);
}
inline Dim operator-(Dim a, Dim b) {
  i64 word = 0;
  if (a.is_constant() && b.is_constant() && !__builtin_sub_overflow(a.signed_word(), b.signed_word() - 1, &word))
    return Dim::from_word(word);
  return Dim::add(a, b, -1);
}
inline Dim operator-(Dim a) { return Dim() - a; }
inline Dim operator*(Dim a, Dim b) {
  i64 word = 0;
  if (a.is_constant() && b.is_constant() && !__builtin_mul_overflow(a.signed_word() - 1, b.value(), &word)) return Dim::from_word(word + 1);
  return Dim::multiply(a, b);
}
inline Dim& operator+=(Dim& a, Dim b) { return a = a + b; }
inline Dim& operator-=(Dim& a, Dim b) { return a = a - b; }
inline Dim& operator*=(Dim& a, Dim b) { return a = a * b; }
/// Rounds towards minus infinity; throws ArgumentError for a constant divisor 0. A divisor that is 0 only at run time has no quotient and
/// no remainder: `evaluate` throws, and where a value is needed all the same (DimProgram) both are 0.
RESILIN_API Dim floordiv(Dim a, Dim b);
/// a - floordiv(a, b) * b: has the sign of b.
RESILIN_API Dim mod(Dim a, Dim b);
RESILIN_API Dim ceil_div(Dim a, Dim b);
RESILIN_API Dim min(Dim a, Dim b);
RESILIN_API Dim max(Dim a, Dim b);

using Shape = SmallVector<Dim, 5>;

/// Product of all dims; 1 for none.
RESILIN_API Dim product(std::span<const Dim> dims);

/// False only for constants that differ: sizes that are written differently may be the same.
inline bool may_be_equal(Dim a, Dim b) { return a == b || !a.is_constant() || !b.is_constant(); }
/// As many sizes, and each pair of them.
RESILIN_API bool may_be_equal(std::span<const Dim> a, std::span<const Dim> b);

/// e = coefficient * symbol + rest, where neither part contains the symbol; nothing when e is not affine in it.
struct Affine {
  Dim coefficient;
  Dim rest;
};
RESILIN_API std::optional<Affine> affine_in(Dim e, Symbol symbol);

RESILIN_API bool contains(Dim e, Symbol symbol);
/// Appends every symbol of e that `out` lacks, once each, in order of first appearance.
RESILIN_API void collect_symbols(Dim e, std::vector<Symbol>& out);
/// Replaces symbols; `with` gives back the symbol's own Dim to keep it.
RESILIN_API Dim substitute(Dim e, const std::function<Dim(Symbol)>& with);
/// Value for concrete symbols; overflow and division by zero throw ArgumentError.
RESILIN_API i64 evaluate(Dim e, const std::function<i64(Symbol)>& of);

/// Text such as "2*s0*s1 + floordiv(s2, 4) - 1"; `parse_dim` reads it back to the same Dim, else throws ArgumentError with the position.
RESILIN_API void append_text(std::string& out, Dim e);
RESILIN_API Dim parse_dim(std::string_view text);

/// How a consumer that generates code walks an expression: the parts of its canonical form.
enum class DimKind : std::uint8_t { Constant, Symbol, Sum, Product, FloorDiv, Mod, Min, Max };
struct DimView {
  DimKind kind;
  i64 constant = 0;                // Constant: the value. Sum: its constant part
  std::span<const i64> factors;    // Sum: the coefficient of each term
  std::span<const Dim> arguments;  // Sum: terms (Products or atoms). Product: atoms, repeated for powers. Others: the two operands
};
/// The outermost operation of e. A coefficient other than 1 makes a Sum of one term.
RESILIN_API DimView view(Dim e);

template <>
struct FieldTraits<Dim> {
  static constexpr FieldKind kKind = FieldKind::Value;
  static bool equal(Dim a, Dim b) { return a == b; }
  static std::uint64_t hash(std::uint64_t seed, Dim a) { return hash_mix(seed, a.hash()); }
  static void print(std::string& out, Dim a) { append_text(out, a); }
  static Dim parse(std::string_view text) { return parse_dim(text); }
};

}  // namespace resilin
