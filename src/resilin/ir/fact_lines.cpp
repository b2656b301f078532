// src/resilin/ir/fact_lines.cpp -- the lines of text that state a graph's facts, and the names in them.
#include "resilin/ir/fact_lines.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::ir {
namespace {

bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_'; }

/// A word of a line: where it stands and, for a letter with a number, the symbol.
struct Word {
  std::size_t begin, end;
  std::optional<Symbol> symbol;
};

std::optional<Symbol> symbol_of_word(std::string_view word) {
  if (word.size() < 2 || word[0] < 'a' || word[0] > 'z') return std::nullopt;
  int index = 0;
  const std::from_chars_result result = std::from_chars(word.data() + 1, word.data() + word.size(), index);
  if (result.ec == std::errc::result_out_of_range) index = std::numeric_limits<int>::max();  // a name no graph has
  if (result.ptr != word.data() + word.size()) return std::nullopt;
  return Symbol{word[0], index};
}

/// The first word at or after `from`.
std::optional<Word> next_word(std::string_view line, std::size_t from) {
  while (from < line.size() && !is_word(line[from])) ++from;
  if (from == line.size()) return std::nullopt;
  std::size_t end = from;
  while (end < line.size() && is_word(line[end])) ++end;
  return Word{from, end, symbol_of_word(line.substr(from, end - from))};
}

bool is_default_range(std::string_view line, Symbol symbol) { return line == cat(Dim::symbol(symbol), " in ", Range{0, Range::kHighest}); }

/// Which symbols s0 .. s<count-1> have a line of their own.
std::vector<bool> stated_symbols(const std::vector<std::string>& lines, int count) {
  std::vector<bool> stated(static_cast<std::size_t>(count), false);
  for (const std::string& line : lines) {
    const std::optional<Symbol> symbol = stated_symbol(line);
    if (symbol && symbol->space == 's' && symbol->index < count) stated[static_cast<std::size_t>(symbol->index)] = true;
  }
  return stated;
}

}  // namespace

std::vector<Symbol> symbols_of_line(std::string_view line) {
  std::vector<Symbol> symbols;
  for (std::optional<Word> word = next_word(line, 0); word; word = next_word(line, word->end)) {
    if (word->symbol) symbols.push_back(*word->symbol);
  }
  return symbols;
}

std::optional<Symbol> stated_symbol(std::string_view line) {
  const std::optional<Word> word = next_word(line, 0);
  if (!word || word->begin != 0 || !word->symbol) return std::nullopt;
  const std::string_view rest = line.substr(word->end);
  return rest.starts_with(" in ") || rest.starts_with(" = ") ? word->symbol : std::nullopt;
}

Facts rename_facts(const Facts& facts, FunctionRef<int(Symbol)> new_index) {
  Facts out;
  for (const std::string& line : facts.print()) {
    std::string renamed;
    std::size_t copied = 0;
    bool known = true;
    for (std::optional<Word> word = next_word(line, 0); word && known; word = next_word(line, word->end)) {
      if (!word->symbol) continue;
      const int index = new_index(*word->symbol);
      known = index >= 0;
      renamed += line.substr(copied, word->begin - copied);
      renamed += cat('s', index);
      copied = word->end;
    }
    const std::optional<Symbol> symbol = stated_symbol(line);
    if (known) {
      out.parse_line(renamed + line.substr(copied));
    } else if (symbol && new_index(*symbol) >= 0) {
      // What it equals is no longer there: its range is what is left.
      out.set_range({'s', new_index(*symbol)}, facts.range(Dim::symbol(*symbol)));
    }
  }
  return out;
}

std::vector<std::string> fact_lines(const Facts& facts, int count) {
  std::vector<std::string> lines;
  std::vector<std::string> all = facts.print();
  const std::vector<bool> stated = stated_symbols(all, count);
  for (std::string& line : all) {
    const std::vector<Symbol> symbols = symbols_of_line(line);
    const bool foreign = std::any_of(symbols.begin(), symbols.end(), [&](Symbol s) { return s.space != 's' || s.index >= count; });
    if (!symbols.empty() && !foreign && !is_default_range(line, symbols.front())) lines.push_back(std::move(line));
  }
  for (int k = 0; k < count; ++k) {
    if (!stated[static_cast<std::size_t>(k)]) lines.push_back(cat('s', k, " in ", Range{}));
  }
  return lines;
}

Facts unstated_facts(const std::vector<std::string>& lines, int count) {
  const std::vector<bool> stated = stated_symbols(lines, count);
  Facts facts;
  for (int k = 0; k < count; ++k) {
    if (!stated[static_cast<std::size_t>(k)]) facts.set_range({'s', k}, {0, Range::kHighest});
  }
  return facts;
}

}  // namespace resilin::ir
