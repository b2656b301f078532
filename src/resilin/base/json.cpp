// src/resilin/base/json.cpp -- JSON values, a parser that bears hostile input, and a writer.
#include "resilin/base/json.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <unordered_set>

#include "resilin/base/error.h"

namespace resilin {
namespace {

constexpr int kMostLevels = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& out, std::uint32_t code) {
  const auto add = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

/// The length of the UTF-8 sequence at the front, or 0 when it is none (overlong forms and surrogates are none).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool shortest = first != 0xe0 || byte(1) >= 0xa0;
    const bool no_surrogate = first != 0xed || byte(1) <= 0x9f;
    return tail(1) && tail(2) && shortest && no_surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool shortest = first != 0xf0 || byte(1) >= 0x90;
    const bool in_range = first != 0xf4 || byte(1) <= 0x8f;
    return tail(1) && tail(2) && tail(3) && shortest && in_range ? 4 : 0;
  }
  return 0;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json parse() {
    Json value = parse_value(0);
    skip_space();
    if (at_ != text_.size()) fail("text after the value");
    return value;
  }

 private:
  [[noreturn]] void fail(const char* what) const { throw ArgumentError(cat("parse_json: ", what, " at byte ", at_, "; JSON is needed")); }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }
  void take_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) fail("an unknown word");
    at_ += word.size();
  }

  Json parse_value(int level) {
    if (level > kMostLevels) fail("more than 64 levels");
    skip_space();
    switch (peek()) {
      case '{': return parse_object(level);
      case '[': return parse_array(level);
      case '"': return Json(parse_string());
      case 't': take_word("true"); return Json(true);
      case 'f': take_word("false"); return Json(false);
      case 'n': take_word("null"); return Json();
      default: return parse_number();
    }
  }

  Json parse_object(int level) {
    Json::Object members;
    std::unordered_set<std::string> keys;
    take('{');
    skip_space();
    if (take('}')) return Json(std::move(members));
    while (true) {
      skip_space();
      if (peek() != '"') fail("no key");
      std::string key = parse_string();
      if (!keys.insert(key).second) fail("a repeated key");
      skip_space();
      if (!take(':')) fail("no colon");
      Json value = parse_value(level + 1);
      members.emplace_back(std::move(key), std::move(value));
      skip_space();
      if (take('}')) return Json(std::move(members));
      if (!take(',')) fail("no comma");
    }
  }

  Json parse_array(int level) {
    Json::Array items;
    take('[');
    skip_space();
    if (take(']')) return Json(std::move(items));
    while (true) {
      items.push_back(parse_value(level + 1));
      skip_space();
      if (take(']')) return Json(std::move(items));
      if (!take(',')) fail("no comma");
    }
  }

  Json parse_number() {
    const std::size_t start = at_;
    take('-');
    if (!is_digit(peek())) fail("no value");
    if (take('0')) {
      if (is_digit(peek())) fail("a number with a leading zero");
    }
    while (is_digit(peek())) ++at_;
    bool integer = true;
    if (take('.')) {
      integer = false;
      if (!is_digit(peek())) fail("a number without digits after the point");
      while (is_digit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      integer = false;
      ++at_;
      if (!take('+')) take('-');
      if (!is_digit(peek())) fail("a number without digits in the exponent");
      while (is_digit(peek())) ++at_;
    }
    return integer ? convert<i64>(start, "an integer beyond 64 bits") : convert<double>(start, "a number beyond a double");
  }

  template <class T>
  Json convert(std::size_t start, const char* range_error) {
    T value{};
    const std::from_chars_result result = std::from_chars(text_.data() + start, text_.data() + at_, value);
    if (result.ec != std::errc()) {
      at_ = start;
      fail(range_error);
    }
    return Json(value);
  }

  std::string parse_string() {
    take('"');
    std::string out;
    while (true) {
      if (at_ >= text_.size()) fail("an unfinished text");
      const char c = text_[at_];
      if (c == '"') break;
      if (c == '\\') {
        ++at_;
        parse_escape(out);
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x20) fail("a control character");
      const std::size_t length = utf8_length(text_.substr(at_));
      if (length == 0) fail("text that is not UTF-8");
      out.append(text_, at_, length);
      at_ += length;
    }
    ++at_;
    return out;
  }

  void parse_escape(std::string& out) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    if (take('u')) return append_utf8(out, parse_code_point());
    const std::size_t which = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
    if (which == std::string_view::npos) fail("an unknown escape");
    out += kValues[which];
    ++at_;
  }

  std::uint32_t parse_code_point() {
    const std::uint32_t first = parse_hex4();
    if (first < 0xd800 || first > 0xdfff) return first;
    if (first > 0xdbff || !take('\\') || !take('u')) fail("a lone surrogate");
    const std::uint32_t second = parse_hex4();
    if (second < 0xdc00 || second > 0xdfff) fail("a lone surrogate");
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }

  std::uint32_t parse_hex4() {
    std::uint32_t code = 0;
    if (text_.size() - at_ < 4) fail("an unfinished escape");
    const char* start = text_.data() + at_;
    const std::from_chars_result result = std::from_chars(start, start + 4, code, 16);
    if (result.ec != std::errc() || result.ptr != start + 4) fail("an escape without four hex digits");
    at_ += 4;
    return code;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void write_string(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void write_double(std::string& out, double value) {
  if (!std::isfinite(value)) throw ArgumentError(cat("write_json: JSON has no ", value, "; a finite number is needed"));
  const std::string text = cat(value);
  out += text;
  // Without a point or an exponent it would read back as an integer.
  if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

void write_value(std::string& out, const Json& value) {
  if (value.is_null()) {
    out += "null";
  } else if (value.is_flag()) {
    append_text(out, value.flag());
  } else if (value.is_integer()) {
    append_text(out, value.integer());
  } else if (value.is_number()) {
    write_double(out, value.number());
  } else if (value.is_text()) {
    write_string(out, value.text());
  } else if (value.is_array()) {
    out += '[';
    const char* separator = "";
    for (const Json& item : value.array()) {
      out += separator;
      write_value(out, item);
      separator = ",";
    }
    out += ']';
  } else {
    out += '{';
    const char* separator = "";
    for (const std::pair<std::string, Json>& member : value.object()) {
      out += separator;
      write_string(out, member.first);
      out += ':';
      write_value(out, member.second);
      separator = ",";
    }
    out += '}';
  }
}

}  // namespace

void Json::fail_kind(const char* asked) const {
  static constexpr const char* kNames[] = {"null", "a flag", "an integer", "a number", "a text", "an array", "an object"};
  throw ArgumentError(cat("json: the value is ", kNames[value_.index()], "; ", asked, " is needed"));
}

bool Json::flag() const {
  if (const bool* value = std::get_if<bool>(&value_)) return *value;
  fail_kind("a flag");
}

i64 Json::integer() const {
  if (const i64* value = std::get_if<i64>(&value_)) return *value;
  fail_kind("an integer");
}

double Json::number() const {
  if (const double* value = std::get_if<double>(&value_)) return *value;
  if (const i64* value = std::get_if<i64>(&value_)) return static_cast<double>(*value);
  fail_kind("a number");
}

const std::string& Json::text() const {
  if (const std::string* value = std::get_if<std::string>(&value_)) return *value;
  fail_kind("a text");
}

const Json::Array& Json::array() const {
  if (const Array* value = std::get_if<Array>(&value_)) return *value;
  fail_kind("an array");
}

const Json::Object& Json::object() const {
  if (const Object* value = std::get_if<Object>(&value_)) return *value;
  fail_kind("an object");
}

const Json* Json::find(std::string_view key) const {
  for (const std::pair<std::string, Json>& member : object()) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

const Json& Json::at(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) throw ArgumentError(cat("json: the key \"", key, "\" is missing; the object must have it"));
  return *value;
}

Json parse_json(std::string_view text, std::size_t limit_bytes) {
  if (text.size() > limit_bytes) {
    throw ArgumentError(cat("parse_json: the text is too long: ", text.size(), " bytes; at most ", limit_bytes, " are read"));
  }
  return Parser(text).parse();
}

std::string write_json(const Json& value) {
  std::string out;
  write_value(out, value);
  return out;
}

}  // namespace resilin
