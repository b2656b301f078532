// src/resilin/loop/vectorize_memory.cpp -- loads, stores and checks: which instruction fits an address and a mask.
#include "resilin/loop/vectorize_emission.h"

namespace resilin::loop {

namespace {

/// `mask` in the active lanes; absent: all.
Value mask_lanes(Emission& e, Value mask) {
  const Value active = active_lanes(e);
  if (mask == kNone) return active;
  return active == kNone ? mask : e.builder.compute(Operation::And, DType::Bool, mask, active);
}

/// Bool scalars: the mask is true in all active lanes; in some, but not in all.
struct Coverage {
  Value all;
  Value part;
};
Coverage cover(Emission& e, Value mask) {
  Builder& b = e.builder;
  const auto any_false = [&](Value v) { return b.pure({.operation = Operation::AnyFalse, .type = DType::Bool, .a = v}); };
  const auto negate = [&](Value v) { return b.compute(Operation::Not, DType::Bool, v); };
  const Value active = active_lanes(e);
  const Value incomplete = any_false(active == kNone ? mask : b.compute(Operation::Or, DType::Bool, mask, negate(active)));
  const Value some = any_false(negate(mask_lanes(e, mask)));
  return {negate(incomplete), b.compute(Operation::And, DType::Bool, incomplete, some)};
}

/// `load()` when the Bool scalar is true, else `otherwise`: an If whose result leaves it is a loop of one iteration or none.
template <class Load>
Value load_if(Emission& e, Value condition, Value otherwise, Load&& load) {
  Builder& b = e.builder;
  const Value times = b.compute(Operation::Select, DType::I64, condition, b.integer(1), b.integer(0));
  const Value loop = b.begin_loop(b.integer(0), times, 1, {&otherwise, 1}, false);
  const Value loaded = load();
  return b.end_loop(loop, {&loaded, 1})[0];
}

template <class Body>
void emit_if(Emission& e, Value condition, Body&& body) {
  const Value branch = e.builder.begin_if(condition, false);
  body();
  e.builder.end_if(branch);
}

Instruction access(Operation operation, DType type, int lanes, Value pointer) {
  return {.operation = operation, .type = type, .lanes = static_cast<std::uint16_t>(lanes), .a = pointer};
}

/// All lanes, or those of the tail.
Value load_plain(Emission& e, const Scalar& load, const Address& address) {
  const bool is_uniform = address.kind == Address::Kind::Uniform;
  emit_prefetch(e, load, address);
  Instruction instruction = access(Operation::Load, load.dtype(), is_uniform ? 1 : e.axis.lanes, emit_pointer(e, load.index()));
  instruction.b = address.first;
  switch (address.kind) {
    case Address::Kind::Uniform: break;
    case Address::Kind::Contiguous: instruction.c = e.axis.count; break;
    case Address::Kind::Strided:
      instruction.operation = Operation::LoadStrided;
      instruction.c = address.stride;
      instruction.d = e.axis.count;
      break;
    case Address::Kind::General:
      instruction.operation = Operation::Gather;
      instruction.b = address.offsets;
      instruction.c = active_lanes(e);
      break;
  }
  return e.builder.load(instruction, !e.memory.is_written(load.index()));
}

Value load_masked(Emission& e, const Scalar& load, const Address& address, Value mask) {
  Instruction instruction = access(Operation::Gather, load.dtype(), e.axis.lanes, emit_pointer(e, load.index()));
  instruction.b = emit_offsets(e, address);
  instruction.c = mask_lanes(e, mask);
  return e.builder.load(instruction, !e.memory.is_written(load.index()));
}

/// All lanes, or those of the tail.
void store_plain(Emission& e, const Store& store, const Address& address, Value value) {
  const int lanes = e.builder.lanes(value);
  Instruction instruction = access(Operation::Store, e.builder.type(value), lanes, emit_pointer(e, store.buffer));
  instruction.b = address.first;
  instruction.c = value;
  if (address.kind == Address::Kind::Strided) {
    instruction.operation = Operation::StoreStrided;
    instruction.d = address.stride;
    instruction.e = e.axis.count;
  } else {
    instruction.d = lanes > 1 ? e.axis.count : kNone;
    instruction.immediate = may_stream(e, store, lanes) ? 1 : 0;
  }
  e.builder.effect(instruction);
}

void store_masked(Emission& e, const Store& store, const Address& address, Value value, Value mask) {
  Instruction instruction = access(Operation::Scatter, e.builder.type(value), e.axis.lanes, emit_pointer(e, store.buffer));
  instruction.b = emit_offsets(e, address);
  instruction.c = value;
  instruction.d = mask_lanes(e, mask);
  e.builder.effect(instruction);
}

}  // namespace

Value emit_pointer(Emission& e, int index) {
  const DType type = e.nest.buffers[static_cast<std::size_t>(index)].dtype;
  switch (e.nest.buffers[static_cast<std::size_t>(index)].role) {
    case Buffer::Role::Row:
      return e.builder.pure(
          {.operation = Operation::RowPointer, .is_pointer = true, .type = type, .a = emit_index(e, row_offset_bytes(e.nest, index))});
    case Buffer::Role::Entry: {
      const Value pointer = e.entry_pointers[static_cast<std::size_t>(index)];
      RESILIN_ASSERT(pointer != kNone, cat("buffer ", index, " is used outside of a table loop"));
      return pointer;
    }
    default: return e.builder.pure({.operation = Operation::Pointer, .is_pointer = true, .type = type, .immediate = index});
  }
}

Value active_lanes(Emission& e) {
  if (e.axis.lanes == 1 || e.axis.count == kNone) return kNone;
  Builder& b = e.builder;
  const Value lane = b.pure({.operation = Operation::Iota, .type = DType::I32, .lanes = static_cast<std::uint16_t>(e.axis.lanes)});
  const Value count = b.widen(b.compute(Operation::Cast, DType::I32, e.axis.count), e.axis.lanes);
  return b.compute(Operation::Lt, DType::Bool, lane, count);
}

Value emit_load(Emission& e, const Scalar& load, Value mask) {
  const Address address = find_address(e, load.offset());
  if (mask == kNone) return load_plain(e, load, address);
  const bool is_uniform = address.kind == Address::Kind::Uniform;
  const bool is_mask_uniform = e.builder.lanes(mask) == 1;
  const Value zero = e.builder.constant(load.dtype(), 0, is_uniform && is_mask_uniform ? 1 : e.axis.lanes);
  if (is_mask_uniform) return load_if(e, mask, zero, [&] { return load_plain(e, load, address); });
  if (is_uniform || address.kind == Address::Kind::General) return load_masked(e, load, address, mask);
  // The borders of padding are few: whole vectors inside of them load as if there were no mask.
  const Coverage coverage = cover(e, mask);
  const Value whole = load_if(e, coverage.all, zero, [&] { return load_plain(e, load, address); });
  return load_if(e, coverage.part, whole, [&] { return load_masked(e, load, address, mask); });
}

void emit_store(Emission& e, const Store& store) {
  const GuardedRoot root = {store.value, store.mask};
  const StatementScope statement(e, {&root, 1});
  Builder& b = e.builder;
  Value mask = store.mask.defined() ? evaluate(e, store.mask) : kNone;
  if (e.mutant == Mutant::StoreMask) mask = kNone;  // MUTANT
  Value value = evaluate_root(e, root);
  const bool is_fill = store.value.code() == Code::Constant || store.value.code() == Code::Argument;
  if (e.mutant == Mutant::Fill && is_fill) value = replace_fill(e, value);  // MUTANT
  const Address address = find_address(e, store.offset);
  const bool is_masked = mask != kNone && b.lanes(mask) > 1;
  const bool is_uniform = address.kind == Address::Kind::Uniform;
  value = b.widen(value, is_uniform && !is_masked && b.lanes(value) == 1 ? 1 : e.axis.lanes);
  const bool needs_scatter = address.kind == Address::Kind::General || (is_uniform && b.lanes(value) > 1);
  const auto store_lanes = [&] {
    return needs_scatter ? store_masked(e, store, address, value, kNone) : store_plain(e, store, address, value);
  };
  if (mask == kNone) {
    store_lanes();
  } else if (!is_masked) {
    emit_if(e, mask, store_lanes);
  } else if (needs_scatter) {
    store_masked(e, store, address, value, mask);
  } else {
    const Coverage coverage = cover(e, mask);
    emit_if(e, coverage.all, store_lanes);
    emit_if(e, coverage.part, [&] { store_masked(e, store, address, value, mask); });
  }
  e.frame->changing.clear();
}

void emit_check(Emission& e, const Check& check) {
  const GuardedRoot roots[] = {{check.ok, {}}, {check.value, !check.ok}};
  const StatementScope statement(e, roots);
  Builder& b = e.builder;
  const int lanes = e.axis.lanes;
  Value ok = evaluate_lanes(e, check.ok);
  Value active = active_lanes(e);
  if (e.mutant == Mutant::CheckMask) active = b.constant(DType::Bool, 0, lanes);  // MUTANT
  if (active != kNone) ok = b.compute(Operation::Or, DType::Bool, ok, b.compute(Operation::Not, DType::Bool, active));
  const Value failed =
      lanes == 1 ? b.compute(Operation::Not, DType::Bool, ok) : b.pure({.operation = Operation::AnyFalse, .type = DType::Bool, .a = ok});
  const Value branch = b.begin_if(failed, true);
  {
    const FrameScope frame(e);
    const Value element = b.widen(emit_lanes(e, check.element), lanes);
    const Value value = b.widen(evaluate_root(e, roots[1]), lanes);
    b.effect({.operation = Operation::Report,
              .lanes = static_cast<std::uint16_t>(lanes),
              .a = ok,
              .b = element,
              .c = value,
              .immediate = check.code * 256 + check.operand});
  }
  b.end_if(branch);
}

}  // namespace resilin::loop
