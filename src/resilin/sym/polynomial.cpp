// src/resilin/sym/polynomial.cpp -- arithmetic on sums of coefficients times products of atoms.
#include "resilin/sym/polynomial.h"

#include <algorithm>
#include <numeric>

#include "resilin/base/hash.h"
#include "resilin/sym/dim_node.h"

namespace resilin {
namespace {

constexpr std::size_t kMaxProducts = 1 << 14;
constexpr int kMaxDivisionSteps = 256;

Monomial monomial_of(Dim term) {
  const std::span<const Dim> atoms = atoms_of_term(term);
  return Monomial(atoms.begin(), atoms.end());
}

Dim dim_of(const Monomial& atoms) { return atoms.size() == 1 ? atoms[0] : intern({DimKind::Product, 0, {}, {atoms.data(), atoms.size()}}); }

}  // namespace

int compare_monomials(const Monomial& a, const Monomial& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const int order = compare_dims(a[i], b[i]); order != 0) return order;
  }
  return 0;
}

Monomial multiply(const Monomial& a, const Monomial& b) {
  if (a.empty()) return b;
  Monomial result = a;
  result.append(b.begin(), b.end());
  std::inplace_merge(result.begin(), result.begin() + a.size(), result.end(), [](Dim x, Dim y) { return compare_dims(x, y) < 0; });
  return result;
}

std::optional<Monomial> divide(const Monomial& a, const Monomial& b) {
  if (b.size() > a.size()) return std::nullopt;
  Monomial rest;
  std::size_t used = 0;
  for (const Dim atom : a) {
    if (used < b.size() && b[used] == atom) {
      ++used;
    } else {
      rest.push_back(atom);
    }
  }
  if (used != b.size()) return std::nullopt;
  return rest;
}

Polynomial::Polynomial(Dim e) {
  if (e == 0) return;
  const DimView parts = view(e);
  if (parts.kind == DimKind::Constant) {
    terms_.push_back({parts.constant, {}});
  } else if (parts.kind == DimKind::Sum) {
    terms_.reserve(parts.arguments.size() + 1);
    for (std::size_t i = 0; i < parts.arguments.size(); ++i) terms_.push_back({parts.factors[i], monomial_of(parts.arguments[i])});
    if (parts.constant != 0) terms_.push_back({parts.constant, {}});
  } else {
    terms_.push_back({1, monomial_of(e)});
  }
}

Polynomial Polynomial::of_term(i64 factor, Monomial atoms) {
  Polynomial result;
  if (factor != 0) result.terms_.push_back({factor, std::move(atoms)});
  result.check_size();
  return result;
}

i64 Polynomial::content() const {
  i64 result = 0;
  for (const Term& term : terms_) {
    if (!term.is_constant()) result = std::gcd(result, term.factor);
  }
  return result;
}

std::size_t Polynomial::size() const {
  std::size_t result = 0;
  for (const Term& term : terms_) {
    ++result;
    for (const Dim atom : term.atoms) result += size_of(atom);
  }
  return result;
}

bool Polynomial::contains_atom(Dim atom) const {
  return std::ranges::any_of(terms_,
                             [&](const Term& term) { return std::find(term.atoms.begin(), term.atoms.end(), atom) != term.atoms.end(); });
}

std::uint64_t Polynomial::hash() const {
  std::uint64_t result = terms_.size();
  for (const Term& term : terms_) {
    result = hash_mix(result, static_cast<std::uint64_t>(term.factor));
    for (const Dim atom : term.atoms) result = hash_mix(result, atom.hash());
  }
  return result;
}

void Polynomial::add(const Polynomial& p, i64 factor) {
  valid_ = valid_ && p.valid_;
  if (!valid_ || factor == 0 || p.terms_.empty()) return;
  std::vector<Term> sum;
  sum.reserve(terms_.size() + p.terms_.size());
  std::vector<Term>::iterator mine = terms_.begin();
  for (const Term& term : p.terms_) {
    i64 scaled = 0;
    if (__builtin_mul_overflow(term.factor, factor, &scaled)) valid_ = false;
    int order = 1;
    while (mine != terms_.end() && (order = compare_monomials(mine->atoms, term.atoms)) < 0) sum.push_back(std::move(*mine++));
    if (mine == terms_.end() || order != 0) {
      sum.push_back({scaled, term.atoms});
      continue;
    }
    if (__builtin_add_overflow(mine->factor, scaled, &scaled)) valid_ = false;
    if (scaled != 0) sum.push_back({scaled, std::move(mine->atoms)});
    ++mine;
  }
  std::move(mine, terms_.end(), std::back_inserter(sum));
  terms_ = std::move(sum);
  check_size();
}

void Polynomial::divide_factors(i64 divisor) {
  for (Term& term : terms_) term.factor /= divisor;
}

void Polynomial::merge_sorted() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    if (kept > 0 && terms_[kept - 1].atoms == terms_[i].atoms) {
      if (__builtin_add_overflow(terms_[kept - 1].factor, terms_[i].factor, &terms_[kept - 1].factor)) valid_ = false;
    } else {
      if (kept > 0 && terms_[kept - 1].factor == 0) --kept;
      if (kept != i) terms_[kept] = std::move(terms_[i]);
      ++kept;
    }
  }
  if (kept > 0 && terms_[kept - 1].factor == 0) --kept;
  terms_.resize(kept);
}

void Polynomial::check_size() {
  std::size_t size = 0;
  for (const Term& term : terms_) {
    size += term.atoms.size() + 1;
    // One bit more than a Dim has, so that negation and division never overflow.
    if (term.factor > -Dim::kMin || term.factor < Dim::kMin) valid_ = false;
  }
  if (size > 2 * kMaxDimSize) valid_ = false;
  if (!valid_) terms_.clear();
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  result.valid_ = a.valid_ && b.valid_ && a.terms_.size() * b.terms_.size() <= kMaxProducts;
  if (!result.valid_) return result;
  result.terms_.reserve(a.terms_.size() * b.terms_.size());
  for (const Polynomial::Term& x : a.terms_) {
    for (const Polynomial::Term& y : b.terms_) {
      i64 factor = 0;
      if (__builtin_mul_overflow(x.factor, y.factor, &factor)) result.valid_ = false;
      result.terms_.push_back({factor, multiply(x.atoms, y.atoms)});
    }
  }
  if (a.terms_.size() > 1 && b.terms_.size() > 1) {
    std::ranges::sort(result.terms_,
                      [](const Polynomial::Term& x, const Polynomial::Term& y) { return compare_monomials(x.atoms, y.atoms) < 0; });
    result.merge_sorted();
  }
  result.check_size();
  return result;
}

Dim Polynomial::dim() const {
  const auto fits = [](const Term& term) { return term.factor >= Dim::kMin && term.factor <= Dim::kMax; };
  if (!valid_ || !std::ranges::all_of(terms_, fits)) {
    throw ArgumentError(
        cat("dim: a result is too large; constants and coefficients are kept to 62 bits, expressions to ", kMaxDimSize, " operations"));
  }
  if (is_constant()) return Dim(constant());
  if (terms_.size() == 1 && terms_[0].factor == 1) return dim_of(terms_[0].atoms);
  SmallVector<i64, 8> factors;
  SmallVector<Dim, 8> arguments;
  for (const Term& term : terms_) {
    if (term.is_constant()) continue;
    factors.push_back(term.factor);
    arguments.push_back(dim_of(term.atoms));
  }
  return intern({DimKind::Sum, constant(), factors, arguments});
}

std::optional<Linear> linear_in(const Polynomial& p, Dim atom) {
  Linear result;
  for (const Polynomial::Term& term : p.terms_) {
    const Dim* at = std::find(term.atoms.begin(), term.atoms.end(), atom);
    if (at == term.atoms.end()) {
      result.rest.terms_.push_back(term);
      continue;
    }
    Monomial others = term.atoms;
    others.erase(others.begin() + (at - term.atoms.begin()));
    if (std::find(others.begin(), others.end(), atom) != others.end()) return std::nullopt;
    result.coefficient.terms_.push_back({term.factor, std::move(others)});
  }
  return result;
}

Polynomial shifted(const Polynomial& p, const std::function<i64(Dim)>& offset, std::size_t max_terms) {
  Polynomial result;
  std::vector<Polynomial::Term>& terms = result.terms_;
  for (const Polynomial::Term& term : p.terms_) {
    std::size_t from = terms.size();
    terms.push_back({term.factor, {}});
    for (const Dim atom : term.atoms) {
      const i64 shift = offset(atom);
      const std::size_t end = terms.size();
      if (end - from > max_terms) result.valid_ = false;
      if (!result.valid_) return result;
      for (std::size_t i = from; i < end; ++i) {
        if (shift != 0) {
          terms.push_back(terms[i]);
          if (__builtin_mul_overflow(terms[i].factor, shift, &terms.back().factor)) result.valid_ = false;
        }
        terms[i].atoms.push_back(atom);
      }
    }
  }
  std::ranges::sort(terms, [](const Polynomial::Term& x, const Polynomial::Term& y) { return compare_monomials(x.atoms, y.atoms) < 0; });
  result.merge_sorted();
  result.check_size();
  return result;
}

Division divide(const Polynomial& a, const Polynomial& b) {
  const Polynomial::Term& leading = b.terms().front();
  Division result;
  Polynomial work = a;
  for (int step = 0; step < kMaxDivisionSteps && work.valid() && !work.terms().empty(); ++step) {
    const Polynomial::Term term = work.terms().front();
    const std::optional<Monomial> atoms = divide(term.atoms, leading.atoms);
    const i64 factor = atoms ? term.factor / leading.factor : 0;
    if (factor != 0) {
      result.quotient.add_term(factor, *atoms);
      work.add(Polynomial::of_term(factor, *atoms) * b, -1);
    }
    // What the leading term cannot divide any more is remainder.
    if (!work.terms().empty() && work.terms().front().atoms == term.atoms) {
      const i64 left = work.terms().front().factor;
      result.remainder.add_term(left, term.atoms);
      work.add_term(-left, term.atoms);
    }
  }
  result.remainder.add(work);
  return result;
}

std::optional<Polynomial> divide_exactly(const Polynomial& a, const Polynomial& b) {
  if (b.is_constant() && b.constant() == 1) return a;
  Division division = divide(a, b);
  if (!division.remainder.is_zero() || !division.quotient.valid()) return std::nullopt;
  return std::move(division.quotient);
}

std::vector<Dim> atoms_of(const Polynomial& p) {
  std::vector<Dim> result;
  for (const Polynomial::Term& term : p.terms()) {
    for (const Dim atom : term.atoms) {
      if (std::find(result.begin(), result.end(), atom) == result.end()) result.push_back(atom);
    }
  }
  return result;
}

}  // namespace resilin
