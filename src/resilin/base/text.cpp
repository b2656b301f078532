// src/resilin/base/text.cpp -- text of numbers and exact number parsing.
#include "resilin/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <vector>

#include "resilin/base/error.h"

namespace resilin {
namespace {

template <class T, class... Format>
void append_number(std::string& out, T value, Format... format) {
  char buffer[64];
  const std::to_chars_result result = std::to_chars(buffer, buffer + sizeof buffer, value, format...);
  out.append(buffer, result.ptr);
}

/// "inf", "-inf" and "nan" are not hex digits; NaN has one spelling whatever its sign and payload.
bool append_special(std::string& out, double value) {
  if (std::isfinite(value)) return false;
  out += std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  return true;
}

/// Levenshtein's distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

void append_text(std::string& out, std::string_view value) { out += value; }
void append_text(std::string& out, const char* value) { out += value; }
void append_text(std::string& out, char value) { out += value; }
void append_text(std::string& out, bool value) { out += value ? "true" : "false"; }
void append_text(std::string& out, i64 value) { append_number(out, value); }
void append_text(std::string& out, std::uint64_t value) { append_number(out, value); }
void append_text(std::string& out, double value) {
  if (!append_special(out, value)) append_number(out, value);
}

std::string hex_float(double value) {
  std::string out;
  if (append_special(out, value)) return out;
  if (std::signbit(value)) out += '-';
  out += "0x";
  append_number(out, std::fabs(value), std::chars_format::hex);
  return out;
}

double parse_float(std::string_view text) {
  const auto refuse = [&] {
    return ArgumentError(cat("parse_float: not a number: \"", text, "\"; a decimal or hex float, inf or nan is needed"));
  };
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (negative) rest.remove_prefix(1);
  const double sign = negative ? -1.0 : 1.0;
  if (rest == "inf") return sign * std::numeric_limits<double>::infinity();
  if (rest == "nan") return std::numeric_limits<double>::quiet_NaN();
  const bool hex = rest.substr(0, 2) == "0x";
  if (hex) rest.remove_prefix(2);
  // from_chars would take a second sign and its own spellings of infinity.
  if (rest.empty() || rest.front() == '-' || rest.front() == 'i' || rest.front() == 'n' || rest.front() == 'I' || rest.front() == 'N')
    throw refuse();
  double value = 0;
  const char* end = rest.data() + rest.size();
  const std::from_chars_result result = std::from_chars(rest.data(), end, value, hex ? std::chars_format::hex : std::chars_format::general);
  if (result.ec != std::errc() || result.ptr != end) throw refuse();
  return sign * value;
}

i64 parse_integer(std::string_view text) {
  i64 value = 0;
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) {
    throw ArgumentError(cat("parse_integer: out of range: \"", text, "\"; it must fit 64 bits"));
  }
  if (result.ec != std::errc() || result.ptr != end) {
    throw ArgumentError(cat("parse_integer: not an integer: \"", text, "\"; decimal digits with an optional minus are needed"));
  }
  return value;
}

std::string_view nearest_name(std::string_view name, const std::string_view* names, std::size_t count) {
  std::string_view best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t distance = edit_distance(name, names[i]);
    if (distance < best_distance) {
      best_distance = distance;
      best = names[i];
    }
  }
  return best;
}

}  // namespace resilin
