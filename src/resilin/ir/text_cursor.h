// src/resilin/ir/text_cursor.h -- Internal: reads a graph's text from left to right; every refusal names line and column.
#pragma once

#include <string>
#include <string_view>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::ir {

/// A place in a text. Blanks and line ends before what is read are skipped.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  /// Moves over the token if it comes next. A word must end where the token ends.
  bool take(std::string_view token);
  bool next_is(std::string_view token);
  /// As `take`, but refuses the text when something else comes.
  void need(std::string_view token);
  /// Letters, digits and underscores; refuses the text when there are none, naming `what`.
  std::string_view word(std::string_view what);
  /// Digits after `prefix`, below 2^31.
  int number_after(char prefix, std::string_view what);
  /// Everything up to the end of the line or the first of `ends` outside brackets and quotes, without blanks around it; refuses a text that is empty,
  /// ends first or has brackets over the end of a line.
  std::string_view until(std::string_view ends, std::string_view what);
  /// The text between { and its }.
  std::string_view braces();
  /// "..." with its quotes.
  std::string_view quoted();
  /// The rest of the line without blanks around it.
  std::string_view rest_of_line();
  bool at_end();

  std::size_t position();
  /// ArgumentError "parse: line 3, column 7: <what>".
  [[noreturn]] void fail(const std::string& what) { fail_at(position(), what); }
  [[noreturn]] void fail_at(std::size_t position, const std::string& what) const;

  /// Calls `read`; its ArgumentErrors become those of this text at `position`.
  template <class Read>
  decltype(auto) located(std::size_t position, Read&& read) const {
    try {
      return read();
    } catch (const ArgumentError& error) {
      fail_at(position, error.what());
    }
  }

 private:
  void skip_blanks();
  /// What comes next, cut short, for messages.
  std::string_view excerpt() const { return text_.substr(at_, 20); }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace resilin::ir
