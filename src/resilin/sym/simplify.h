// src/resilin/sym/simplify.h -- Internal: rewrites expressions to their simplest form under facts.
#pragma once

#include <optional>
#include <unordered_map>

#include "resilin/sym/facts.h"
#include "resilin/sym/polynomial.h"
#include "resilin/sym/prove.h"

namespace resilin {

/// One simplification: bottom up, each atom once, repeated until nothing changes or a few rounds have passed. Throws ArgumentError when an
/// intermediate result is too large; Facts then keeps what it had.
class Simplifier {
 public:
  explicit Simplifier(const Facts& facts) : facts_(facts), prover_(facts) {}
  Dim run(Dim e);
  Prover& prover() { return prover_; }

 private:
  /// a = scale*part + rest where 0 <= rest < scale, so that floordiv(a, scale*divisor) = floordiv(part, divisor).
  struct Part {
    Polynomial part;
    Polynomial rest;
    Polynomial scale;
    Polynomial divisor;
  };
  Dim visit(Dim e);
  Dim visit_new(Dim e);
  Dim visit_symbol(Dim e);
  Dim visit_polynomial(Dim e);
  Dim visit_extremum(DimKind kind, Dim a, Dim b);

  Dim quotient(Dim a, Dim b);
  Dim remainder(Dim a, Dim b);
  bool is_positive(const Polynomial& p) { return prover_.bounds().at_least(p, 1); }
  /// floordiv(a, b) for b >= 1 when ranges and inequalities decide it.
  std::optional<Polynomial> decided_quotient(const Polynomial& a, const Polynomial& b);
  /// The k with k*b <= r < (k + 1)*b when it is one known number.
  std::optional<i64> decided_offset(const Polynomial& r, const Polynomial& b);
  /// What is left of a by taking multiples of b out, when that is worth it.
  std::optional<Division> useful_division(const Polynomial& a, const Polynomial& b);
  std::optional<Part> useful_part(const Polynomial& a, const Polynomial& b);
  std::optional<Part> part_by(const Polynomial& a, const Polynomial& b, const Polynomial& scale);
  /// The terms of a that are provably multiples of the constant n; nothing when none or all are.
  std::optional<Polynomial> multiples(const Polynomial& a, const Polynomial& b) const;

  Polynomial recombine(Polynomial p);
  bool recombine_once(Polynomial& p);
  /// p with one floordiv or mod in the term replaced by what the other one defines, n*floordiv(x, n) + mod(x, n) = x, if that is smaller.
  std::optional<Polynomial> smaller_without(const Polynomial& p, const Polynomial::Term& term, Dim atom);

  const Facts& facts_;
  Prover prover_;
  std::unordered_map<std::uintptr_t, Dim> known_;
};

}  // namespace resilin
