// src/resilin/base/field_traits.h -- how a value inside a field compares, hashes, prints and parses.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/base/small_vector.h"
#include "resilin/base/text.h"

namespace resilin {

/// The part a field has in kernel keys: Structural fields are in every key, Value fields are run-time arguments.
enum class FieldKind { Auto, Structural, Value };

/// What a field of type T can do. A floor specialises it for a type of its own with these five members:
///
///   static constexpr FieldKind kKind;                             // Structural or Value, when the field does not say
///   static bool equal(const T&, const T&);
///   static std::uint64_t hash(std::uint64_t seed, const T&);      // agrees with equal
///   static void print(std::string& out, const T&);                // brackets and quotes balanced
///   static T parse(std::string_view text);                        // throws an Error on anything print does not write
template <class T>
struct FieldTraits;

template <class T>
constexpr FieldKind field_kind() {
  return FieldTraits<T>::kKind;
}

/// A struct with a static `fields()`.
template <class T>
concept Reflected = requires {
  T::fields();
};

/// An enum whose names ADL finds: `constexpr std::array<std::string_view, 2> enum_names(Reduction*) { return {"sum", "mean"}; }`,
/// the name of the enumerator with value i at position i.
template <class T>
concept NamedEnum = std::is_enum_v<T> && requires {
  enum_names(static_cast<T*>(nullptr));
};

template <NamedEnum E>
std::string_view enum_name(E value) {
  static constexpr auto names = enum_names(static_cast<E*>(nullptr));
  const std::size_t index = static_cast<std::size_t>(value);
  RESILIN_ASSERT(index < names.size(), cat("enumerator ", index, " has no name"));
  return names[index];
}

namespace detail {

struct FieldText {
  std::string_view name;
  std::string_view value;
};

/// Cuts "a=1, b=[2, 3]" at its outer commas; brackets and quotes nest. Refuses names that are not in `known` or come twice.
std::vector<FieldText> split_fields(std::string_view text, const std::vector<std::string_view>& known);
/// The items of "1, [2, 3], \"x, y\"", spaces around them removed; none for an empty text.
std::vector<std::string_view> split_items(std::string_view text);
/// What stands between the brackets, which must be the first and the last character.
std::string_view strip_brackets(std::string_view text, char open, char close);
/// Text in double quotes; quotes, backslashes and control characters are escaped.
void append_quoted(std::string& out, std::string_view text);
std::string parse_quoted(std::string_view text);
std::uint64_t parse_unsigned(std::string_view text);
/// The position of `text` in `names`; throws ArgumentError listing them.
std::size_t find_name(std::string_view text, const std::string_view* names, std::size_t count);
[[noreturn]] void fail_field(const FieldText& entry, const std::vector<std::string_view>& known, const char* reason);
[[noreturn]] void fail_integer_range(std::string_view text);

template <class T>
bool member_equal(const T& a, const T& b) {
  return FieldTraits<T>::equal(a, b);
}

template <class T>
T parse_field(const FieldText& entry, const std::vector<std::string_view>& known) {
  try {
    return FieldTraits<T>::parse(entry.value);
  } catch (const Error& error) {
    fail_field(entry, known, error.what());
  }
}

}  // namespace detail

/// Throws ArgumentError listing the names when `text` is none of them.
template <NamedEnum E>
E enum_parse(std::string_view text) {
  static constexpr auto names = enum_names(static_cast<E*>(nullptr));
  return static_cast<E>(detail::find_name(text, names.data(), names.size()));
}

template <>
struct FieldTraits<bool> {
  static constexpr FieldKind kKind = FieldKind::Structural;
  static bool equal(bool a, bool b) { return a == b; }
  static std::uint64_t hash(std::uint64_t seed, bool value) { return hash_mix(seed, value ? 1 : 0); }
  static void print(std::string& out, bool value) { append_text(out, value); }
  static bool parse(std::string_view text) {
    static constexpr std::string_view names[] = {"false", "true"};
    return detail::find_name(text, names, 2) == 1;
  }
};

template <std::integral T>
struct FieldTraits<T> {
  static constexpr FieldKind kKind = FieldKind::Structural;
  static bool equal(T a, T b) { return a == b; }
  static std::uint64_t hash(std::uint64_t seed, T value) { return hash_mix(seed, static_cast<std::uint64_t>(value)); }
  static void print(std::string& out, T value) {
    if constexpr (std::is_signed_v<T>) {
      append_text(out, static_cast<i64>(value));
    } else {
      append_text(out, static_cast<std::uint64_t>(value));
    }
  }
  static T parse(std::string_view text) {
    if constexpr (std::is_signed_v<T>) {
      const i64 value = parse_integer(text);
      if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) detail::fail_integer_range(text);
      return static_cast<T>(value);
    } else {
      const std::uint64_t value = detail::parse_unsigned(text);
      if (value > std::numeric_limits<T>::max()) detail::fail_integer_range(text);
      return static_cast<T>(value);
    }
  }
};

/// Floats are what their bits are: 0 and -0 differ; all NaN are one value.
template <std::floating_point T>
struct FieldTraits<T> {
  static constexpr FieldKind kKind = FieldKind::Value;
  static std::uint64_t bits(T value) {
    return std::bit_cast<std::uint64_t>(value == value ? static_cast<double>(value) : std::numeric_limits<double>::quiet_NaN());
  }
  static bool equal(T a, T b) { return bits(a) == bits(b); }
  static std::uint64_t hash(std::uint64_t seed, T value) { return hash_mix(seed, bits(value)); }
  static void print(std::string& out, T value) { out += hex_float(static_cast<double>(value)); }
  static T parse(std::string_view text) { return static_cast<T>(parse_float(text)); }
};

template <>
struct FieldTraits<std::string> {
  static constexpr FieldKind kKind = FieldKind::Structural;
  static bool equal(const std::string& a, const std::string& b) { return a == b; }
  static std::uint64_t hash(std::uint64_t seed, const std::string& value) { return hash_text(value, seed); }
  static void print(std::string& out, const std::string& value) { detail::append_quoted(out, value); }
  static std::string parse(std::string_view text) { return detail::parse_quoted(text); }
};

template <NamedEnum E>
struct FieldTraits<E> {
  static constexpr FieldKind kKind = FieldKind::Structural;
  static bool equal(E a, E b) { return a == b; }
  static std::uint64_t hash(std::uint64_t seed, E value) { return hash_mix(seed, static_cast<std::uint64_t>(value)); }
  static void print(std::string& out, E value) { out += enum_name(value); }
  static E parse(std::string_view text) { return enum_parse<E>(text); }
};

namespace detail {

/// std::vector and SmallVector: "[1, 2]".
template <class Vector>
struct VectorTraits {
  using Item = typename Vector::value_type;
  static constexpr FieldKind kKind = FieldTraits<Item>::kKind;
  static bool equal(const Vector& a, const Vector& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!FieldTraits<Item>::equal(a[i], b[i])) return false;
    }
    return true;
  }
  static std::uint64_t hash(std::uint64_t seed, const Vector& value) {
    seed = hash_mix(seed, value.size());
    for (std::size_t i = 0; i < value.size(); ++i) seed = FieldTraits<Item>::hash(seed, value[i]);
    return seed;
  }
  static void print(std::string& out, const Vector& value) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i != 0) out += ", ";
      FieldTraits<Item>::print(out, value[i]);
    }
    out += ']';
  }
  static Vector parse(std::string_view text) {
    Vector result;
    for (const std::string_view item : split_items(strip_brackets(text, '[', ']'))) result.push_back(FieldTraits<Item>::parse(item));
    return result;
  }
};

}  // namespace detail

template <class T>
struct FieldTraits<std::vector<T>> : detail::VectorTraits<std::vector<T>> {};
template <class T, std::size_t N>
struct FieldTraits<SmallVector<T, N>> : detail::VectorTraits<SmallVector<T, N>> {};

/// The value's own text, or "none".
template <class T>
struct FieldTraits<std::optional<T>> {
  static constexpr FieldKind kKind = FieldTraits<T>::kKind;
  static bool equal(const std::optional<T>& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a || FieldTraits<T>::equal(*a, *b));
  }
  static std::uint64_t hash(std::uint64_t seed, const std::optional<T>& value) {
    seed = hash_mix(seed, value.has_value() ? 1 : 0);
    return value ? FieldTraits<T>::hash(seed, *value) : seed;
  }
  static void print(std::string& out, const std::optional<T>& value) {
    if constexpr (NamedEnum<T>) {
      static_assert(!has_none(), "an optional enum with an enumerator named none has two values with one text");
    }
    if (!value) {
      out += "none";
    } else {
      FieldTraits<T>::print(out, *value);
    }
  }
  static std::optional<T> parse(std::string_view text) {
    if (text == "none") return std::nullopt;
    return FieldTraits<T>::parse(text);
  }

 private:
  static constexpr bool has_none() {
    for (const std::string_view name : enum_names(static_cast<T*>(nullptr))) {
      if (name == "none") return true;
    }
    return false;
  }
};

}  // namespace resilin
