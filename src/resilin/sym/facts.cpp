// src/resilin/sym/facts.cpp -- records what is known about symbols and answers questions from it.
#include "resilin/sym/facts.h"

#include <algorithm>
#include <numeric>

#include "resilin/sym/bounds.h"
#include "resilin/sym/dim_node.h"
#include "resilin/sym/floor.h"
#include "resilin/sym/polynomial.h"
#include "resilin/sym/simplify.h"

namespace resilin {
namespace {

constexpr int kMaxPropagations = 4;  // rounds; facts such as i < j, j < i + 1 would narrow for ever
constexpr std::size_t kMaxPropagatedTerms = 64;

bool before(Symbol a, Symbol b) { return a.space != b.space ? a.space < b.space : a.index < b.index; }

/// The multiples of n inside the range.
Range rounded(Range range, i64 n) {
  if (n == 1) return range;
  if (range.low != Range::kLowest) range.low = -floor_quotient(-range.low, n) * n;
  if (range.high != Range::kHighest) range.high = floor_quotient(range.high, n) * n;
  return range;
}

Range overlap(Range a, Range b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }

/// A query whose intermediate results grow too large has no answer, which is one of the answers it may give.
template <class Query, class Answer>
Answer answer_or(Answer unknown, const Query& query) {
  try {
    return query();
  } catch (const ArgumentError&) {
    return unknown;
  }
}

/// The last symbol that stands alone with coefficient 1 or -1 in p = 0 and nowhere else, and what it then equals.
std::optional<std::pair<Symbol, Dim>> solved(const Polynomial& p) {
  for (std::size_t i = p.terms().size(); i-- > 0;) {
    const Polynomial::Term& term = p.terms()[i];
    if (term.atoms.size() != 1 || !term.atoms[0].is_symbol() || (term.factor != 1 && term.factor != -1)) continue;
    const Symbol symbol = term.atoms[0].as_symbol();
    Polynomial rest = p - Polynomial::of_term(term.factor, term.atoms);
    if (term.factor == 1) rest = Polynomial() - rest;
    const Dim value = rest.dim();
    if (!contains(value, symbol)) return std::pair(symbol, value);
  }
  return std::nullopt;
}

}  // namespace

const Facts::SymbolFact* Facts::find(Symbol symbol) const {
  const std::vector<SymbolFact>::const_iterator at =
      std::ranges::lower_bound(symbols_, symbol, &before, [](const SymbolFact& fact) { return fact.symbol; });
  return at != symbols_.end() && at->symbol == symbol ? &*at : nullptr;
}

Facts::SymbolFact& Facts::entry(Symbol symbol) {
  const std::vector<SymbolFact>::iterator at =
      std::ranges::lower_bound(symbols_, symbol, &before, [](const SymbolFact& fact) { return fact.symbol; });
  if (at != symbols_.end() && at->symbol == symbol) return *at;
  return *symbols_.insert(at, SymbolFact{symbol, {}, {}, 1, std::nullopt});
}

Dim Facts::resolve(Dim e) const {
  if (e.is_symbol()) {
    const SymbolFact* fact = find(e.as_symbol());
    return fact != nullptr && fact->equals ? *fact->equals : e;
  }
  const DimView parts = view(e);
  SmallVector<Dim, 8> arguments;
  for (const Dim argument : parts.arguments) arguments.push_back(resolve(argument));
  if ((parts.kind == DimKind::FloorDiv || parts.kind == DimKind::Mod) && arguments[1] == 0) return 0;
  return with_arguments(e, arguments);
}

void Facts::set_range(Symbol symbol, Range range) {
  Facts next = *this;
  next.narrow(symbol, range);
  next.propagate();
  *this = std::move(next);
}

void Facts::set_multiple(Symbol symbol, i64 n) {
  Facts next = *this;
  next.add_multiple(symbol, n);
  next.propagate();
  *this = std::move(next);
}

void Facts::assume_equal(Dim a, Dim b) {
  if (const std::optional<bool> known = is_equal(a, b); known == false) {
    throw ArgumentError(cat("facts: ", a, " and ", b, " are different whatever the sizes; they must be equal"));
  }
  Facts next = *this;
  next.add_equal(a, b);
  next.propagate();
  *this = std::move(next);
}

void Facts::assume_less_equal(Dim a, Dim b) {
  Facts next = *this;
  next.add_non_negative(b - a);
  next.propagate();
  *this = std::move(next);
}

void Facts::narrow(Symbol symbol, Range range) {
  SymbolFact& fact = entry(symbol);
  if (fact.equals) {
    const Dim e = *fact.equals;
    return add_range(e, range);
  }
  const Range declared = rounded(overlap(fact.range, range), fact.multiple);
  const Range known = rounded(overlap(fact.known, range), fact.multiple);
  if (known.low > known.high || declared.low > declared.high) {
    throw ArgumentError(cat("facts: no value is left for ", Dim::symbol(symbol), ": ", range, " and ", fact.known, ", multiple of ",
                            fact.multiple, "; at least one must be left"));
  }
  fact.range = declared;
  narrow_known(symbol, known);
}

void Facts::add_multiple(Symbol symbol, i64 n) {
  if (n < 1 || n > Range::kHighest) {
    throw ArgumentError(cat("facts: ", Dim::symbol(symbol), " cannot be a multiple of ", n, "; it must be 1 to ", Range::kHighest));
  }
  SymbolFact& fact = entry(symbol);
  if (fact.equals) return add_equal(mod(*fact.equals, n), 0);
  i64 joined = 0;
  if (__builtin_mul_overflow(fact.multiple / std::gcd(fact.multiple, n), n, &joined) || joined > Range::kHighest) {
    throw ArgumentError(cat("facts: ", Dim::symbol(symbol), " would be a multiple of ", fact.multiple, " and ", n,
                            "; their common multiple must be at most ", Range::kHighest));
  }
  fact.multiple = joined;
  narrow(symbol, {});
}

void Facts::add_range(Dim e, Range range) {
  if (range.low != Range::kLowest) add_non_negative(e - range.low);
  if (range.high != Range::kHighest) add_non_negative(Dim(range.high) - e);
}

void Facts::add_equal(Dim a, Dim b) {
  a = resolve(a);
  b = resolve(b);
  if (a == b) return;
  if (a.is_symbol() && (!b.is_symbol() || before(b.as_symbol(), a.as_symbol())) && !contains(b, a.as_symbol()))
    return replace(a.as_symbol(), b);
  if (b.is_symbol() && !contains(a, b.as_symbol())) return replace(b.as_symbol(), a);
  Polynomial p = Polynomial(a) - Polynomial(b);
  if (!p.valid()) throw ArgumentError("facts: an equality is too large to be kept; its coefficients must stay within 62 bits");
  const i64 content = p.content();
  if (content == 0 || p.constant() % content != 0) {
    throw ArgumentError(cat("facts: ", a, " and ", b, " are different whatever the sizes; they must be equal"));
  }
  p.divide_factors(p.terms().front().factor < 0 ? -content : content);
  if (const std::optional<std::pair<Symbol, Dim>> solution = solved(p)) return replace(solution->first, solution->second);
  add_rewrite(p);
}

void Facts::add_rewrite(const Polynomial& p) {
  const Polynomial::Term leading = p.terms().front();
  const bool alone = p.terms().size() == 1 && leading.atoms.size() == 1;
  if (alone && kind_of(leading.atoms[0]) == DimKind::Mod) {
    const std::span<const Dim> operands = view(leading.atoms[0]).arguments;
    if (operands[0].is_symbol() && operands[1].is_constant()) return add_multiple(operands[0].as_symbol(), operands[1].value());
  }
  const Polynomial left = Polynomial::of_term(leading.factor, leading.atoms);
  const Rewrite rewrite{left.dim(), (left - p).dim()};
  const auto order = [](const Rewrite& x, const Rewrite& y) {
    return std::pair(compare_dims(x.left, y.left), compare_dims(x.right, y.right)) < std::pair(0, 0);
  };
  const std::vector<Rewrite>::iterator at = std::ranges::lower_bound(rewrites_, rewrite, order);
  if (at == rewrites_.end() || at->left != rewrite.left || at->right != rewrite.right) rewrites_.insert(at, rewrite);
}

void Facts::replace(Symbol symbol, Dim with) {
  const SymbolFact old = entry(symbol);
  entry(symbol) = {symbol, {}, {}, 1, with};
  const std::vector<Rewrite> rewrites = std::exchange(rewrites_, {});
  const std::vector<Dim> inequalities = std::exchange(non_negative_, {});
  for (SymbolFact& fact : symbols_) {
    if (fact.equals && fact.symbol != symbol) fact.equals = resolve(*fact.equals);
  }
  if (with.is_symbol()) {
    narrow(with.as_symbol(), old.range);
    add_multiple(with.as_symbol(), old.multiple);
  } else {
    add_range(with, old.range);
    if (old.multiple > 1) add_equal(mod(with, old.multiple), 0);
  }
  for (const Rewrite& rewrite : rewrites) add_equal(rewrite.left, rewrite.right);
  for (const Dim e : inequalities) add_non_negative(e);
}

void Facts::add_non_negative(Dim e) {
  Polynomial p(resolve(e));
  if (!p.valid()) throw ArgumentError("facts: an inequality is too large to be kept; its coefficients must stay within 62 bits");
  const i64 content = p.content();
  if (content > 1) {
    const i64 rest = floor_remainder(p.constant(), content);
    p.add_term(-rest, {});
    p.divide_factors(content);
  }
  if (p.is_constant() ? p.constant() < 0 : Bounds(*this).of(p).high < 0) {
    throw ArgumentError(cat("facts: ", e, " is always negative; an assumed inequality must be able to hold"));
  }
  if (p.is_constant()) return;
  const Polynomial::Term& first = p.terms().front();
  const bool single = p.terms().size() == (p.constant() == 0 ? 1u : 2u);
  if (single && first.atoms.size() == 1 && first.atoms[0].is_symbol()) {
    const i64 limit = std::clamp(p.constant(), Range::kLowest, Range::kHighest);
    return narrow(first.atoms[0].as_symbol(), first.factor > 0 ? Range{-limit, Range::kHighest} : Range{Range::kLowest, limit});
  }
  const Dim known = p.dim();
  const auto order = [](Dim x, Dim y) { return compare_dims(x, y) < 0; };
  const std::vector<Dim>::iterator at = std::ranges::lower_bound(non_negative_, known, order);
  if (at != non_negative_.end() && *at == known) return;
  non_negative_.insert(at, known);
  propagate_from(known);
}

void Facts::narrow_known(Symbol symbol, Range range) {
  SymbolFact& fact = entry(symbol);
  const Range next = rounded(overlap(fact.known, range), fact.multiple);
  if (next.low > next.high) {
    throw ArgumentError(
        cat("facts: the assumptions contradict each other: no value is left for ", Dim::symbol(symbol), "; at least one must be left"));
  }
  if (next == fact.known) return;
  fact.known = next;
  if (std::ranges::find(narrowed_, symbol) == narrowed_.end()) narrowed_.push_back(symbol);
}

/// From c*x + rest >= 0 follows a bound of x.
void Facts::propagate_from(Dim e) {
  const Polynomial p(e);
  if (p.terms().size() > kMaxPropagatedTerms) return;
  for (const Polynomial::Term& term : p.terms()) {
    if (term.atoms.size() != 1 || !term.atoms[0].is_symbol()) continue;
    const std::optional<Linear> parts = linear_in(p, term.atoms[0]);
    if (!parts || !parts->coefficient.is_constant()) continue;
    const i64 rest = Bounds(*this).of(parts->rest).high;
    if (rest == Range::kHighest) continue;
    narrow_known(term.atoms[0].as_symbol(), term.factor > 0 ? Range{-floor_quotient(rest, term.factor), Range::kHighest}
                                                            : Range{Range::kLowest, floor_quotient(rest, -term.factor)});
  }
}

void Facts::propagate() {
  for (int round = 0; round < kMaxPropagations && !narrowed_.empty(); ++round) {
    const std::vector<Symbol> changed = std::exchange(narrowed_, {});
    for (const Dim e : non_negative_) {
      if (std::ranges::any_of(changed, [&](Symbol symbol) { return contains(e, symbol); })) propagate_from(e);
    }
  }
  narrowed_.clear();
}

Range Facts::range(Dim e) const {
  const Dim resolved = answer_or(e, [&] { return resolve(e); });
  Bounds bounds(*this);
  return intersect(bounds.of(resolved), bounds.of(simplify(e)));
}

Dim Facts::simplify(Dim e) const {
  if (e.is_constant()) return e;
  return answer_or(e, [&] { return Simplifier(*this).run(e); });
}

std::optional<bool> Facts::is_less_equal(Dim a, Dim b) const {
  if (a.is_constant() && b.is_constant()) return a.value() <= b.value();
  return answer_or(std::optional<bool>(), [&]() -> std::optional<bool> {
    Simplifier simplifier(*this);
    const Polynomial difference(simplifier.run(b - a));
    if (simplifier.prover().non_negative(difference)) return true;
    if (simplifier.prover().non_negative(Polynomial(Dim(-1)) - difference)) return false;
    return std::nullopt;
  });
}

std::optional<bool> Facts::is_less(Dim a, Dim b) const {
  const std::optional<bool> reversed = is_less_equal(b, a);
  return reversed ? std::optional<bool>(!*reversed) : std::nullopt;
}

std::optional<bool> Facts::is_equal(Dim a, Dim b) const {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return false;
  return answer_or(std::optional<bool>(), [&]() -> std::optional<bool> {
    Simplifier simplifier(*this);
    if (simplifier.run(a) == simplifier.run(b)) return true;
    const Polynomial difference(simplifier.run(a - b));
    if (difference.is_constant()) return difference.is_zero();
    const Range range = simplifier.prover().bounds().of(difference);
    if (range.low > 0 || range.high < 0) return false;
    const Polynomial negated = Polynomial() - difference;
    const Polynomial one(Dim(1));
    Prover& prover = simplifier.prover();
    if (prover.non_negative(difference - one) || prover.non_negative(negated - one)) return false;
    if (prover.non_negative(difference) && prover.non_negative(negated)) return true;
    return std::nullopt;
  });
}

bool Facts::proves_multiple(Dim e, i64 n) const {
  if (n == 0) return proves_equal(e, 0);
  if (n < 0) n = -std::max(n, -Range::kHighest);
  return answer_or(false, [&] {
    Simplifier simplifier(*this);
    return simplifier.prover().divisor_of(simplifier.run(e), n) == n || simplifier.run(mod(e, n)) == 0;
  });
}

}  // namespace resilin
