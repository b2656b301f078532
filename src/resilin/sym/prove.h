// src/resilin/sym/prove.h -- Internal: a bounded search for the sign of a polynomial.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "resilin/sym/bounds.h"
#include "resilin/sym/facts.h"
#include "resilin/sym/polynomial.h"
#include "resilin/sym/samples.h"

namespace resilin {

/// Proves p >= 0 by putting bounds in the place of atoms: where p = c*x + r with c <= 0 and x <= u is known, p >= c*u + r, so it is enough
/// to prove that. Bounds come from assumed inequalities and from the definitions of floordiv, mod, min and max; what is left is decided by
/// intervals. One object serves one query of Facts; its work is bounded in all.
class Prover {
 public:
  explicit Prover(const Facts& facts);

  Bounds& bounds() { return bounds_; }
  bool non_negative(const Polynomial& p);
  /// a <= b.
  bool less_equal(const Polynomial& a, const Polynomial& b) { return non_negative(b - a); }
  /// Applies the assumed equalities of products.
  Polynomial rewritten(Polynomial p) const;
  /// The ways to write p with one equality of products read backwards.
  std::vector<Polynomial> alternatives(const Polynomial& p) const;
  /// The greatest divisor of n that provably divides p.
  i64 divisor_of(const Polynomial& p, i64 n) const;

 private:
  struct Rule {
    Polynomial::Term left;
    Polynomial right;
  };
  /// scale * atom <= limit for an upper bound, >= for a lower one; scale > 0.
  struct Bound {
    Polynomial scale;
    Polynomial limit;
  };
  enum class Side { Upper, Lower };

  bool search(const Polynomial& p, int depth);
  bool search_atom(const Linear& parts, Dim atom, int depth);
  bool search_bounds(const Linear& parts, const std::vector<Bound>& bounds, int depth);
  bool search_cases(const Linear& parts, Dim atom, int depth);
  bool cancels_by_inequality(const Polynomial& p);
  std::vector<Bound> bounds_of(Dim atom, Side side);
  std::vector<Bound> bounds_of_symbol(Dim atom, Side side) const;
  i64 divisor_of_atom(Dim atom, i64 n) const;

  const Facts& facts_;
  Bounds bounds_;
  std::optional<Samples> samples_;  // made when a search first needs them
  std::vector<Rule> rules_;
  std::vector<std::uint64_t> visited_;  // hashes of what the running search has tried
  int budget_ = 0;                      // steps left to the running search
  int total_;                           // and to all of them
};

}  // namespace resilin
