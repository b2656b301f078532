// src/resilin/ir/fact_lines.h -- Internal: the lines of text that state a graph's facts, and the names in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/base/function_ref.h"
#include "resilin/sym/facts.h"

namespace resilin::ir {

/// Every symbol that a line of Facts::print names, in order, repeats included.
std::vector<Symbol> symbols_of_line(std::string_view line);
/// The symbol whose range or value a line such as "s0 in [1, 4]" or "s0 = s1" states; nothing for other lines.
std::optional<Symbol> stated_symbol(std::string_view line);

/// The facts with symbols of space 's' renamed to the index that `new_index` gives; facts about a symbol with index -1 are dropped.
Facts rename_facts(const Facts& facts, FunctionRef<int(Symbol)> new_index);

/// Lines for a graph with the symbols s0 .. s<count-1>. The range [0, inf] goes without saying; a symbol of which nothing is known is "in [-inf, inf]".
std::vector<std::string> fact_lines(const Facts& facts, int count);
/// What the lines leave unsaid: symbols that no line states are >= 0.
Facts unstated_facts(const std::vector<std::string>& lines, int count);

}  // namespace resilin::ir
