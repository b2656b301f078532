// src/resilin/loop/vectorize_scalar.cpp -- expressions as instructions; uniform parts stay scalar.
#include <bit>
#include <limits>

#include "resilin/loop/vectorize_emission.h"

namespace resilin::loop {

namespace {

Value join_masks(Emission& e, Operation operation, Value left, Value right) {
  Builder& b = e.builder;
  if (left == kNone) return right;
  const int lanes = std::max(b.lanes(left), b.lanes(right));
  return b.compute(operation, DType::Bool, b.widen(left, lanes), b.widen(right, lanes));
}

Value mask_of(Emission& e, const Guard& guard) {
  Builder& b = e.builder;
  Value any = kNone;
  for (const Conjunction& conjunction : guard) {
    Value all = kNone;
    for (const Literal& literal : conjunction) {
      const Value condition = evaluate(e, literal.condition);
      all = join_masks(e, Operation::And, all, literal.negated ? b.compute(Operation::Not, DType::Bool, condition) : condition);
    }
    any = join_masks(e, Operation::Or, any, all);
  }
  return any == kNone ? b.constant(DType::Bool, 0) : any;
}

Value bits_constant(Emission& e, DType type, std::uint64_t bits, Value like) {
  return e.builder.constant(type, bits, e.builder.lanes(like));
}

/// Every cast gives something visibly wrong; one that widens gives every lane the first one's value, so that a cast back does not undo it.
Value emit_wrong_cast(Emission& e, DType to, Value a) {
  Builder& b = e.builder;
  if (size_bytes(to) > size_bytes(b.type(a)) && b.lanes(a) > 1) {
    const Value first = b.pure({.operation = Operation::ExtractLane, .type = b.type(a), .a = a});
    return b.widen(b.compute(Operation::Cast, to, first), b.lanes(a));
  }
  const auto flip = [&](Value v, DType integer, std::uint64_t bit) {
    const DType type = b.type(v);
    const Value bits = b.compute(Operation::Bitcast, integer, v);
    return b.compute(Operation::Bitcast, type, b.compute(Operation::Xor, integer, bits, bits_constant(e, integer, bit, bits)));
  };
  if (to == DType::Bool) return b.compute(Operation::Not, to, b.compute(Operation::Cast, to, a));
  if (is_integral(to)) return b.compute(Operation::Xor, to, b.compute(Operation::Cast, to, a), bits_constant(e, to, 1, a));
  if (to == DType::F32) return flip(b.compute(Operation::Cast, to, a), DType::I32, 1u << 20);
  if (to == DType::F64) return flip(b.compute(Operation::Cast, to, a), DType::I64, std::uint64_t{1} << 49);
  const Value single = b.type(a) == DType::F32 ? a : b.compute(Operation::Cast, DType::F32, a);
  return b.compute(Operation::Cast, to, flip(single, DType::I32, 1u << 20));
}

/// An operand of a node; the sides of a Select lie on ways of their own.
Value evaluate_operand(Emission& e, const Scalar& s, std::size_t k, Value condition) {
  const bool is_side = s.code() == Code::Select && k > 0;
  if (!is_side || e.statement == nullptr || !e.statement->by_path) return evaluate(e, s.args()[k]);
  const Value outer = e.statement->path;
  const Value taken = k == 1 ? condition : e.builder.compute(Operation::Not, DType::Bool, condition);
  e.statement->path = join_masks(e, Operation::And, outer, taken);
  const Value value = evaluate(e, s.args()[k]);
  e.statement->path = outer;
  return value;
}

Value emit_operation(Emission& e, const Scalar& s) {
  Builder& b = e.builder;
  Value args[3] = {kNone, kNone, kNone};
  int lanes = 1;
  const std::span<const Scalar> operands = s.args();
  for (std::size_t k = 0; k < operands.size(); ++k) {
    args[k] = evaluate_operand(e, s, k, args[0]);
    lanes = std::max(lanes, b.lanes(args[k]));
  }
  if (e.mutant == Mutant::Fill && s.code() == Code::Select) {  // MUTANT
    for (const std::size_t side : {std::size_t{1}, std::size_t{2}}) {
      const bool is_fill = operands[side].code() == Code::Constant || operands[side].code() == Code::Argument;
      if (is_fill && e.memory.has_load(operands[3 - side])) args[side] = replace_fill(e, args[side]);
    }
  }
  for (std::size_t k = 0; k < operands.size(); ++k) args[k] = b.widen(args[k], lanes);
  if (e.mutant == Mutant::Cast && s.code() == Code::Cast) return emit_wrong_cast(e, s.dtype(), args[0]);  // MUTANT
  const int distance = static_cast<int>(s.code()) - static_cast<int>(Code::Neg);
  return b.compute(static_cast<Operation>(distance), s.dtype(), args[0], args[1], args[2]);
}
static_assert(static_cast<int>(Operation::Neg) == 0);
static_assert(static_cast<int>(Operation::Select) == static_cast<int>(Code::Select) - static_cast<int>(Code::Neg));

Value emit_node(Emission& e, const Scalar& s) {
  switch (s.code()) {
    case Code::Constant: return e.builder.constant(s.dtype(), s.bits());
    case Code::Input:
      RESILIN_ASSERT(static_cast<std::size_t>(s.index()) < e.inputs.size(), "an Input outside of a combiner");
      return e.inputs[static_cast<std::size_t>(s.index())];
    case Code::Load: {
      if (e.statement != nullptr && e.statement->by_path) return emit_load(e, s, e.statement->path);
      if (e.statement != nullptr) {
        const auto guard = e.statement->guards.find(s.identity());
        if (guard != e.statement->guards.end()) return emit_load(e, s, mask_of(e, guard->second));
      }
      return emit_load(e, s, kNone);
    }
    case Code::Integer: return emit_lanes(e, s.offset());
    case Code::Argument: return e.builder.pure({.operation = Operation::Argument, .type = s.dtype(), .immediate = s.index()});
    case Code::Local: {
      const auto found = e.locals.find(s.index());
      RESILIN_ASSERT(found != e.locals.end(), cat("local ", s.index(), " has no value"));
      return found->second;
    }
    default: return emit_operation(e, s);
  }
}

/// Where the value of a node is remembered.
std::unordered_map<const void*, Value>& memory_of(Emission& e, const Scalar& s) {
  if (!e.memory.has_load(s)) return e.frame->values;
  if (e.statement != nullptr && e.statement->guards.contains(s.identity())) return e.statement->values;
  return e.memory.has_changing_load(s) ? e.frame->changing : e.frame->values;
}

}  // namespace

Value evaluate(Emission& e, const Scalar& s) {
  if (e.statement != nullptr && e.statement->by_path && e.memory.has_load(s)) {
    const std::pair<const void*, Value> way = {s.identity(), e.statement->path};
    const auto known = e.statement->path_values.find(way);
    return known != e.statement->path_values.end() ? known->second : e.statement->path_values[way] = emit_node(e, s);
  }
  std::unordered_map<const void*, Value>& memory = memory_of(e, s);
  const auto found = memory.find(s.identity());
  if (found != memory.end()) return found->second;
  const Value value = emit_node(e, s);
  memory[s.identity()] = value;
  return value;
}

Value evaluate_root(Emission& e, const GuardedRoot& root) {
  if (!e.statement->by_path || !root.mask.defined()) return evaluate(e, root.value);
  e.statement->path = evaluate(e, root.mask);
  const Value value = evaluate(e, root.value);
  e.statement->path = kNone;
  return value;
}

Value evaluate_lanes(Emission& e, const Scalar& s) { return e.builder.widen(evaluate(e, s), e.axis.lanes); }

std::vector<Value> combine(Emission& e, const Combiner& combiner, std::span<const Value> left, std::span<const Value> right) {
  std::vector<Value> inputs(left.begin(), left.end());
  inputs.insert(inputs.end(), right.begin(), right.end());
  const FrameScope frame(e);
  const std::span<const Value> outer = std::exchange(e.inputs, inputs);
  std::vector<Value> results;
  for (const Scalar& formula : combiner.combine) results.push_back(e.builder.widen(evaluate(e, formula), e.builder.lanes(left[0])));
  e.inputs = outer;
  return results;
}

Value replace_fill(Emission& e, Value fill) {
  Builder& b = e.builder;
  const DType type = b.type(fill);
  if (type == DType::Bool || is_integral(type)) return b.compute(Operation::Not, type, fill);
  const bool is_arithmetic = compute_dtype(type) == type;
  const DType wide = compute_dtype(type);
  const Value value = is_arithmetic ? fill : b.compute(Operation::Cast, wide, fill);
  const auto number = [&](double x) {
    return bits_constant(e, wide,
                         wide == DType::F64 ? std::bit_cast<std::uint64_t>(x) : std::bit_cast<std::uint32_t>(static_cast<float>(x)), value);
  };
  const Value was_nan = b.compute(Operation::Ne, DType::Bool, value, value);
  const Value other = b.compute(Operation::Select, wide, was_nan, number(3), number(std::numeric_limits<double>::quiet_NaN()));
  return is_arithmetic ? other : b.compute(Operation::Cast, type, other);
}

}  // namespace resilin::loop
