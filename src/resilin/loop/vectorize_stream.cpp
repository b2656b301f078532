// src/resilin/loop/vectorize_stream.cpp -- what is told to the caches: rows asked for early, results that bypass them.
#include <algorithm>

#include "resilin/loop/vectorize_emission.h"

namespace resilin::loop {

namespace {

/// Consecutive iterations of `axis` store consecutive elements, from a place of their own for each iteration of the phase.
bool is_streamed(const Nest& nest, const Phase& phase, Symbol axis, const Store& store) {
  if (nest.buffers[static_cast<std::size_t>(store.buffer)].role != Buffer::Role::Output) return false;
  const std::optional<Affine> in_row = affine_in(store.offset, axis);
  if (!in_row || !(in_row->coefficient == 1)) return false;
  if (phase.vector) return is_loop_invariant(in_row->rest);
  const std::optional<Affine> of_rows = affine_in(in_row->rest, phase.variable);
  return of_rows && is_loop_invariant(of_rows->rest) && is_loop_invariant(of_rows->coefficient);
}

bool has_streamed_store(const Nest& nest, const Phase& phase, const Block& block, std::optional<Symbol> axis) {
  for (const Statement& statement : block) {
    if (const Store* store = std::get_if<Store>(&statement.value)) {
      if (axis && is_streamed(nest, phase, *axis, *store)) return true;
    } else if (const Loop* loop = std::get_if<Loop>(&statement.value)) {
      if (has_streamed_store(nest, phase, loop->body, loop->kind == LoopKind::Vector ? std::optional(loop->variable) : axis)) return true;
    }
  }
  return false;
}

}  // namespace

bool has_streamed_store(const Nest& nest) {
  return std::any_of(nest.phases.begin(), nest.phases.end(), [&](const Phase& phase) {
    return has_streamed_store(nest, phase, phase.body, phase.vector ? std::optional(phase.variable) : std::nullopt);
  });
}

Value elements_to_aligned(Emission& e, Symbol axis, Value first, const Block& body) {
  if (!e.nest.streaming) return kNone;
  Builder& b = e.builder;
  Value all = kNone;
  for (const Statement& statement : body) {
    const Store* store = std::get_if<Store>(&statement.value);
    if (store == nullptr || !is_streamed(e.nest, e.phase, axis, *store)) continue;
    const Value element = b.add(emit_index(e, affine_in(store->offset, axis)->rest), first);
    const Value count = b.pure({.operation = Operation::ToAligned, .a = emit_pointer(e, store->buffer), .b = element});
    if (all == kNone) {
      all = count;
    } else {  // stores that are aligned at different elements are so nowhere together
      all = b.compute(Operation::Select, DType::I64, b.compute(Operation::Eq, DType::Bool, all, count), all, b.integer(kNeverAligned));
    }
  }
  return all;
}

bool may_stream(const Emission& e, const Store& store, int lanes) {
  return e.streams && lanes > 1 && e.axis.count == kNone && is_streamed(e.nest, e.phase, e.axis.variable, store);
}

void emit_prefetch(Emission& e, const Scalar& load, const Address& address) {
  const std::size_t index = static_cast<std::size_t>(load.index());
  const Buffer::Role role = e.nest.buffers[index].role;
  if (e.phase.vector || e.axis.lanes == 1 || e.axis.count != kNone || address.kind != Address::Kind::Contiguous) return;
  if (role != Buffer::Role::Input && role != Buffer::Role::Output) return;
  const std::optional<Affine> rows = affine_in(load.offset(), e.phase.variable);
  if (!rows || rows->coefficient == 0 || !is_loop_invariant(rows->coefficient)) return;
  RowPasses& passes = e.row_passes[index];
  if (passes.first == 0) passes.first = e.pass;
  if (passes.prefetching == 0 && e.pass != passes.first) passes.prefetching = e.pass;
  if (passes.prefetching != e.pass) return;
  const Value next_row = e.builder.add(address.first, emit_index(e, rows->coefficient));
  e.builder.effect({.operation = Operation::Prefetch, .type = load.dtype(), .a = emit_pointer(e, load.index()), .b = next_row});
}

}  // namespace resilin::loop
