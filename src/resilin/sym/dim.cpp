// src/resilin/sym/dim.cpp -- symbols, sums and products, and walks over expressions.
#include "resilin/sym/dim.h"

#include <algorithm>

#include "resilin/sym/dim_node.h"
#include "resilin/sym/floor.h"
#include "resilin/sym/polynomial.h"

namespace resilin {
namespace {

void require_fit(bool overflowed, Dim e) {
  if (overflowed) throw ArgumentError(cat("evaluate: the value of ", e, " does not fit 64 bits; sizes must be smaller"));
}

i64 evaluate_sum(Dim e, const DimView& parts, const std::function<i64(Symbol)>& of) {
  i64 sum = parts.constant;
  for (std::size_t i = 0; i < parts.arguments.size(); ++i) {
    i64 term = 0;
    require_fit(__builtin_mul_overflow(evaluate(parts.arguments[i], of), parts.factors[i], &term), e);
    require_fit(__builtin_add_overflow(sum, term, &sum), e);
  }
  return sum;
}

i64 evaluate_quotient(Dim e, DimKind kind, i64 a, i64 b) {
  if (b == 0) throw ArgumentError(cat("evaluate: division by zero in ", e, "; the divisor must not be 0"));
  if (b == -1) {
    if (kind == DimKind::Mod) return 0;
    i64 negated = 0;
    require_fit(__builtin_sub_overflow(i64{0}, a, &negated), e);
    return negated;
  }
  return kind == DimKind::FloorDiv ? floor_quotient(a, b) : floor_remainder(a, b);
}

}  // namespace

Dim Dim::symbol(char space, int index) {
  if (space < 'a' || space > 'z' || index < 0) {
    throw ArgumentError(cat("symbol: no such name: space ", static_cast<int>(space), ", index ", index,
                            "; the space must be a letter a to z and the index at least 0"));
  }
  return intern({DimKind::Symbol, 0, {}, {}}, Symbol{space, index});
}

bool Dim::is_symbol() const { return kind_of(*this) == DimKind::Symbol; }

Symbol Dim::as_symbol() const {
  RESILIN_ASSERT(is_symbol(), cat(*this, " is no symbol"));
  return DimAccess::node(*this).symbol;
}

std::uint64_t Dim::hash() const {
  return is_constant() ? hash_mix(0xd1, static_cast<std::uint64_t>(value())) : DimAccess::node(*this).hash;
}

void Dim::refuse_constant(i64 value) {
  throw ArgumentError(cat("dim: out of range: ", value, "; an integer must lie in [", kMin, ", ", kMax, "]"));
}

i64 Dim::refuse_value() const {
  throw DataDependentError(
      cat("dim: not known yet: ", *this, "; a known integer is needed here: give the size as a constant, or state what must hold of it"));
}

Dim Dim::add(Dim a, Dim b, i64 factor) {
  if (b == 0) return a;
  if (factor == 1 && a == 0) return b;
  Polynomial sum(a);
  sum.add(b, factor);
  return sum.dim();
}

Dim Dim::multiply(Dim a, Dim b) {
  if (a == 0 || b == 0) return 0;
  if (a == 1) return b;
  if (b == 1) return a;
  return (Polynomial(a) * Polynomial(b)).dim();
}

bool may_be_equal(std::span<const Dim> a, std::span<const Dim> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Dim x, Dim y) { return may_be_equal(x, y); });
}

Dim product(std::span<const Dim> dims) {
  Dim result = 1;
  for (const Dim dim : dims) result *= dim;
  return result;
}

bool contains(Dim e, Symbol symbol) {
  if (e.is_symbol()) return e.as_symbol() == symbol;
  return std::ranges::any_of(view(e).arguments, [&](Dim argument) { return contains(argument, symbol); });
}

std::optional<Affine> affine_in(Dim e, Symbol symbol) {
  const Dim atom = Dim::symbol(symbol);
  const std::optional<Linear> parts = linear_in(Polynomial(e), atom);
  if (!parts) return std::nullopt;
  const Affine result{parts->coefficient.dim(), parts->rest.dim()};
  if (contains(result.coefficient, symbol) || contains(result.rest, symbol)) return std::nullopt;
  return result;
}

void collect_symbols(Dim e, std::vector<Symbol>& out) {
  if (e.is_symbol()) {
    if (std::find(out.begin(), out.end(), e.as_symbol()) == out.end()) out.push_back(e.as_symbol());
    return;
  }
  for (const Dim argument : view(e).arguments) collect_symbols(argument, out);
}

Dim with_arguments(Dim e, std::span<const Dim> arguments) {
  const DimView parts = view(e);
  if (std::ranges::equal(arguments, parts.arguments)) return e;
  switch (parts.kind) {
    case DimKind::Constant:
    case DimKind::Symbol: return e;
    case DimKind::Product: return product(arguments);
    case DimKind::FloorDiv: return floordiv(arguments[0], arguments[1]);
    case DimKind::Mod: return mod(arguments[0], arguments[1]);
    case DimKind::Min: return min(arguments[0], arguments[1]);
    case DimKind::Max: return max(arguments[0], arguments[1]);
    case DimKind::Sum: break;
  }
  Polynomial sum{Dim(parts.constant)};
  for (std::size_t i = 0; i < arguments.size(); ++i) sum.add(arguments[i], parts.factors[i]);
  return sum.dim();
}

Dim substitute(Dim e, const std::function<Dim(Symbol)>& with) {
  if (e.is_symbol()) return with(e.as_symbol());
  SmallVector<Dim, 8> arguments;
  for (const Dim argument : view(e).arguments) arguments.push_back(substitute(argument, with));
  return with_arguments(e, arguments);
}

i64 evaluate(Dim e, const std::function<i64(Symbol)>& of) {
  const DimView parts = view(e);
  if (parts.kind == DimKind::Constant) return parts.constant;
  if (parts.kind == DimKind::Symbol) return of(e.as_symbol());
  if (parts.kind == DimKind::Sum) return evaluate_sum(e, parts, of);
  i64 result = evaluate(parts.arguments[0], of);
  for (const Dim argument : parts.arguments.subspan(1)) {
    const i64 next = evaluate(argument, of);
    switch (parts.kind) {
      case DimKind::Product: require_fit(__builtin_mul_overflow(result, next, &result), e); break;
      case DimKind::Min: result = std::min(result, next); break;
      case DimKind::Max: result = std::max(result, next); break;
      default: result = evaluate_quotient(e, parts.kind, result, next);
    }
  }
  return result;
}

}  // namespace resilin
