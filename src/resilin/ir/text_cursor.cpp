// src/resilin/ir/text_cursor.cpp -- reads a graph's text from left to right; every refusal names line and column.
#include "resilin/ir/text_cursor.h"

#include <algorithm>

namespace resilin::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\n'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// One past the quote that ends the text starting at `at`; the size of the text when there is none.
std::size_t end_of_quotes(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

}  // namespace

void TextCursor::skip_blanks() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
}

std::size_t TextCursor::position() {
  skip_blanks();
  return at_;
}

bool TextCursor::at_end() { return position() == text_.size(); }

bool TextCursor::next_is(std::string_view token) {
  skip_blanks();
  if (!text_.substr(at_).starts_with(token)) return false;
  const std::size_t end = at_ + token.size();
  return !is_word(token.back()) || end == text_.size() || !is_word(text_[end]);
}

bool TextCursor::take(std::string_view token) {
  if (!next_is(token)) return false;
  at_ += token.size();
  return true;
}

void TextCursor::need(std::string_view token) {
  if (!take(token)) fail(cat("unexpected text: \"", excerpt(), "\"; ", token, " must come here"));
}

std::string_view TextCursor::word(std::string_view what) {
  skip_blanks();
  std::size_t end = at_;
  while (end < text_.size() && is_word(text_[end])) ++end;
  if (end == at_) fail(cat("unexpected text: \"", excerpt(), "\"; ", what, " must come here"));
  const std::string_view result = text_.substr(at_, end - at_);
  at_ = end;
  return result;
}

int TextCursor::number_after(char prefix, std::string_view what) {
  skip_blanks();
  std::size_t end = at_ + 1;
  while (end < text_.size() && is_digit(text_[end])) ++end;
  const bool readable =
      at_ < text_.size() && text_[at_] == prefix && end > at_ + 1 && end <= at_ + 10 && (end == text_.size() || !is_word(text_[end]));
  if (!readable) fail(cat("unexpected text: \"", excerpt(), "\"; ", what, " must come here"));
  const std::string_view digits = text_.substr(at_ + 1, end - at_ - 1);
  at_ = end;
  return static_cast<int>(parse_integer(digits));
}

std::string_view TextCursor::until(std::string_view ends, std::string_view what) {
  skip_blanks();
  int depth = 0;
  for (std::size_t i = at_; i < text_.size(); ++i) {
    const char c = text_[i];
    if (depth != 0 && c == '\n') break;
    if (depth == 0 && (c == '\n' || ends.find(c) != std::string_view::npos)) {
      const std::string_view result = trim(text_.substr(at_, i - at_));
      if (result.empty()) break;
      at_ = i;
      return result;
    }
    if (c == '"') i = end_of_quotes(text_, i) - 1;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
  }
  fail(cat("unexpected text: \"", excerpt(), "\"; ", what, " must come here"));
}

std::string_view TextCursor::braces() {
  need("{");
  int depth = 1;
  for (std::size_t i = at_; i < text_.size(); ++i) {
    if (text_[i] == '"') i = end_of_quotes(text_, i) - 1;
    if (text_[i] == '{') ++depth;
    if (text_[i] == '}' && --depth == 0) {
      const std::string_view result = text_.substr(at_, i - at_);
      at_ = i + 1;
      return result;
    }
  }
  fail_at(at_ - 1, "'{' is not closed; a '}' must follow");
}

std::string_view TextCursor::quoted() {
  skip_blanks();
  const std::size_t end = at_ < text_.size() ? end_of_quotes(text_, at_) : at_;
  const bool closed = end > at_ + 1 && text_[at_] == '"' && text_[end - 1] == '"';
  if (!closed) fail(cat("unexpected text: \"", excerpt(), "\"; a text in quotes must come here"));
  const std::string_view result = text_.substr(at_, end - at_);
  at_ = end;
  return result;
}

std::string_view TextCursor::rest_of_line() {
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  const std::string_view result = trim(text_.substr(at_, end - at_));
  at_ = end;
  return result;
}

void TextCursor::fail_at(std::size_t position, const std::string& what) const {
  const std::string_view before = text_.substr(0, position);
  const std::ptrdiff_t line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_start = before.find_last_of('\n') + 1;  // npos + 1 is 0
  throw ArgumentError(cat("parse: line ", line, ", column ", position - line_start + 1, ": ", what));
}

}  // namespace resilin::ir
