// src/resilin/sym/simplify.cpp -- rewrites expressions to their simplest form under facts.
#include "resilin/sym/simplify.h"

#include <algorithm>
#include <numeric>

#include "resilin/sym/dim_node.h"
#include "resilin/sym/floor.h"

namespace resilin {
namespace {

constexpr int kMaxRounds = 4;
constexpr int kMaxRecombinations = 32;
constexpr std::size_t kMaxRecombinedTerms = 64;

Polynomial constant(i64 value) { return Polynomial(Dim(value)); }

/// The divisors of b worth a try as scale: constants shared with a's coefficients, each atom, and b without each atom.
std::vector<Polynomial> scales_of(const Polynomial& a, const Polynomial& b) {
  std::vector<Polynomial> result;
  if (b.terms().size() != 1) return result;
  const Polynomial::Term& term = b.terms().front();
  std::vector<i64> constants;
  for (const Polynomial::Term& other : a.terms()) {
    if (!other.is_constant()) constants.push_back(std::gcd(term.factor, other.factor));
  }
  std::ranges::sort(constants, std::greater());
  constants.erase(std::unique(constants.begin(), constants.end()), constants.end());
  for (const i64 c : constants) {
    if (c > 1 && (c < term.factor || !term.is_constant())) result.push_back(constant(c));
  }
  for (std::size_t i = 0; i < term.atoms.size(); ++i) {
    Monomial others = term.atoms;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (!others.empty()) result.push_back(Polynomial::of_term(1, others));
    if (others.size() != 1 && (!others.empty() || term.factor > 1)) result.push_back(Polynomial(term.atoms[i]));
  }
  return result;
}

}  // namespace

Dim Simplifier::run(Dim e) {
  for (int round = 0; round < kMaxRounds; ++round) {
    const Dim next = visit(e);
    if (next == e) break;
    e = next;
  }
  return e;
}

Dim Simplifier::visit(Dim e) {
  if (e.is_constant()) return e;
  const std::unordered_map<std::uintptr_t, Dim>::const_iterator known = known_.find(e.word());
  if (known != known_.end()) return known->second;
  const Dim result = visit_new(e);
  known_.emplace(e.word(), result);
  return result;
}

Dim Simplifier::visit_new(Dim e) {
  const DimView parts = view(e);
  switch (parts.kind) {
    case DimKind::Constant: return e;
    case DimKind::Symbol: return visit_symbol(e);
    case DimKind::Sum:
    case DimKind::Product: return visit_polynomial(e);
    default: break;
  }
  const Dim a = visit(parts.arguments[0]);
  const Dim b = visit(parts.arguments[1]);
  const Dim result = parts.kind == DimKind::FloorDiv ? quotient(a, b)
                     : parts.kind == DimKind::Mod    ? remainder(a, b)
                                                     : visit_extremum(parts.kind, a, b);
  return prover_.rewritten(result).dim();
}

Dim Simplifier::visit_symbol(Dim e) {
  const Facts::SymbolFact* fact = facts_.find(e.as_symbol());
  if (fact == nullptr) return e;
  if (fact->equals) return visit(*fact->equals);
  return fact->known.low == fact->known.high ? Dim(fact->known.low) : e;
}

Dim Simplifier::visit_polynomial(Dim e) {
  const Polynomial p(e);
  Polynomial result;
  for (const Polynomial::Term& term : p.terms()) {
    Polynomial product = Polynomial::of_term(term.factor, {});
    for (const Dim atom : term.atoms) product = product * Polynomial(visit(atom));
    result.add(product);
  }
  return recombine(prover_.rewritten(std::move(result))).dim();
}

Dim Simplifier::visit_extremum(DimKind kind, Dim a, Dim b) {
  const Dim joined = kind == DimKind::Min ? min(a, b) : max(a, b);
  std::vector<Dim> kept;
  for (Dim rest = joined;; rest = view(rest).arguments[1]) {
    const bool last = kind_of(rest) != kind;
    const Dim operand = last ? rest : view(rest).arguments[0];
    const auto covers = [&](Dim x, Dim y) { return kind == DimKind::Min ? prover_.less_equal(x, y) : prover_.less_equal(y, x); };
    if (std::ranges::none_of(kept, [&](Dim other) { return covers(other, operand); })) {
      std::erase_if(kept, [&](Dim other) { return covers(operand, other); });
      kept.push_back(operand);
    }
    if (last) break;
  }
  Dim result = kept[0];
  for (const Dim operand : kept) result = kind == DimKind::Min ? min(result, operand) : max(result, operand);
  return result;
}

Dim Simplifier::quotient(Dim a, Dim b) {
  if (b == 0) return 0;
  const Polynomial dividend(a);
  const Polynomial divisor(b);
  if (!is_positive(divisor)) return floordiv(a, b);
  if (const std::optional<Polynomial> decided = decided_quotient(dividend, divisor)) return decided->dim();
  if (kind_of(a) == DimKind::FloorDiv) return quotient(view(a).arguments[0], view(a).arguments[1] * b);
  if (const std::optional<Division> division = useful_division(dividend, divisor)) {
    return division->quotient.dim() + quotient(division->remainder.dim(), b);
  }
  if (const std::optional<Part> part = useful_part(dividend, divisor)) return quotient(part->part.dim(), part->divisor.dim());
  if (const std::optional<Polynomial> whole = multiples(dividend, divisor)) {
    return floordiv(whole->dim(), b) + quotient((dividend - *whole).dim(), b);
  }
  return floordiv(a, b);
}

Dim Simplifier::remainder(Dim a, Dim b) {
  if (b == 0) return 0;
  const Polynomial dividend(a);
  const Polynomial divisor(b);
  if (!is_positive(divisor)) return mod(a, b);
  if (divisor.is_constant() && prover_.divisor_of(dividend, divisor.constant()) == divisor.constant()) return 0;
  if (const std::optional<Polynomial> decided = decided_quotient(dividend, divisor)) return (dividend - *decided * divisor).dim();
  if (const std::optional<Division> division = useful_division(dividend, divisor)) return remainder(division->remainder.dim(), b);
  if (const std::optional<Part> part = useful_part(dividend, divisor)) {
    return part->scale.dim() * remainder(part->part.dim(), part->divisor.dim()) + part->rest.dim();
  }
  if (const std::optional<Polynomial> whole = multiples(dividend, divisor)) return remainder((dividend - *whole).dim(), b);
  // mod(c*mod(x, m) + y, b) = mod(c*x + y, b) when b divides c*m and m > 0.
  for (const Polynomial::Term& term : dividend.terms()) {
    if (term.atoms.size() != 1 || kind_of(term.atoms[0]) != DimKind::Mod) continue;
    const std::span<const Dim> inner = view(term.atoms[0]).arguments;
    if (!is_positive(inner[1]) || !divide_exactly(constant(term.factor) * Polynomial(inner[1]), divisor)) continue;
    return remainder((dividend + constant(term.factor) * (Polynomial(inner[0]) - Polynomial(term.atoms[0]))).dim(), b);
  }
  return mod(a, b);
}

std::optional<i64> Simplifier::decided_offset(const Polynomial& r, const Polynomial& b) {
  if (r.is_zero()) return 0;
  const Range range = prover_.bounds().of(r);
  if (b.is_constant()) {
    const i64 n = b.constant();
    if (range.low == Range::kLowest || range.high == Range::kHighest) return std::nullopt;
    const i64 k = floor_quotient(range.low, n);
    if (k == floor_quotient(range.high, n)) return k;
  }
  const Polynomial one = constant(1);
  if (range.high >= 0 && prover_.non_negative(r)) {
    if (prover_.non_negative(b - r - one)) return 0;
  } else if (range.low < 0 && prover_.non_negative(Polynomial() - r - one)) {
    if (prover_.non_negative(r + b)) return -1;
  }
  return std::nullopt;
}

std::optional<Polynomial> Simplifier::decided_quotient(const Polynomial& a, const Polynomial& b) {
  const Division division = divide(a, b);
  if (!division.remainder.valid() || !division.quotient.valid()) return std::nullopt;
  if (const std::optional<i64> k = decided_offset(division.remainder, b)) return division.quotient + constant(*k);
  // What was taken out may have spoilt a range that is known of the whole.
  if (!division.quotient.is_zero()) {
    if (const std::optional<i64> k = decided_offset(a, b)) return constant(*k);
  }
  for (const Polynomial& other : prover_.alternatives(a)) {
    if (std::optional<Polynomial> exact = divide_exactly(other, b)) return exact;
  }
  return std::nullopt;
}

std::optional<Division> Simplifier::useful_division(const Polynomial& a, const Polynomial& b) {
  Division division = divide(a, b);
  if (!division.remainder.valid() || division.quotient.is_zero()) return std::nullopt;
  if (b.terms().size() > 1 && division.remainder.size() >= a.size()) return std::nullopt;
  return division;
}

std::optional<Simplifier::Part> Simplifier::part_by(const Polynomial& a, const Polynomial& b, const Polynomial& scale) {
  if (!is_positive(scale)) return std::nullopt;
  const std::optional<Polynomial> divisor = divide_exactly(b, scale);
  Division division = divide(a, scale);
  if (!divisor || division.quotient.is_zero() || !division.remainder.valid()) return std::nullopt;
  const std::optional<i64> k = decided_offset(division.remainder, scale);
  if (!k) return std::nullopt;
  division.quotient.add(constant(*k));
  division.remainder.add(scale, -*k);
  return Part{std::move(division.quotient), std::move(division.remainder), scale, *divisor};
}

std::optional<Simplifier::Part> Simplifier::useful_part(const Polynomial& a, const Polynomial& b) {
  for (const Polynomial& scale : scales_of(a, b)) {
    if (std::optional<Part> part = part_by(a, b, scale)) return part;
  }
  return std::nullopt;
}

std::optional<Polynomial> Simplifier::multiples(const Polynomial& a, const Polynomial& b) const {
  if (!b.is_constant()) return std::nullopt;
  Polynomial whole;
  for (const Polynomial::Term& term : a.terms()) {
    const Polynomial alone = Polynomial::of_term(term.factor, term.atoms);
    if (prover_.divisor_of(alone, b.constant()) == b.constant()) whole.add(alone);
  }
  if (whole.is_zero() || whole.terms().size() == a.terms().size()) return std::nullopt;
  return whole;
}

Polynomial Simplifier::recombine(Polynomial p) {
  for (int i = 0; i < kMaxRecombinations && p.valid() && p.terms().size() <= kMaxRecombinedTerms; ++i) {
    if (!recombine_once(p)) break;
  }
  return p;
}

bool Simplifier::recombine_once(Polynomial& p) {
  for (const Polynomial::Term& term : p.terms()) {
    for (const Dim atom : term.atoms) {
      const DimKind kind = kind_of(atom);
      if (kind != DimKind::Mod && kind != DimKind::FloorDiv) continue;
      if (std::optional<Polynomial> smaller = smaller_without(p, term, atom)) {
        p = std::move(*smaller);
        return true;
      }
    }
  }
  return false;
}

std::optional<Polynomial> Simplifier::smaller_without(const Polynomial& p, const Polynomial::Term& term, Dim atom) {
  const DimView parts = view(atom);
  const Polynomial x(parts.arguments[0]);
  const Polynomial n(parts.arguments[1]);
  if (!is_positive(n)) return std::nullopt;
  const Polynomial around = Polynomial::of_term(term.factor, *divide(term.atoms, Monomial{atom}));
  const auto smaller_with = [&](const Polynomial& instead) -> std::optional<Polynomial> {
    Polynomial result = p - Polynomial::of_term(term.factor, term.atoms) + instead;
    if (!result.valid() || result.size() >= p.size()) return std::nullopt;
    return result;
  };
  if (parts.kind == DimKind::FloorDiv) {
    const std::optional<Polynomial> outer = divide_exactly(around, n);
    if (!outer) return std::nullopt;
    return smaller_with(*outer * (x - Polynomial(remainder(parts.arguments[0], parts.arguments[1]))));
  }
  if (std::optional<Polynomial> result = smaller_with(around * (x - n * Polynomial(quotient(parts.arguments[0], parts.arguments[1])))))
    return result;
  // k mod(floordiv(z, k), n) = mod(z, k n) - mod(z, k): the digits of mixed radix telescope.
  if (kind_of(parts.arguments[0]) != DimKind::FloorDiv) return std::nullopt;
  const std::span<const Dim> inner = view(parts.arguments[0]).arguments;
  const std::optional<Polynomial> outer = divide_exactly(around, Polynomial(inner[1]));
  if (!outer || !is_positive(Polynomial(inner[1]))) return std::nullopt;
  return smaller_with(*outer *
                      (Polynomial(remainder(inner[0], inner[1] * parts.arguments[1])) - Polynomial(remainder(inner[0], inner[1]))));
}

}  // namespace resilin
