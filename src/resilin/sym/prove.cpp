// src/resilin/sym/prove.cpp -- a bounded search for the sign of a polynomial.
#include "resilin/sym/prove.h"

#include <algorithm>
#include <numeric>

#include "resilin/sym/dim_node.h"
#include "resilin/sym/floor.h"

namespace resilin {
namespace {

constexpr int kStepsOfSearch = 48;
constexpr int kStepsOfQuery = 2000;
constexpr int kMaxDepth = 8;
constexpr int kMaxRewrites = 64;

/// p with every term that `from` divides once turned into that quotient times `to`; nothing when there is none.
std::optional<Polynomial> replace_once(const Polynomial& p, const Polynomial::Term& from, const Polynomial& to) {
  Polynomial result;
  bool changed = false;
  for (const Polynomial::Term& term : p.terms()) {
    const std::optional<Monomial> rest = term.factor % from.factor == 0 ? divide(term.atoms, from.atoms) : std::nullopt;
    if (rest) {
      result.add(Polynomial::of_term(term.factor / from.factor, *rest) * to);
      changed = true;
    } else {
      result.add_term(term.factor, term.atoms);
    }
  }
  if (!changed) return std::nullopt;
  return result;
}

}  // namespace

Prover::Prover(const Facts& facts) : facts_(facts), bounds_(facts), total_(kStepsOfQuery) {
  for (const Facts::Rewrite& rewrite : facts.rewrites_) rules_.push_back({Polynomial(rewrite.left).terms().front(), rewrite.right});
}

Polynomial Prover::rewritten(Polynomial p) const {
  int left = kMaxRewrites;
  for (std::size_t i = 0; i < rules_.size() && left > 0;) {
    std::optional<Polynomial> next = replace_once(p, rules_[i].left, rules_[i].right);
    if (next && next->valid()) {
      p = std::move(*next);
      i = 0;
      --left;
    } else {
      ++i;
    }
  }
  return p;
}

std::vector<Polynomial> Prover::alternatives(const Polynomial& p) const {
  std::vector<Polynomial> result;
  for (const Rule& rule : rules_) {
    if (rule.right.terms().size() != 1 || rule.right.is_constant()) continue;
    const std::optional<Polynomial> other =
        replace_once(p, rule.right.terms().front(), Polynomial::of_term(rule.left.factor, rule.left.atoms));
    if (other && other->valid()) result.push_back(*other);
  }
  return result;
}

i64 Prover::divisor_of_atom(Dim atom, i64 n) const {
  if (atom.is_symbol()) {
    const Facts::SymbolFact* fact = facts_.find(atom.as_symbol());
    return fact == nullptr ? 1 : std::gcd(fact->multiple, n);
  }
  const DimView parts = view(atom);
  if (parts.kind == DimKind::FloorDiv) return 1;
  // The result of mod, min and max is made of multiples of what divides both operands.
  return divisor_of(parts.arguments[1], divisor_of(parts.arguments[0], n));
}

i64 Prover::divisor_of(const Polynomial& p, i64 n) const {
  if (!p.valid()) return 1;
  i64 result = n;
  for (const Polynomial::Term& term : p.terms()) {
    i64 of_term = std::gcd(term.factor, n);
    for (const Dim atom : term.atoms) {
      if (of_term == n) break;
      const Wide product = Wide{of_term} * divisor_of_atom(atom, n);
      of_term = std::gcd(static_cast<i64>(product % n), n);
    }
    result = std::gcd(result, of_term);
    if (result == 1) break;
  }
  return result;
}

bool Prover::non_negative(const Polynomial& p) {
  if (bounds_.at_least(p, 0)) return true;
  if (!samples_) samples_.emplace(facts_);
  budget_ = std::min(kStepsOfSearch, total_);
  total_ -= budget_;
  visited_.clear();
  const bool proven = search(p, kMaxDepth);
  total_ += std::max(budget_, 0);
  return proven;
}

bool Prover::search(const Polynomial& original, int depth) {
  if (--budget_ < 0) return false;
  const Polynomial p = rewritten(original);
  if (!p.valid() || p.is_constant()) return p.valid() && p.constant() >= 0;
  if (samples_->refutes(p)) return false;
  const std::uint64_t hash = p.hash();
  if (std::ranges::find(visited_, hash) != visited_.end()) return false;
  visited_.push_back(hash);
  if (bounds_.at_least(p, 0) || cancels_by_inequality(p)) return true;
  if (depth == 0) return false;
  for (const Dim atom : atoms_of(p)) {
    const std::optional<Linear> parts = linear_in(p, atom);
    if (parts && search_atom(*parts, atom, depth)) return true;
  }
  return false;
}

/// p is at least f for an assumed f >= 0 that takes one of p's negative terms away.
bool Prover::cancels_by_inequality(const Polynomial& p) {
  for (const Dim e : facts_.non_negative_) {
    const DimView parts = view(e);
    if (parts.kind != DimKind::Sum) continue;
    const auto shared = [&](const Polynomial::Term& term) {
      for (std::size_t i = 0; i < parts.arguments.size() && term.factor < 0; ++i) {
        if (parts.factors[i] < 0 && std::ranges::equal(atoms_of_term(parts.arguments[i]), term.atoms)) return true;
      }
      return false;
    };
    if (std::ranges::any_of(p.terms(), shared) && bounds_.at_least(p - e, 0)) return true;
  }
  return false;
}

bool Prover::search_atom(const Linear& parts, Dim atom, int depth) {
  const bool rising = bounds_.at_least(parts.coefficient, 0);
  const bool falling = !rising && bounds_.at_least(Polynomial() - parts.coefficient, 0);
  const DimKind kind = kind_of(atom);
  if ((rising && kind == DimKind::Min) || (falling && kind == DimKind::Max) ||
      (!rising && !falling && (kind == DimKind::Min || kind == DimKind::Max))) {
    return search_cases(parts, atom, depth);
  }
  if (!rising && !falling) return false;
  return search_bounds(parts, bounds_of(atom, rising ? Side::Lower : Side::Upper), depth);
}

bool Prover::search_bounds(const Linear& parts, const std::vector<Bound>& bounds, int depth) {
  for (const Bound& bound : bounds) {
    const std::optional<Polynomial> coefficient = divide_exactly(parts.coefficient, bound.scale);
    if (coefficient && search(*coefficient * bound.limit + parts.rest, depth - 1)) return true;
  }
  return false;
}

/// min and max are one of their operands, so it is enough to prove both cases.
bool Prover::search_cases(const Linear& parts, Dim atom, int depth) {
  for (const Dim operand : view(atom).arguments) {
    if (!search(parts.coefficient * Polynomial(operand) + parts.rest, depth - 1)) return false;
  }
  return true;
}

std::vector<Prover::Bound> Prover::bounds_of_symbol(Dim atom, Side side) const {
  std::vector<Bound> result;
  for (const Dim e : facts_.non_negative_) {
    const std::span<const Dim> terms = view(e).arguments;
    if (std::ranges::find(terms, atom) == terms.end()) continue;
    const std::optional<Linear> parts = linear_in(e, atom);
    if (!parts || !parts->coefficient.is_constant()) continue;
    const i64 factor = parts->coefficient.constant();
    if (factor == 0 || (factor < 0) != (side == Side::Upper)) continue;
    const Polynomial scale{Dim(factor < 0 ? -factor : factor)};
    result.push_back({scale, side == Side::Upper ? parts->rest : Polynomial() - parts->rest});
  }
  return result;
}

std::vector<Prover::Bound> Prover::bounds_of(Dim atom, Side side) {
  if (atom.is_symbol()) return bounds_of_symbol(atom, side);
  const DimView parts = view(atom);
  const Polynomial a(parts.arguments[0]);
  const Polynomial b(parts.arguments[1]);
  const Polynomial one(Dim(1));
  std::vector<Bound> result;
  switch (parts.kind) {
    case DimKind::FloorDiv:
      if (bounds_.at_least(b, 1)) result.push_back({b, side == Side::Upper ? a : a - b + one});
      break;
    case DimKind::Mod:
      if (side == Side::Lower || !bounds_.at_least(b, 1)) break;
      result.push_back({one, b - one});
      if (bounds_.at_least(a, 0)) result.push_back({one, a});
      break;
    default:
      result.push_back({one, a});
      result.push_back({one, b});
      break;
  }
  return result;
}

}  // namespace resilin
