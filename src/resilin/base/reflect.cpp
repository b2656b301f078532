// src/resilin/base/reflect.cpp -- the text side of fields: cutting, quoting and the errors.
#include "resilin/base/reflect.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace resilin::detail {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

/// The position of the first comma outside brackets and quotes, or the size of the text.
std::size_t find_outer_comma(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{' || c == '(' || c == '<') {
      ++depth;
    } else if (c == ']' || c == '}' || c == ')' || c == '>') {
      --depth;
    } else if (c == ',' && depth == 0) {
      return i;
    }
  }
  return text.size();
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string list_names(const std::string_view* names, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) out += ", ";
    out += names[i];
  }
  return out.empty() ? "(none)" : out;
}

std::string list_names(const std::vector<std::string_view>& names) { return list_names(names.data(), names.size()); }

}  // namespace

std::vector<std::string_view> split_items(std::string_view text) {
  std::vector<std::string_view> items;
  text = trim(text);
  if (text.empty()) return items;
  while (true) {
    const std::size_t end = find_outer_comma(text);
    items.push_back(trim(text.substr(0, end)));
    if (end == text.size()) return items;
    text.remove_prefix(end + 1);
  }
}

std::vector<FieldText> split_fields(std::string_view text, const std::vector<std::string_view>& known) {
  std::vector<FieldText> entries;
  for (const std::string_view item : split_items(text)) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw ArgumentError(cat("parse_fields: no value: \"", item, "\"; name=value is needed; the fields are ", list_names(known)));
    }
    const FieldText entry{trim(item.substr(0, equals)), trim(item.substr(equals + 1))};
    if (std::find(known.begin(), known.end(), entry.name) == known.end()) {
      throw ArgumentError(cat("parse_fields: unknown field: \"", entry.name, "\"; the fields are ", list_names(known)));
    }
    for (const FieldText& other : entries) {
      if (other.name == entry.name) fail_field(entry, known, "it is given twice");
    }
    entries.push_back(entry);
  }
  return entries;
}

std::string_view strip_brackets(std::string_view text, char open, char close) {
  if (text.size() < 2 || text.front() != open || text.back() != close) {
    throw ArgumentError(cat("parse_fields: brackets are missing: ", text, "; ", open, "...", close, " is needed"));
  }
  return text.substr(1, text.size() - 2);
}

void append_quoted(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string parse_quoted(std::string_view text) {
  const auto refuse = [&](const char* need) { return ArgumentError(cat("parse_fields: not a quoted text: ", text, "; ", need)); };
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') throw refuse("double quotes are needed");
  const std::string_view body = text.substr(1, text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '"') throw refuse("a quote inside needs a backslash");
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    if (++i == body.size()) throw refuse("the last backslash escapes nothing");
    if (body[i] == '"' || body[i] == '\\') {
      out += body[i];
    } else if (body[i] == 'n') {
      out += '\n';
    } else {
      const bool hex = body[i] == 'x' && i + 2 < body.size() && hex_digit(body[i + 1]) >= 0 && hex_digit(body[i + 2]) >= 0;
      if (!hex) throw refuse("the escapes are \\\", \\\\, \\n and \\xhh");
      out += static_cast<char>(hex_digit(body[i + 1]) * 16 + hex_digit(body[i + 2]));
      i += 2;
    }
  }
  return out;
}

std::uint64_t parse_unsigned(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) fail_integer_range(text);
  if (result.ec != std::errc() || result.ptr != end) {
    throw ArgumentError(cat("parse_fields: not an unsigned integer: \"", text, "\"; decimal digits are needed"));
  }
  return value;
}

std::size_t find_name(std::string_view text, const std::string_view* names, std::size_t count) {
  const std::string_view* found = std::find(names, names + count, text);
  if (found == names + count)
    throw ArgumentError(cat("parse_fields: unknown name: \"", text, "\"; the names are ", list_names(names, count)));
  return static_cast<std::size_t>(found - names);
}

void fail_field(const FieldText& entry, const std::vector<std::string_view>& known, const char* reason) {
  throw ArgumentError(
      cat("parse_fields: field ", entry.name, " is malformed: \"", entry.value, "\" (", reason, "); the fields are ", list_names(known)));
}

void fail_integer_range(std::string_view text) {
  throw ArgumentError(cat("parse_fields: out of range: \"", text, "\"; it must fit the field's integer type"));
}

}  // namespace resilin::detail
