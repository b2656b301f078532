// src/resilin/sym/facts.h -- what is known about symbols: ranges, equalities, divisibility; and what follows from it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/sym/dim.h"

namespace resilin {

class Polynomial;

/// A closed interval; a low of kLowest and a high of kHighest are unbounded.
struct Range {
  static constexpr i64 kLowest = -(i64{1} << 61);
  static constexpr i64 kHighest = i64{1} << 61;
  i64 low = kLowest;
  i64 high = kHighest;
  friend bool operator==(const Range&, const Range&) = default;
};
/// "[1, inf]"
void append_text(std::string& out, Range range);
Range parse_range(std::string_view text);

/// Knowledge about the symbols of one graph or nest. Answers are always sound, counting a quotient and a remainder by 0 as 0; "do not know"
/// is an answer, and every query is bounded in time. A symbol that nothing is known of is any integer, so give sizes their range (low 0 or
/// 1) and loop variables both ends (set_range low 0, assume_less(i, n)). A call that throws leaves the facts as they were.
class RESILIN_API Facts {
 public:
  /// Narrows the range of a symbol; throws ArgumentError when nothing is left.
  void set_range(Symbol symbol, Range range);
  /// The symbol is a multiple of n.
  void set_multiple(Symbol symbol, i64 n);
  /// a and b are the same number; later queries treat them so. A symbol on one side is replaced by the other side where that makes no
  /// cycle. Throws ArgumentError when they are provably different.
  void assume_equal(Dim a, Dim b);
  /// a <= b (strict: a < b). Throws ArgumentError when that is provably false.
  void assume_less_equal(Dim a, Dim b);
  void assume_less(Dim a, Dim b) { assume_less_equal(a, b - Dim(1)); }

  Range range(Dim e) const;
  /// Rewrites e to its simplest known form: equalities applied, floordiv/mod/min/max resolved by ranges, multiples and assumed
  /// inequalities. Examples with 0 <= i < n: floordiv(m*n + i, n) = m, mod(m*n + i, n) = i, n*floordiv(x, n) + mod(x, n) = x.
  Dim simplify(Dim e) const;

  std::optional<bool> is_equal(Dim a, Dim b) const;
  std::optional<bool> is_less(Dim a, Dim b) const;
  std::optional<bool> is_less_equal(Dim a, Dim b) const;
  bool proves_equal(Dim a, Dim b) const { return is_equal(a, b).value_or(false); }
  bool proves_less(Dim a, Dim b) const { return is_less(a, b).value_or(false); }
  bool proves_less_equal(Dim a, Dim b) const { return is_less_equal(a, b).value_or(false); }
  bool proves_multiple(Dim e, i64 n) const;

  /// Lines such as "s0 in [1, 4096]", "s2 = s0*s1", "s1 multiple 8" (canonical order), and their reader.
  std::vector<std::string> print() const;
  void parse_line(std::string_view line);

  friend bool operator==(const Facts& a, const Facts& b) { return a.print() == b.print(); }

 private:
  friend class Bounds;
  friend class Prover;
  friend class Samples;
  friend class Simplifier;

  struct SymbolFact {
    Symbol symbol;
    Range range;  // as declared
    Range known;  // range, narrowed by what follows from the inequalities
    i64 multiple = 1;
    std::optional<Dim> equals;  // holds no symbol that is replaced itself; range and multiple have moved to it
  };
  /// left, a coefficient times a product, is replaced by right, whose terms come later in the order of monomials.
  struct Rewrite {
    Dim left;
    Dim right;
  };
  const SymbolFact* find(Symbol symbol) const;
  SymbolFact& entry(Symbol symbol);
  /// e without the symbols that are replaced.
  Dim resolve(Dim e) const;

  void narrow(Symbol symbol, Range range);
  void add_multiple(Symbol symbol, i64 n);
  void add_equal(Dim a, Dim b);
  /// p = 0, where the factors of p have no common divisor and the first one is positive.
  void add_rewrite(const Polynomial& p);
  void replace(Symbol symbol, Dim with);
  void add_non_negative(Dim e);
  void add_range(Dim e, Range range);
  void propagate();
  void propagate_from(Dim e);
  void narrow_known(Symbol symbol, Range range);

  std::vector<SymbolFact> symbols_;  // sorted by space, then index
  std::vector<Rewrite> rewrites_;    // sorted by left
  std::vector<Dim> non_negative_;    // assumed inequalities, as e >= 0, sorted
  std::vector<Symbol> narrowed_;     // symbols whose known range has changed since it was last propagated
};

}  // namespace resilin
