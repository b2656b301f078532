// src/resilin/sym/polynomial.h -- Internal: a sum of coefficients times products of atoms, for arithmetic that interns nothing.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "resilin/sym/dim.h"

namespace resilin {

/// Sorted atoms (symbols, floordiv, mod, min, max), repeated for powers; empty is 1.
using Monomial = SmallVector<Dim, 4>;

/// A graded order that multiplication keeps: < 0 when a stands before b, which is when its degree is higher or its atoms come first.
int compare_monomials(const Monomial& a, const Monomial& b);
Monomial multiply(const Monomial& a, const Monomial& b);
/// a / b; nothing when b does not divide a.
std::optional<Monomial> divide(const Monomial& a, const Monomial& b);

struct Linear;

/// The contents of a Dim's canonical form, open to be computed with. A result that overflows or grows too large is invalid, and so is all
/// that is computed from it: a prover then does not know, and dim() throws.
class Polynomial {
 public:
  struct Term {
    i64 factor = 0;
    Monomial atoms;
    bool is_constant() const { return atoms.empty(); }
    friend bool operator==(const Term&, const Term&) = default;
  };

  Polynomial() = default;
  Polynomial(Dim e);  // NOLINT: a Dim is a polynomial over its atoms
  static Polynomial of_term(i64 factor, Monomial atoms);

  /// In the order of compare_monomials, so the constant is last; no factor is 0.
  const std::vector<Term>& terms() const { return terms_; }
  bool valid() const { return valid_; }
  bool is_zero() const { return valid_ && terms_.empty(); }
  bool is_constant() const { return terms_.empty() || (terms_.size() == 1 && terms_[0].is_constant()); }
  i64 constant() const { return terms_.empty() || !terms_.back().is_constant() ? 0 : terms_.back().factor; }
  /// The greatest common divisor of all factors but the constant's; 0 without such terms.
  i64 content() const;
  std::size_t size() const;
  bool contains_atom(Dim atom) const;
  std::uint64_t hash() const;

  void add(const Polynomial& p, i64 factor = 1);
  void add_term(i64 factor, const Monomial& atoms) { add(of_term(factor, atoms)); }
  /// Divides every factor; all must be divisible.
  void divide_factors(i64 divisor);
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  friend std::optional<Linear> linear_in(const Polynomial& p, Dim atom);
  friend Polynomial shifted(const Polynomial& p, const std::function<i64(Dim)>& offset, std::size_t max_terms);
  friend Polynomial operator-(Polynomial a, const Polynomial& b) {
    a.add(b, -1);
    return a;
  }
  friend Polynomial operator+(Polynomial a, const Polynomial& b) {
    a.add(b);
    return a;
  }
  friend bool operator==(const Polynomial&, const Polynomial&) = default;

  /// The interned expression; throws ArgumentError when this is invalid.
  Dim dim() const;

 private:
  void merge_sorted();
  void check_size();
  std::vector<Term> terms_;
  bool valid_ = true;
};

/// p = coefficient * atom + rest, neither of which has `atom` as a factor; nothing when p has a power of it.
struct Linear {
  Polynomial coefficient;
  Polynomial rest;
};
std::optional<Linear> linear_in(const Polynomial& p, Dim atom);

/// p with atom + offset(atom) in the place of every atom, expanded; invalid beyond max_terms for one term.
Polynomial shifted(const Polynomial& p, const std::function<i64(Dim)>& offset, std::size_t max_terms);

/// Division by the leading term, a = quotient * b + remainder; a bounded number of steps. b is not zero.
struct Division {
  Polynomial quotient;
  Polynomial remainder;
};
Division divide(const Polynomial& a, const Polynomial& b);
/// a / b when b divides a.
std::optional<Polynomial> divide_exactly(const Polynomial& a, const Polynomial& b);

/// Every atom that is a factor of some term, once each, in order of first appearance.
std::vector<Dim> atoms_of(const Polynomial& p);

}  // namespace resilin
