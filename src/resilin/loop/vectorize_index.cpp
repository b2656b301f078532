// src/resilin/loop/vectorize_index.cpp -- Dims as instructions: scalars where possible, else vectors without 64-bit division.
//
// A Dim that depends on the vector variable through floordiv and mod is kept as a scalar base plus small differences in F64 lanes: with q =
// floor(base / d) and r = base mod d, floor((base + delta) / d) = q + floor((r + delta) / d). F64 holds these integers exactly, and the
// rounded quotient of integers below 2^53 never passes the next integer, so its floor is right. Offsets of elements in memory stay far
// below 2^50.
#include <algorithm>
#include <bit>

#include "resilin/loop/vectorize_emission.h"

namespace resilin::loop {

namespace {

Value emit_symbol(Emission& e, Symbol symbol) {
  if (symbol.space == 's') return e.builder.pure({.operation = Operation::Integer, .immediate = symbol.index});
  const auto found = e.symbols.find(symbol_key(symbol));
  RESILIN_ASSERT(found != e.symbols.end(), cat("unbound symbol ", Dim::symbol(symbol)));
  return found->second;
}

bool is_vector_symbol(const Emission& e, Symbol symbol) {
  if (symbol.space == 's' || (e.axis.lanes > 1 && symbol == e.axis.variable)) return false;
  const auto found = e.symbols.find(symbol_key(symbol));
  return found != e.symbols.end() && e.builder.lanes(found->second) > 1;
}

bool has_vector_symbol(const Emission& e, Dim d) {
  std::vector<Symbol> symbols;
  collect_symbols(d, symbols);
  return std::any_of(symbols.begin(), symbols.end(), [&](Symbol s) { return is_vector_symbol(e, s); });
}

/// Certain from the form alone: loop variables count up from 0, divisors are sizes in use, hence at least 1.
bool is_non_negative(Dim d) {
  const DimView v = view(d);
  switch (v.kind) {
    case DimKind::Constant: return v.constant >= 0;
    case DimKind::Symbol: return d.as_symbol().space == 'i';
    case DimKind::Sum:
      return v.constant >= 0 && std::all_of(v.factors.begin(), v.factors.end(), [](i64 f) { return f >= 0; }) &&
             std::all_of(v.arguments.begin(), v.arguments.end(), is_non_negative);
    case DimKind::Product: return std::all_of(v.arguments.begin(), v.arguments.end(), is_non_negative);
    case DimKind::FloorDiv: return is_non_negative(v.arguments[0]);
    case DimKind::Mod: return true;
    case DimKind::Min: return is_non_negative(v.arguments[0]) && is_non_negative(v.arguments[1]);
    case DimKind::Max: return is_non_negative(v.arguments[0]) || is_non_negative(v.arguments[1]);
  }
  return false;
}

/// floordiv(a, b) or mod(a, b) for b > 0 in I64 lanes.
Value divide_lanes(Emission& e, DimKind kind, Value a, Value b, bool non_negative) {
  Builder& builder = e.builder;
  const int lanes = std::max(builder.lanes(a), builder.lanes(b));
  a = builder.widen(a, lanes);
  b = builder.widen(b, lanes);
  const std::optional<i64> divisor = builder.known(b);
  RESILIN_ASSERT(!divisor || *divisor > 0, "the divisors of index arithmetic are positive");
  if (divisor == 1) return kind == DimKind::FloorDiv ? a : builder.widen(builder.integer(0), lanes);
  if (divisor && std::has_single_bit(static_cast<std::uint64_t>(*divisor))) {
    if (kind == DimKind::Mod) return builder.compute(Operation::And, DType::I64, a, builder.widen(builder.integer(*divisor - 1), lanes));
    const Value shift = builder.widen(builder.integer(std::countr_zero(static_cast<std::uint64_t>(*divisor))), lanes);
    return builder.compute(non_negative ? Operation::ShiftRightLogical : Operation::ShiftRight, DType::I64, a, shift);
  }
  if (non_negative) return builder.compute(kind == DimKind::FloorDiv ? Operation::DivInt : Operation::ModInt, DType::I64, a, b);
  const Value quotient = builder.compute(Operation::DivInt, DType::I64, a, b);
  const Value remainder = builder.sub(a, builder.mul(quotient, b));
  const Value below = builder.compute(Operation::Lt, DType::Bool, remainder, builder.widen(builder.integer(0), lanes));
  if (kind == DimKind::FloorDiv)
    return builder.compute(Operation::Select, DType::I64, below, builder.add(quotient, builder.integer(-1)), quotient);
  return builder.compute(Operation::Select, DType::I64, below, builder.add(remainder, b), remainder);
}

/// Sums outer values first, so that partial sums leave inner loops.
Value add_by_depth(Builder& builder, std::vector<Value> terms, i64 constant) {
  std::stable_sort(terms.begin(), terms.end(), [&](Value a, Value b) { return builder.depth(a) < builder.depth(b); });
  Value sum = builder.integer(0);
  for (const Value term : terms) sum = builder.add(sum, term);
  return builder.add(sum, builder.integer(constant));
}

Value iota(Emission& e, DType type, int lanes) {
  const Value lane = e.builder.pure({.operation = Operation::Iota, .type = type, .lanes = static_cast<std::uint16_t>(lanes)});
  if (e.mutant == Mutant::Position && lanes > 1)
    return e.builder.compute(Operation::Add, type, lane, e.builder.constant(type, 1, lanes));  // MUTANT
  return lane;
}

/// base + delta: an I64 scalar and exact integers in F64 lanes (absent: 0).
struct Spread {
  Value base;
  Value delta = kNone;
};

class SpreadEmitter {
 public:
  explicit SpreadEmitter(Emission& e) : e_(e), b_(e.builder) {}

  /// Nothing when d has another form.
  std::optional<Spread> emit(Dim d) {
    if (!varies(e_, d)) return Spread{emit_index(e_, d)};
    if (const std::optional<Affine> affine = affine_in(d, e_.axis.variable)) {
      const Value counted = b_.compute(Operation::Cast, DType::F64, iota(e_, DType::I32, e_.axis.lanes));
      return Spread{emit_index(e_, d), scale(counted, emit_index(e_, affine->coefficient))};
    }
    const DimView v = view(d);
    if (v.kind == DimKind::Sum) return emit_sum(v);
    if (v.kind == DimKind::FloorDiv || v.kind == DimKind::Mod) return emit_division(v);
    return std::nullopt;
  }

  /// Adding 1.5 * 2^52 leaves the integer in the low bits, for any below 2^51; no instruction of AVX2 converts F64 to I64.
  Value to_lanes(const Spread& spread) {
    if (spread.delta == kNone) return spread.base;
    const Value magic = f64(0x1.8p52);
    const Value sum = b_.compute(Operation::Add, DType::F64, spread.delta, magic);
    const Value bits = b_.compute(Operation::Bitcast, DType::I64, sum);
    return b_.add(b_.sub(b_.widen(spread.base, e_.axis.lanes), b_.widen(b_.integer(std::bit_cast<i64>(0x1.8p52)), e_.axis.lanes)), bits);
  }

 private:
  Value f64(double value) { return b_.constant(DType::F64, std::bit_cast<std::uint64_t>(value), e_.axis.lanes); }
  Value to_f64(Value scalar) {
    if (b_.known(scalar)) return f64(static_cast<double>(*b_.known(scalar)));
    return b_.widen(b_.compute(Operation::Cast, DType::F64, scalar), e_.axis.lanes);
  }
  Value scale(Value delta, Value factor) {
    return b_.known(factor) == 1 ? delta : b_.compute(Operation::Mul, DType::F64, delta, to_f64(factor));
  }
  /// delta / divisor, where a power of two divides exactly as a factor.
  Value quotient(Value delta, Value divisor) {
    const std::optional<i64> constant = b_.known(divisor);
    const bool is_power = constant && std::has_single_bit(static_cast<std::uint64_t>(*constant));
    return is_power ? b_.compute(Operation::Mul, DType::F64, delta, f64(1.0 / static_cast<double>(*constant)))
                    : b_.compute(Operation::Div, DType::F64, delta, to_f64(divisor));
  }

  std::optional<Spread> emit_sum(const DimView& v) {
    std::vector<Value> bases;
    Value delta = kNone;
    for (std::size_t k = 0; k < v.arguments.size(); ++k) {
      const std::optional<Spread> term = emit(v.arguments[k]);
      if (!term) return std::nullopt;
      const Value factor = b_.integer(v.factors[k]);
      bases.push_back(b_.mul(term->base, factor));
      if (term->delta == kNone) continue;
      const Value scaled = scale(term->delta, factor);
      delta = delta == kNone ? scaled : b_.compute(Operation::Add, DType::F64, delta, scaled);
    }
    return Spread{add_by_depth(b_, std::move(bases), v.constant), delta};
  }

  std::optional<Spread> emit_division(const DimView& v) {
    if (varies(e_, v.arguments[1])) return std::nullopt;
    const std::optional<Spread> dividend = emit(v.arguments[0]);
    if (!dividend) return std::nullopt;
    const Value divisor = emit_index(e_, v.arguments[1]);
    const bool non_negative = is_non_negative(v.arguments[0]);
    const Value remainder = divide_lanes(e_, DimKind::Mod, dividend->base, divisor, non_negative);
    const Value rest = b_.compute(Operation::Add, DType::F64, to_f64(remainder), dividend->delta);
    const Value steps = b_.compute(Operation::Floor, DType::F64, quotient(rest, divisor));
    if (v.kind == DimKind::FloorDiv) return Spread{divide_lanes(e_, DimKind::FloorDiv, dividend->base, divisor, non_negative), steps};
    const Value wrapped = scale(steps, divisor);
    return Spread{remainder, b_.compute(Operation::Sub, DType::F64, dividend->delta, wrapped)};
  }

  Emission& e_;
  Builder& b_;
};

/// `lanes`: the value in each lane rather than in lane 0.
Value emit_dim(Emission& e, Dim d, bool lanes) {
  const auto part = [&](Dim p) { return lanes ? emit_lanes(e, p) : emit_index(e, p); };
  Builder& builder = e.builder;
  const DimView v = view(d);
  switch (v.kind) {
    case DimKind::Constant: return builder.integer(v.constant);
    case DimKind::Symbol: return emit_symbol(e, d.as_symbol());
    case DimKind::Sum: {
      std::vector<Value> terms;
      for (std::size_t k = 0; k < v.arguments.size(); ++k)
        terms.push_back(builder.mul(part(v.arguments[k]), builder.integer(v.factors[k])));
      // Scalars first: they are summed before they are widened.
      std::stable_partition(terms.begin(), terms.end(), [&](Value t) { return builder.lanes(t) == 1; });
      const auto vectors = std::find_if(terms.begin(), terms.end(), [&](Value t) { return builder.lanes(t) > 1; });
      Value sum = add_by_depth(builder, {terms.begin(), vectors}, v.constant);
      for (auto term = vectors; term != terms.end(); ++term) sum = builder.add(*term, sum);
      return sum;
    }
    case DimKind::Product: {
      std::vector<Value> factors;
      for (const Dim argument : v.arguments) factors.push_back(part(argument));
      std::stable_sort(factors.begin(), factors.end(), [&](Value a, Value b) {
        return std::pair(builder.lanes(a), builder.depth(a)) < std::pair(builder.lanes(b), builder.depth(b));
      });
      Value result = builder.integer(1);
      for (const Value factor : factors) result = builder.mul(result, factor);
      return result;
    }
    case DimKind::FloorDiv:
    case DimKind::Mod: return divide_lanes(e, v.kind, part(v.arguments[0]), part(v.arguments[1]), is_non_negative(v.arguments[0]));
    case DimKind::Min: return builder.minimum(part(v.arguments[0]), part(v.arguments[1]));
    case DimKind::Max: return builder.maximum(part(v.arguments[0]), part(v.arguments[1]));
  }
  RESILIN_ASSERT(false, "unknown kind of Dim");
}

}  // namespace

bool varies(const Emission& e, Dim d) { return (e.axis.lanes > 1 && contains(d, e.axis.variable)) || has_vector_symbol(e, d); }

Value emit_index(Emission& e, Dim d) {
  const Value value = emit_dim(e, d, false);
  RESILIN_ASSERT(e.builder.lanes(value) == 1, cat("the lanes of a vector differ in ", d));
  return value;
}

Value emit_extent(Emission& e, Dim extent) {
  RESILIN_ASSERT(!varies(e, extent), cat("the lanes of a vector would run loops of different lengths: ", extent));
  const Value value = emit_index(e, extent);
  if (e.mutant == Mutant::Bound) return e.builder.maximum(e.builder.add(value, e.builder.integer(-1)), e.builder.integer(0));  // MUTANT
  return value;
}

Value emit_lanes(Emission& e, Dim d) {
  if (!varies(e, d)) return emit_index(e, d);
  if (has_vector_symbol(e, d)) return emit_dim(e, d, true);
  if (affine_in(d, e.axis.variable)) return emit_offsets(e, find_address(e, d));
  SpreadEmitter spread(e);
  if (const std::optional<Spread> found = spread.emit(d)) return spread.to_lanes(*found);
  return emit_dim(e, d, true);
}

Address find_address(Emission& e, Dim offset) {
  if (!varies(e, offset)) return {.kind = Address::Kind::Uniform, .first = emit_index(e, offset)};
  const std::optional<Affine> affine = has_vector_symbol(e, offset) ? std::nullopt : affine_in(offset, e.axis.variable);
  if (!affine) return {.kind = Address::Kind::General, .offsets = emit_lanes(e, offset)};
  const Value first = emit_index(e, offset);
  if (affine->coefficient == 1) return {.kind = Address::Kind::Contiguous, .first = first};
  Value stride = emit_index(e, affine->coefficient);
  if (e.mutant == Mutant::Stride) {  // MUTANT: one closer to 0
    const std::optional<i64> constant = e.builder.known(stride);
    stride = constant ? e.builder.integer(*constant > 0 ? *constant - 1 : *constant + 1)
                      : e.builder.maximum(e.builder.add(stride, e.builder.integer(-1)), e.builder.integer(0));
  }
  return {.kind = Address::Kind::Strided, .first = first, .stride = stride};
}

Value emit_offsets(Emission& e, const Address& address) {
  const int lanes = e.axis.lanes;
  switch (address.kind) {
    case Address::Kind::Uniform: return e.builder.widen(address.first, lanes);
    case Address::Kind::Contiguous: {
      const Value first = e.builder.widen(address.first, lanes);
      return e.builder.compute(Operation::Add, DType::I64, first, iota(e, DType::I64, lanes));
    }
    case Address::Kind::Strided: {
      const Value steps = e.builder.mul(iota(e, DType::I64, lanes), address.stride);
      return e.builder.add(e.builder.widen(address.first, lanes), steps);
    }
    case Address::Kind::General: return e.builder.widen(address.offsets, lanes);
  }
  RESILIN_ASSERT(false, "unknown kind of address");
}

}  // namespace resilin::loop
