// src/resilin/sym/samples.cpp -- points at which facts hold.
#include "resilin/sym/samples.h"

#include <algorithm>
#include <numeric>

#include "resilin/base/hash.h"
#include "resilin/sym/dim_node.h"
#include "resilin/sym/floor.h"

namespace resilin {
namespace {

constexpr unsigned kKinds = 4;
constexpr int kRepairs = 4;
constexpr i64 kFar = 1000;  // so far up that repair brings a loop variable down to its last value

/// Far from the ends, so that division and negation of values never overflow.
std::optional<i64> within(std::optional<i64> value) { return value && *value <= Dim::kMax && *value >= Dim::kMin ? value : std::nullopt; }

}  // namespace

Samples::Samples(const Facts& facts) : facts_(facts) {
  for (unsigned kind = 0; kind < kKinds; ++kind) {
    Point point;
    point.kind = kind;
    if (repair(point) && holds(point)) points_.push_back(std::move(point));
  }
}

bool Samples::refutes(const Polynomial& p) {
  return std::ranges::any_of(points_, [&](Point& point) { return value_of(point, p).value_or(0) < 0; });
}

/// Kinds 0 and 1 put loop variables at their first and last value, the others anywhere; sizes are small and mostly different.
i64 Samples::first_value(const Point& point, Symbol symbol) const {
  const Facts::SymbolFact* fact = facts_.find(symbol);
  const std::uint64_t hash =
      hash_mix(hash_mix(point.kind, static_cast<std::uint64_t>(symbol.space)), static_cast<std::uint64_t>(symbol.index));
  i64 offset = static_cast<i64>(hash % 13);
  if (symbol.space != 's' && point.kind < 2) offset = point.kind == 0 ? 0 : kFar;
  if (fact == nullptr) return offset - 4;
  const i64 step = offset * fact->multiple;
  if (step > Range::kHighest / 2) return fact->known.low == Range::kLowest ? 0 : fact->known.low;
  if (fact->known.low != Range::kLowest) return std::min(fact->known.low + step, fact->known.high);
  return fact->known.high != Range::kHighest ? fact->known.high - step : step;
}

std::optional<i64> Samples::value_of_atom(Point& point, Dim atom) const {
  if (atom.is_symbol()) {
    const std::unordered_map<std::uintptr_t, i64>::const_iterator known = point.symbols.find(atom.word());
    if (known != point.symbols.end()) return known->second;
    const Facts::SymbolFact* fact = facts_.find(atom.as_symbol());
    if (fact != nullptr && fact->equals) return value_of(point, *fact->equals);
    return point.symbols[atom.word()] = first_value(point, atom.as_symbol());
  }
  const std::unordered_map<std::uintptr_t, std::optional<i64>>::const_iterator known = point.atoms.find(atom.word());
  if (known != point.atoms.end()) return known->second;
  const DimView parts = view(atom);
  const std::optional<i64> a = value_of(point, parts.arguments[0]);
  const std::optional<i64> b = value_of(point, parts.arguments[1]);
  std::optional<i64> result;
  if (a && b) {
    switch (parts.kind) {
      case DimKind::FloorDiv: result = *b == 0 ? 0 : floor_quotient(*a, *b); break;
      case DimKind::Mod: result = *b == 0 || *b == -1 ? 0 : floor_remainder(*a, *b); break;
      case DimKind::Min: result = std::min(*a, *b); break;
      default: result = std::max(*a, *b); break;
    }
  }
  point.atoms[atom.word()] = result;
  return result;
}

std::optional<i64> Samples::value_of_term(Point& point, i64 factor, std::span<const Dim> atoms) const {
  for (const Dim atom : atoms) {
    const std::optional<i64> value = value_of_atom(point, atom);
    if (!value || __builtin_mul_overflow(factor, *value, &factor)) return std::nullopt;
  }
  return factor;
}

std::optional<i64> Samples::value_of(Point& point, Dim e) const {
  const DimView parts = view(e);
  if (parts.kind == DimKind::Constant) return parts.constant;
  if (parts.kind != DimKind::Sum) return within(value_of_term(point, 1, atoms_of_term(e)));
  i64 sum = parts.constant;
  for (std::size_t i = 0; i < parts.arguments.size(); ++i) {
    const std::optional<i64> term = value_of_term(point, parts.factors[i], atoms_of_term(parts.arguments[i]));
    if (!term || __builtin_add_overflow(sum, *term, &sum)) return std::nullopt;
  }
  return within(sum);
}

std::optional<i64> Samples::value_of(Point& point, const Polynomial& p) const {
  if (!p.valid()) return std::nullopt;
  i64 sum = 0;
  for (const Polynomial::Term& term : p.terms()) {
    const std::optional<i64> value = value_of_term(point, term.factor, term.atoms);
    if (!value || __builtin_add_overflow(sum, *value, &sum)) return std::nullopt;
  }
  return within(sum);
}

bool Samples::move(Point& point, Dim symbol, i64 factor, i64 missing) const {
  const Facts::SymbolFact* fact = facts_.find(symbol.as_symbol());
  if (fact == nullptr || fact->equals) return false;
  const std::optional<i64> now = value_of_atom(point, symbol);
  const i64 size = factor < 0 ? -factor : factor;
  const i64 steps = -floor_quotient(-missing, size);
  i64 change = 0;
  i64 next = 0;
  if (!now || __builtin_mul_overflow(-floor_quotient(-steps, fact->multiple), fact->multiple, &change)) return false;
  if (__builtin_add_overflow(*now, factor < 0 ? -change : change, &next) || next < fact->known.low || next > fact->known.high) return false;
  point.symbols[symbol.word()] = next;
  point.atoms.clear();
  return true;
}

bool Samples::raise(Point& point, const Polynomial& f, i64 missing) const {
  // Loop variables stand first and are brought down before sizes are brought up.
  for (const bool falling : {true, false}) {
    for (const Polynomial::Term& term : f.terms()) {
      if (term.atoms.size() != 1 || !term.atoms[0].is_symbol() || (term.factor < 0) != falling) continue;
      if (move(point, term.atoms[0], term.factor, missing)) return true;
    }
  }
  return false;
}

bool Samples::repair(Point& point) const {
  for (int i = 0; i < kRepairs; ++i) {
    bool whole = true;
    for (const Dim e : facts_.non_negative_) {
      const std::optional<i64> value = value_of(point, e);
      if (!value) return false;
      if (*value >= 0) continue;
      whole = false;
      if (!raise(point, Polynomial(e), -*value)) return false;
    }
    if (whole) return true;
  }
  return false;
}

bool Samples::holds(Point& point) const {
  for (const Facts::SymbolFact& fact : facts_.symbols_) {
    const std::optional<i64> value = value_of_atom(point, Dim::symbol(fact.symbol));
    if (!value || *value < fact.known.low || *value > fact.known.high || *value % fact.multiple != 0) return false;
  }
  return std::ranges::all_of(facts_.rewrites_, [&](const Facts::Rewrite& rewrite) {
    const std::optional<i64> left = value_of(point, rewrite.left);
    return left && left == value_of(point, rewrite.right);
  });
}

}  // namespace resilin
