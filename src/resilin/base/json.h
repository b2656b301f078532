// src/resilin/base/json.h -- Internal: JSON values, a parser that bears hostile input, and a writer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "resilin/base/text.h"

namespace resilin {

/// A JSON value. Integers are exact i64; whatever is written with a fraction or an exponent is a double.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order of the text; keys are unique

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(i64 value) : value_(value) {}
  Json(int value) : value_(static_cast<i64>(value)) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_flag() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<i64>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  /// The value as its kind; ArgumentError naming both kinds when it is another.
  bool flag() const;
  i64 integer() const;
  double number() const;  // of an integer too
  const std::string& text() const;
  const Array& array() const;
  const Object& object() const;

  /// The member of an object; null pointer when it is not there.
  const Json* find(std::string_view key) const;
  /// The member of an object; ArgumentError naming the key when it is not there.
  const Json& at(std::string_view key) const;

  friend bool operator==(const Json& a, const Json& b) = default;

 private:
  [[noreturn]] void fail_kind(const char* asked) const;

  std::variant<std::monostate, bool, i64, double, std::string, Array, Object> value_;
};

/// Reads one JSON text (RFC 8259). Throws ArgumentError with the byte offset on anything else: text after the value, more than 64
/// levels, repeated keys, integers beyond 64 bits, numbers beyond a double, lone surrogates, text that is not UTF-8, more than
/// `limit_bytes`.
Json parse_json(std::string_view text, std::size_t limit_bytes = 100'000'000);

/// Writes without spaces; `parse_json` reads the same value back. ArgumentError on infinity and NaN.
std::string write_json(const Json& value);

}  // namespace resilin
