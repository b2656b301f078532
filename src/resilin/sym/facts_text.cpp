// src/resilin/sym/facts_text.cpp -- the lines facts are printed as, and their reader.
#include "resilin/sym/facts.h"

namespace resilin {
namespace {

void append_end(std::string& out, i64 end) {
  if (end == Range::kLowest) {
    out += "-inf";
  } else if (end == Range::kHighest) {
    out += "inf";
  } else {
    append_text(out, end);
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Symbol parse_symbol(std::string_view text) {
  const Dim e = parse_dim(trimmed(text));
  if (!e.is_symbol()) throw ArgumentError(cat("facts: not a symbol: \"", text, "\"; a name such as s0 is needed"));
  return e.as_symbol();
}

}  // namespace

void append_text(std::string& out, Range range) {
  out += '[';
  append_end(out, range.low);
  out += ", ";
  append_end(out, range.high);
  out += ']';
}

Range parse_range(std::string_view text) {
  text = trimmed(text);
  const std::size_t comma = text.find(',');
  if (text.size() < 5 || text.front() != '[' || text.back() != ']' || comma == std::string_view::npos) {
    throw ArgumentError(cat("range: not a range: \"", text, "\"; a text such as [1, inf] is needed"));
  }
  const std::string_view low = trimmed(text.substr(1, comma - 1));
  const std::string_view high = trimmed(text.substr(comma + 1, text.size() - comma - 2));
  const Range result{low == "-inf" ? Range::kLowest : parse_integer(low), high == "inf" ? Range::kHighest : parse_integer(high)};
  if (result.low < Range::kLowest || result.high > Range::kHighest || result.low > result.high) {
    throw ArgumentError(cat("range: no values: \"", text, "\"; the ends must rise and fit 61 bits"));
  }
  return result;
}

std::vector<std::string> Facts::print() const {
  std::vector<std::string> lines;
  for (const SymbolFact& fact : symbols_) {
    const Dim symbol = Dim::symbol(fact.symbol);
    if (fact.range != Range{}) lines.push_back(cat(symbol, " in ", fact.range));
    if (fact.multiple != 1) lines.push_back(cat(symbol, " multiple ", fact.multiple));
    if (fact.equals) lines.push_back(cat(symbol, " = ", *fact.equals));
  }
  for (const Rewrite& rewrite : rewrites_) lines.push_back(cat(rewrite.left, " = ", rewrite.right));
  for (const Dim e : non_negative_) lines.push_back(cat(e, " >= 0"));
  return lines;
}

void Facts::parse_line(std::string_view line) {
  if (const std::size_t at = line.find(" in "); at != std::string_view::npos) {
    return set_range(parse_symbol(line.substr(0, at)), parse_range(line.substr(at + 4)));
  }
  if (const std::size_t at = line.find(" multiple "); at != std::string_view::npos) {
    return set_multiple(parse_symbol(line.substr(0, at)), parse_integer(trimmed(line.substr(at + 10))));
  }
  if (const std::size_t at = line.find(" >= "); at != std::string_view::npos) {
    return assume_less_equal(parse_dim(trimmed(line.substr(at + 4))), parse_dim(trimmed(line.substr(0, at))));
  }
  if (const std::size_t at = line.find(" = "); at != std::string_view::npos) {
    return assume_equal(parse_dim(trimmed(line.substr(0, at))), parse_dim(trimmed(line.substr(at + 3))));
  }
  throw ArgumentError(
      cat("facts: not a fact: \"", line, "\"; one of \"s0 in [1, 8]\", \"s0 multiple 8\", \"s0 = s1\", \"s0 - s1 >= 0\" is needed"));
}

}  // namespace resilin
