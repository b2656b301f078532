// src/resilin/sym/number.cpp -- values and text of scalar operands.
#include "resilin/sym/number.h"

#include <algorithm>
#include <limits>

namespace resilin {
namespace {

[[noreturn]] void refuse_argument(const Number& number) {
  throw DataDependentError(cat("number: the value is known only at run time: ", number, "; a constant is needed here"));
}

bool is_integer_text(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "v2:f64"
Number parse_argument(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view digits = text.substr(1, colon == std::string_view::npos ? colon : colon - 1);
  const bool readable = colon != std::string_view::npos && is_integer_text(digits) && !digits.starts_with('-');
  if (!readable) throw ArgumentError(cat("parse_number: not an argument: \"", text, "\"; v<index>:<kind> is needed, for example v2:f64"));
  const i64 index = parse_integer(digits);
  if (index > std::numeric_limits<int>::max())
    throw ArgumentError(cat("parse_number: argument index out of range: ", index, "; it must fit 31 bits"));
  return Number::argument(enum_parse<NumberKind>(text.substr(colon + 1)), static_cast<int>(index));
}

}  // namespace

double Number::as_double() const {
  if (is_argument()) refuse_argument(*this);
  return kind_ == NumberKind::Float ? std::bit_cast<double>(bits_) : static_cast<double>(bits_);
}

i64 Number::as_integer() const {
  if (is_argument()) refuse_argument(*this);
  if (kind_ != NumberKind::Float) return bits_;
  const double value = std::bit_cast<double>(bits_);
  if (!(value >= -0x1p63 && value < 0x1p63))
    throw ArgumentError(cat("number: not an integer of 64 bits: ", value, "; it must lie in [-2^63, 2^63)"));
  return static_cast<i64>(value);
}

void append_text(std::string& out, const Number& number) {
  if (number.is_argument()) {
    out += cat('v', number.argument_index(), ':', enum_name(number.kind()));
  } else if (number.kind() == NumberKind::Bool) {
    append_text(out, number.bits() != 0);
  } else if (number.kind() == NumberKind::Integer) {
    append_text(out, number.bits());
  } else {
    out += hex_float(number.as_double());
  }
}

Number parse_number(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  if (text.starts_with('v')) return parse_argument(text);
  if (is_integer_text(text)) return parse_integer(text);
  return parse_float(text);
}

}  // namespace resilin
