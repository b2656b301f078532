// src/resilin/base/text.h -- Internal: cat(), which joins values into one string, and exact number text.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "resilin/base/api.h"

namespace resilin {

using i64 = std::int64_t;

/// Appends the text of a value to `out`. Overload for a type of your own beside that type.
RESILIN_API void append_text(std::string& out, std::string_view value);
RESILIN_API void append_text(std::string& out, const char* value);
RESILIN_API void append_text(std::string& out, char value);
RESILIN_API void append_text(std::string& out, bool value);
RESILIN_API void append_text(std::string& out, i64 value);
RESILIN_API void append_text(std::string& out, std::uint64_t value);
RESILIN_API void append_text(std::string& out, double value);  // shortest text that reads back to the same value

/// Integers without an overload of their own.
template <class T>
concept OtherInteger =
    std::integral<T> && !std::same_as<T, char> && !std::same_as<T, bool> && !std::same_as<T, i64> && !std::same_as<T, std::uint64_t>;

template <OtherInteger T>
void append_text(std::string& out, T value) {
  if constexpr (std::is_signed_v<T>) {
    append_text(out, static_cast<i64>(value));
  } else {
    append_text(out, static_cast<std::uint64_t>(value));
  }
}
inline void append_text(std::string& out, float value) { append_text(out, static_cast<double>(value)); }

template <class Range>
concept ItemRange = requires(const Range& range) {
  range.begin() != range.end();
}
&&!std::convertible_to<Range, std::string_view>;

/// "[a, b, c]" for any range of printable values.
template <ItemRange Range>
void append_text(std::string& out, const Range& range) {
  out += '[';
  bool first = true;
  for (const auto& item : range) {
    if (!first) out += ", ";
    first = false;
    append_text(out, item);
  }
  out += ']';
}

/// True for ranges that another function called `cat` takes: tensors are joined, not printed.
template <class T>
inline constexpr bool kJoinedAsTensors = false;

/// One string of all arguments, in order.
template <class... Args>
  requires(!kJoinedAsTensors<Args> && ...)
std::string cat(const Args&... args) {
  std::string out;
  (append_text(out, args), ...);
  return out;
}

/// A double as C hex float ("0x1.8p+1", "inf", "-inf", "nan"), which reads back bit for bit.
std::string hex_float(double value);
/// Reads what `hex_float` or decimal notation wrote; throws ArgumentError on anything else.
double parse_float(std::string_view text);
/// Reads a decimal integer; throws ArgumentError on anything else or on overflow.
i64 parse_integer(std::string_view text);
/// The one of `names` with the smallest edit distance to `name`; empty when there are none.
std::string_view nearest_name(std::string_view name, const std::string_view* names, std::size_t count);

}  // namespace resilin
