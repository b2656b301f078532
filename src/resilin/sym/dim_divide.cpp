// src/resilin/sym/dim_divide.cpp -- canonical floordiv, mod, min and max: the rewritings that hold for every value of the symbols.
//
// A quotient and a remainder by 0 count as 0 here, so that what is rewritten agrees with DimProgram everywhere. Divisors that are symbols
// may be 0 or negative; Facts knows better and does more.
#include <algorithm>
#include <numeric>

#include "resilin/sym/dim_node.h"
#include "resilin/sym/floor.h"
#include "resilin/sym/polynomial.h"

namespace resilin {
namespace {

Dim intern_pair(DimKind kind, Dim a, Dim b) {
  const Dim arguments[] = {a, b};
  return intern({kind, 0, {}, arguments});
}

/// Splits a by the constant n > 1: a = n * quotient + rest. Coefficients of rest keep their sign (so that ranges of negated terms stay
/// narrow), its constant lies in [0, n).
struct Split {
  Polynomial quotient;
  Polynomial rest;
};
Split split(const Polynomial& a, i64 n) {
  Split result;
  for (const Polynomial::Term& term : a.terms()) {
    const i64 quotient = term.is_constant() ? floor_quotient(term.factor, n) : term.factor / n;
    result.quotient.add_term(quotient, term.atoms);
    result.rest.add_term(term.factor - quotient * n, term.atoms);
  }
  return result;
}

/// rest = g * result + constant where 0 <= constant < g and g divides all coefficients; gives back that constant.
i64 divide_with_constant(Polynomial& rest, i64 g) {
  const i64 left = floor_remainder(rest.constant(), g);
  rest.add_term(-left, {});
  rest.divide_factors(g);
  return left;
}

/// floordiv(floordiv(x, y) + c, n) = floordiv(x + c*y, y*n), for a constant n > 0 and where y is a positive constant or c is 0.
std::optional<Dim> merge_nested(const Polynomial& rest, i64 n) {
  const Polynomial::Term& first = rest.terms().front();
  if (rest.terms().size() > (rest.constant() != 0 ? 2u : 1u) || first.factor != 1 || first.atoms.size() != 1) return std::nullopt;
  if (kind_of(first.atoms[0]) != DimKind::FloorDiv) return std::nullopt;
  const std::span<const Dim> inner = view(first.atoms[0]).arguments;
  if (!inner[1].is_constant() && rest.constant() != 0) return std::nullopt;
  Polynomial dividend(inner[0]);
  if (inner[1].is_constant()) dividend.add(Polynomial(inner[1]) * Polynomial(Dim(rest.constant())));
  const Polynomial divisor = Polynomial(inner[1]) * Polynomial(Dim(n));
  const auto fits = [](const Polynomial& p) {
    return p.valid() &&
           std::ranges::all_of(p.terms(), [](const Polynomial::Term& term) { return term.factor < Dim::kMax && term.factor > Dim::kMin; });
  };
  if (!fits(dividend) || !fits(divisor)) return std::nullopt;
  return floordiv(dividend.dim(), divisor.dim());
}

Dim floordiv_constant(Dim a, i64 n) {
  if (n == 0) throw ArgumentError(cat("floordiv: division by zero: ", a, " / 0; the divisor must not be 0"));
  if (n < 0) return n == -1 ? -a : floordiv_constant(-a, (-Dim(n)).value());
  if (a.is_constant()) return floor_quotient(a.value(), n);
  if (n == 1) return a;
  auto [quotient, rest] = split(a, n);
  const i64 g = std::gcd(n, rest.content());
  if (rest.is_constant() || g == n) return quotient.dim();
  divide_with_constant(rest, g);
  const i64 divisor = n / g;
  if (const std::optional<Dim> merged = merge_nested(rest, divisor)) {
    quotient.add(*merged);
  } else {
    quotient.add(intern_pair(DimKind::FloorDiv, rest.dim(), divisor));
  }
  return quotient.dim();
}

/// mod(c*mod(x, m) + y, n) = mod(c*x + y, n) when n divides c*m and m > 0. Gives back whether there was one.
bool absorb_inner_mod(Polynomial& rest, i64 n) {
  for (const Polynomial::Term& term : rest.terms()) {
    if (term.atoms.size() != 1 || kind_of(term.atoms[0]) != DimKind::Mod) continue;
    const std::span<const Dim> inner = view(term.atoms[0]).arguments;
    if (!inner[1].is_constant() || (static_cast<Wide>(term.factor) * inner[1].value()) % n != 0) continue;
    const i64 factor = term.factor;
    const Polynomial::Term absorbed = term;
    rest.add_term(-factor, absorbed.atoms);
    rest.add(inner[0], factor);
    return true;
  }
  return false;
}

Dim mod_constant(Dim a, i64 n) {
  if (n == 0) throw ArgumentError(cat("mod: division by zero: ", a, " mod 0; the divisor must not be 0"));
  if (n == 1 || n == -1) return 0;
  if (n < 0) return -mod_constant(-a, (-Dim(n)).value());
  if (a.is_constant()) return floor_remainder(a.value(), n);
  Polynomial rest = split(a, n).rest;
  while (absorb_inner_mod(rest, n)) rest = split(rest, n).rest;
  if (rest.is_constant()) return rest.dim();
  const i64 g = std::gcd(n, rest.content());
  if (g == 1) return intern_pair(DimKind::Mod, rest.dim(), n);
  const i64 left = divide_with_constant(rest, g);
  return Dim(g) * mod_constant(rest.dim(), n / g) + left;
}

/// A quotient's operands without their common factor and with a positive leading coefficient of the divisor.
struct Operands {
  Polynomial a;
  Polynomial b;
  i64 factor;  // what both were divided by
};
Operands reduced(Dim a, Dim b) {
  Operands result{a, b, 1};
  const i64 g = std::gcd(std::gcd(result.a.content(), result.a.constant()), std::gcd(result.b.content(), result.b.constant()));
  result.factor = result.b.terms().front().factor < 0 ? -g : g;
  result.a.divide_factors(result.factor);
  result.b.divide_factors(result.factor);
  return result;
}

Dim floordiv_symbolic(Dim a, Dim b) {
  if (a == 0) return 0;
  const Operands operands = reduced(a, b);
  const Dim dividend = operands.a.dim();
  const Dim divisor = operands.b.dim();
  if (divisor.is_constant()) return floordiv_constant(dividend, divisor.value());
  return intern_pair(DimKind::FloorDiv, dividend, divisor);
}

/// mod(x*b + y, b) = mod(y, b), also when b is 0; done where b is one term.
Dim mod_symbolic(Dim a, Dim b) {
  Operands operands = reduced(a, b);
  if (operands.b.terms().size() == 1) {
    operands.a = divide(operands.a, operands.b).remainder;
  } else if (operands.a == operands.b) {
    operands.a = Polynomial();
  }
  const Dim divisor = operands.b.dim();
  const Dim dividend = operands.a.dim();
  if (dividend == 0) return 0;
  Dim result;
  if (divisor.is_constant()) {
    result = mod_constant(dividend, divisor.value());
  } else if (operands.a != Polynomial(a)) {
    result = mod_symbolic(dividend, divisor);
  } else if (kind_of(dividend) == DimKind::Mod && view(dividend).arguments[1] == divisor) {
    result = dividend;  // a remainder is its own remainder by the same divisor, whatever its sign
  } else {
    result = intern_pair(DimKind::Mod, dividend, divisor);
  }
  return result * Dim(operands.factor);
}

void collect_operands(DimKind kind, Dim e, std::vector<Dim>& out) {
  if (kind_of(e) != kind) {
    out.push_back(e);
    return;
  }
  for (const Dim argument : view(e).arguments) collect_operands(kind, argument, out);
}

/// Keeps what differs by a constant from no better operand.
void insert_operand(DimKind kind, Dim e, std::vector<Dim>& operands) {
  for (Dim& known : operands) {
    const Polynomial difference = Polynomial(e) - Polynomial(known);
    if (!difference.valid() || !difference.is_constant()) continue;
    if ((difference.constant() < 0) == (kind == DimKind::Min)) known = e;
    return;
  }
  operands.push_back(e);
}

/// Operands are flattened, thinned and sorted, then nested to the right: min(a, min(b, c)).
Dim extremum(DimKind kind, Dim a, Dim b) {
  if (a == b) return a;
  if (a.is_constant() && b.is_constant()) return (a.value() < b.value()) == (kind == DimKind::Min) ? a : b;
  std::vector<Dim> all;
  collect_operands(kind, a, all);
  collect_operands(kind, b, all);
  std::vector<Dim> operands;
  for (const Dim e : all) insert_operand(kind, e, operands);
  std::ranges::sort(operands, [](Dim x, Dim y) { return compare_dims(x, y) < 0; });
  Dim result = operands.back();
  for (std::size_t i = operands.size() - 1; i-- > 0;) result = intern_pair(kind, operands[i], result);
  return result;
}

}  // namespace

Dim floordiv(Dim a, Dim b) { return b.is_constant() ? floordiv_constant(a, b.value()) : floordiv_symbolic(a, b); }

Dim mod(Dim a, Dim b) { return b.is_constant() ? mod_constant(a, b.value()) : mod_symbolic(a, b); }

Dim ceil_div(Dim a, Dim b) {
  if (b.is_constant() && b.value() > 0) return floordiv(a + (b - 1), b);
  return -floordiv(-a, b);
}

Dim min(Dim a, Dim b) { return extremum(DimKind::Min, a, b); }

Dim max(Dim a, Dim b) { return extremum(DimKind::Max, a, b); }

}  // namespace resilin
