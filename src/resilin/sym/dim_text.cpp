// src/resilin/sym/dim_text.cpp -- the text of expressions and its reader.
#include <cctype>
#include <limits>

#include "resilin/sym/dim_node.h"
#include "resilin/sym/polynomial.h"

namespace resilin {
namespace {

const char* name_of(DimKind kind) {
  switch (kind) {
    case DimKind::FloorDiv: return "floordiv";
    case DimKind::Mod: return "mod";
    case DimKind::Min: return "min";
    default: return "max";
  }
}

/// A product or an atom.
void append_factors(std::string& out, Dim e) {
  const DimView parts = view(e);
  if (parts.kind == DimKind::Symbol) {
    const Symbol symbol = e.as_symbol();
    out += symbol.space;
    append_text(out, symbol.index);
  } else if (parts.kind == DimKind::Product) {
    for (std::size_t i = 0; i < parts.arguments.size(); ++i) {
      if (i != 0) out += '*';
      append_factors(out, parts.arguments[i]);
    }
  } else {
    out += name_of(parts.kind);
    out += '(';
    append_text(out, parts.arguments[0]);
    out += ", ";
    append_text(out, parts.arguments[1]);
    out += ')';
  }
}

/// Separates a term from what stands before it and gives back the absolute value of its factor.
i64 append_sign(std::string& out, i64 factor, bool first) {
  if (first) {
    out += factor < 0 ? "-" : "";
  } else {
    out += factor < 0 ? " - " : " + ";
  }
  return factor < 0 ? -factor : factor;
}

/// Recursive descent over sums of products; polynomials instead of Dims, so that long sums intern nothing on the way.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Dim run() {
    if (text_.size() > kMaxText) fail(cat("a text of ", text_.size(), " characters; at most ", kMaxText, " are read"));
    const Polynomial result = sum();
    if (at_ != text_.size()) fail("something follows the expression; an operator or the end is needed");
    return result.dim();
  }

 private:
  static constexpr std::size_t kMaxText = std::size_t{1} << 18;
  static constexpr int kMaxNesting = 2 * static_cast<int>(kMaxDimDepth);

  [[noreturn]] void fail(const std::string& what) const {
    const std::size_t from = at_ < 20 ? 0 : at_ - 20;
    throw ArgumentError(cat("parse_dim: ", what, ": at position ", at_, " of \"", text_.substr(from, 60), "\""));
  }

  bool take(char c) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) fail(cat("'", c, "' is missing"));
  }
  const Polynomial& checked(const Polynomial& p) const {
    if (!p.valid()) fail("the expression is too large; coefficients are kept to 62 bits, expressions to 4096 operations");
    return p;
  }

  Polynomial sum() {
    if (++nesting_ > kMaxNesting) fail(cat("too many nested levels; at most ", kMaxNesting, " are read"));
    Polynomial result;
    i64 sign = take('-') ? -1 : 1;
    for (;;) {
      result.add(term(), sign);
      checked(result);
      if (take('+')) {
        sign = 1;
      } else if (take('-')) {
        sign = -1;
      } else {
        break;
      }
    }
    take(' ');
    --nesting_;
    return result;
  }

  Polynomial term() {
    Polynomial result = factor();
    while (take('*')) result = checked(result * factor());
    return result;
  }

  Polynomial factor() {
    if (take('(')) {
      Polynomial result = sum();
      need(')');
      return result;
    }
    if (at_ < text_.size() && is_digit(text_[at_])) return checked(Polynomial::of_term(number(), {}));
    const std::string_view word = name();
    const std::size_t letters = word.find_first_of("0123456789");
    if (letters == 1) return Dim::symbol(word[0], symbol_index(word.substr(1)));
    return call(word);
  }

  Polynomial call(std::string_view word) {
    Dim (*const function)(Dim, Dim) = function_of(word);
    if (function == nullptr) fail(cat("unknown name \"", word, "\"; a symbol such as s0, floordiv, mod, ceil_div, min or max is needed"));
    need('(');
    const Dim a = sum().dim();
    need(',');
    const Dim b = sum().dim();
    need(')');
    return function(a, b);
  }

  static Dim (*function_of(std::string_view word))(Dim, Dim) {
    if (word == "floordiv") return &floordiv;
    if (word == "mod") return &mod;
    if (word == "ceil_div") return &ceil_div;
    if (word == "min") return &resilin::min;
    if (word == "max") return &resilin::max;
    return nullptr;
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  i64 number() {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return parse_integer(text_.substr(from, at_ - from));
  }

  std::string_view name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && ((text_[at_] >= 'a' && text_[at_] <= 'z') || text_[at_] == '_' || is_digit(text_[at_]))) ++at_;
    if (at_ == from) fail("an integer, a symbol, a call or '(' is missing");
    return text_.substr(from, at_ - from);
  }

  int symbol_index(std::string_view digits) const {
    if (digits.find_first_not_of("0123456789") != std::string_view::npos) fail("a symbol is one letter and a number");
    const i64 index = parse_integer(digits);
    if (index > std::numeric_limits<int>::max()) fail("the number of a symbol is too large");
    if (digits.size() > 1 && digits[0] == '0') fail("the number of a symbol starts with 0");
    return static_cast<int>(index);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

void append_text(std::string& out, Dim e) {
  const DimView parts = view(e);
  if (parts.kind == DimKind::Constant) return append_text(out, parts.constant);
  if (parts.kind != DimKind::Sum) return append_factors(out, e);
  for (std::size_t i = 0; i < parts.arguments.size(); ++i) {
    const i64 factor = append_sign(out, parts.factors[i], i == 0);
    if (factor != 1) {
      append_text(out, factor);
      out += '*';
    }
    append_factors(out, parts.arguments[i]);
  }
  if (parts.constant != 0) append_text(out, append_sign(out, parts.constant, false));
}

Dim parse_dim(std::string_view text) { return Parser(text).run(); }

}  // namespace resilin
