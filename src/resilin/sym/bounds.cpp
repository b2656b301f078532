// src/resilin/sym/bounds.cpp -- interval arithmetic on expressions.
#include "resilin/sym/bounds.h"

#include <algorithm>

#include "resilin/sym/dim_node.h"
#include "resilin/sym/floor.h"

namespace resilin {
namespace {

constexpr Wide kInfinity = Wide{1} << 62;
constexpr std::size_t kMaxShiftedTerms = 64;

Wide low_of(Range r) { return r.low == Range::kLowest ? -kInfinity : Wide{r.low}; }
Wide high_of(Range r) { return r.high == Range::kHighest ? kInfinity : Wide{r.high}; }

i64 clamped(Wide value) { return static_cast<i64>(std::clamp(value, Wide{Range::kLowest}, Wide{Range::kHighest})); }
Range range_of(Wide low, Wide high) { return {clamped(low), clamped(high)}; }

Range hull(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
Range negate(Range r) { return range_of(-high_of(r), -low_of(r)); }

/// Requires b.low >= 1.
Range floordiv_positive(Range a, Range b) {
  Range result = a;
  if (a.low != Range::kLowest) result.low = floor_quotient(a.low, a.low >= 0 ? b.high : b.low);
  if (a.high != Range::kHighest) result.high = floor_quotient(a.high, a.high >= 0 ? b.low : b.high);
  // An unbounded divisor is larger than every dividend.
  if (b.high == Range::kHighest && a.low != Range::kLowest && a.low >= 0) result.low = 0;
  if (b.high == Range::kHighest && a.high < 0) result.high = -1;
  return result;
}

/// Requires b.low >= 1.
Range mod_positive(Range a, Range b) {
  if (a.low >= 0 && a.high < b.low) return a;
  if (b.low == b.high && a.low != Range::kLowest && a.high != Range::kHighest &&
      floor_quotient(a.low, b.low) == floor_quotient(a.high, b.low)) {
    return {floor_remainder(a.low, b.low), floor_remainder(a.high, b.low)};
  }
  Range result{0, b.high == Range::kHighest ? Range::kHighest : b.high - 1};
  if (a.low >= 0) result.high = std::min(result.high, a.high);
  return result;
}

/// The cases of the divisor's sign, each with a divisor that is positive.
Range by_sign(Range a, Range b, Range (*positive)(Range, Range), bool negate_result) {
  std::optional<Range> result;
  const auto join = [&](Range r) { result = result ? hull(*result, r) : r; };
  if (b.high >= 1) join(positive(a, {std::max<i64>(b.low, 1), b.high}));
  if (b.low <= 0 && b.high >= 0) join({0, 0});
  if (b.low <= -1) {
    const Range mirrored = positive(negate(a), negate({b.low, std::min<i64>(b.high, -1)}));
    join(negate_result ? negate(mirrored) : mirrored);
  }
  return result.value_or(Range{});  // none for an empty divisor: the facts contradict each other, and anything is true
}

/// 1 when e - p is constant, -1 when e + p is, else 0.
int constant_apart(Dim e, const Polynomial& p) {
  const DimView parts = view(e);
  const bool sum = parts.kind == DimKind::Sum;
  const std::size_t count = sum ? parts.arguments.size() : 1;
  if (count + (p.terms().back().is_constant() ? 1 : 0) != p.terms().size()) return 0;
  int sign = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Polynomial::Term& term = p.terms()[i];
    const i64 factor = sum ? parts.factors[i] : 1;
    const int here = factor == term.factor ? 1 : factor == -term.factor ? -1 : 0;
    if (here == 0 || (sign != 0 && here != sign)) return 0;
    sign = here;
    if (!std::ranges::equal(atoms_of_term(sum ? parts.arguments[i] : e), term.atoms)) return 0;
  }
  return sign;
}

}  // namespace

Range interval_of(i64 value) { return range_of(value, value); }
Range add(Range a, Range b) { return range_of(low_of(a) + low_of(b), high_of(a) + high_of(b)); }
Range multiply(Range a, Range b) {
  const Wide corners[] = {low_of(a) * low_of(b), low_of(a) * high_of(b), high_of(a) * low_of(b), high_of(a) * high_of(b)};
  return range_of(*std::ranges::min_element(corners), *std::ranges::max_element(corners));
}
Range floordiv(Range a, Range b) { return by_sign(a, b, &floordiv_positive, false); }
Range mod(Range a, Range b) { return by_sign(a, b, &mod_positive, true); }
Range intersect(Range a, Range b) {
  const Range result{std::max(a.low, b.low), std::min(a.high, b.high)};
  return result.low <= result.high ? result : a;
}

Range Bounds::of_atom(Dim atom) {
  if (atom.is_constant()) return interval_of(atom.value());
  const std::unordered_map<std::uintptr_t, Range>::const_iterator known = known_.find(atom.word());
  if (known != known_.end()) return known->second;
  const Range result = compute(atom);
  known_.emplace(atom.word(), result);
  return result;
}

Range Bounds::compute(Dim atom) {
  if (atom.is_symbol()) {
    const Facts::SymbolFact* fact = facts_.find(atom.as_symbol());
    return fact == nullptr ? Range{} : fact->known;
  }
  const DimView parts = view(atom);
  const Range a = of(parts.arguments[0]);
  const Range b = of(parts.arguments[1]);
  switch (parts.kind) {
    case DimKind::FloorDiv: return floordiv(a, b);
    case DimKind::Mod: return mod(a, b);
    case DimKind::Min: return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case DimKind::Max: return {std::max(a.low, b.low), std::max(a.high, b.high)};
    default: return {};
  }
}

Range Bounds::of_monomial(const Monomial& atoms) {
  Range result{1, 1};
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    Range power = of_atom(atoms[i]);
    // A square is no product of two independent numbers.
    if (i + 1 < atoms.size() && atoms[i + 1] == atoms[i]) {
      ++i;
      power = multiply(power, power);
      power.low = std::max<i64>(power.low, 0);
    }
    result = multiply(result, power);
  }
  return result;
}

Range Bounds::of_sum(const Polynomial& p) {
  Range result{0, 0};
  for (const Polynomial::Term& term : p.terms()) result = add(result, multiply(interval_of(term.factor), of_monomial(term.atoms)));
  return result;
}

Range Bounds::of_shifted(const Polynomial& p) {
  const auto offset = [&](Dim atom) {
    const i64 low = of_atom(atom).low;
    return low == Range::kLowest || low == Range::kHighest ? 0 : low;
  };
  const auto moves = [&](const Polynomial::Term& term) {
    return std::ranges::any_of(term.atoms, [&](Dim atom) { return offset(atom) != 0; });
  };
  if (std::ranges::none_of(p.terms(), moves)) return {};
  const Polynomial moved = shifted(p, offset, kMaxShiftedTerms);
  if (!moved.valid()) return {};
  Range result{0, 0};
  for (const Polynomial::Term& term : moved.terms()) {
    Range r = interval_of(term.factor);
    for (const Dim atom : term.atoms) r = multiply(r, add(of_atom(atom), interval_of(-offset(atom))));
    result = add(result, r);
  }
  return result;
}

Range Bounds::of(const Polynomial& p) {
  if (!p.valid()) return {};
  Range result = of_sum(p);
  const bool plain_atom = p.terms().size() == 1 && p.terms()[0].factor == 1 && p.terms()[0].atoms.size() == 1;
  if (p.is_constant() || (plain_atom && p.terms()[0].atoms[0].is_symbol())) return result;
  if (p.terms().size() > 1) result = intersect(result, of_shifted(p));
  return intersect(result, by_inequalities(p));
}

Range Bounds::by_inequalities(const Polynomial& p) const {
  Range result;
  for (const Dim e : facts_.non_negative_) {
    const int sign = constant_apart(e, p);
    if (sign == 0) continue;
    // e = sign * p + offset >= 0
    const Wide offset = Wide{view(e).constant} - Wide{sign} * p.constant();
    result = intersect(result, sign > 0 ? Range{clamped(-offset), Range::kHighest} : Range{Range::kLowest, clamped(offset)});
  }
  return result;
}

bool Bounds::at_least(const Polynomial& p, i64 low) {
  if (!p.valid()) return false;
  const Range plain = of_sum(p);
  if (plain.low >= low) return true;
  if (plain.high < low || p.is_constant()) return false;
  return of_shifted(p).low >= low || by_inequalities(p).low >= low;
}

}  // namespace resilin
