// src/resilin/loop/vectorize_statement.cpp -- blocks, loops and values; the entry of the vectoriser.
#include "resilin/loop/vectorize_emission.h"

namespace resilin::loop {

namespace {

/// An If around a loop that may not run at all: inside of it the first iteration is certain, and loads may leave the loop.
template <class Body>
void emit_if_any(Emission& e, Value begin, Value end, Body&& body) {
  Builder& b = e.builder;
  if (b.known(begin) && b.known(end)) {
    if (*b.known(begin) < *b.known(end)) body();
    return;
  }
  const Value branch = b.begin_if(b.compute(Operation::Lt, DType::Bool, begin, end), false);
  body();
  b.end_if(branch);
}

void emit_serial_loop(Emission& e, Symbol variable, Value begin, Value end, const Block& body) {
  const Value loop = e.builder.begin_loop(begin, end, 1, {}, true);
  e.symbols[symbol_key(variable)] = loop;
  {
    const FrameScope frame(e);
    emit_block(e, body);
  }
  e.builder.end_loop(loop, {});
}

void emit_loop(Emission& e, const Loop& loop) {
  const Value begin = e.builder.integer(0);
  const Value end = emit_extent(e, loop.extent);
  emit_if_any(e, begin, end, [&] {
    if (loop.kind == LoopKind::Serial) return emit_serial_loop(e, loop.variable, begin, end, loop.body);
    emit_vector_loop(e, loop.variable, begin, end, vector_width(loop.body, e.target), loop.body);
  });
}

void emit_let(Emission& e, const Let& let) {
  const GuardedRoot root = {let.value, {}};
  const StatementScope statement(e, {&root, 1});
  const Value value = evaluate(e, let.value);
  e.locals[let.index] = value;
  if (let.symbol) e.symbols[symbol_key(*let.symbol)] = value;
}

void emit_table_loop(Emission& e, const TableLoop& table) {
  Builder& b = e.builder;
  const Value begin = b.integer(0);
  const Value end = b.pure({.operation = Operation::TableEntries});
  emit_if_any(e, begin, end, [&] {
    const Value loop = b.begin_loop(begin, end, 1, {}, true);
    e.symbols[symbol_key(table.variable)] = loop;
    int word = 0;
    for (std::size_t k = 0; k < e.nest.buffers.size(); ++k) {
      if (e.nest.buffers[k].role != Buffer::Role::Entry) continue;
      e.entry_pointers[k] = b.pure(
          {.operation = Operation::TablePointer, .is_pointer = true, .type = e.nest.buffers[k].dtype, .a = loop, .immediate = word++});
    }
    for (const Symbol column : table.columns) {
      e.symbols[symbol_key(column)] = b.pure({.operation = Operation::TableInteger, .a = loop, .immediate = word++});
    }
    {
      const FrameScope frame(e);
      emit_block(e, table.body);
    }
    b.end_loop(loop, {});
  });
  e.entry_pointers.assign(e.nest.buffers.size(), kNone);
}

struct StatementEmitter {
  Emission& e;
  void operator()(const Loop& s) const { emit_loop(e, s); }
  void operator()(const Let& s) const { emit_let(e, s); }
  void operator()(const Store& s) const { emit_store(e, s); }
  void operator()(const Check& s) const { emit_check(e, s); }
  void operator()(const Reduce& s) const { emit_reduce(e, s); }
  void operator()(const Scan& s) const { emit_scan(e, s); }
  void operator()(const TableLoop& s) const { emit_table_loop(e, s); }
};

void emit_vectors(Emission& e, Symbol variable, Value from, Value to, int lanes, bool is_masked, const Block& body) {
  Builder& b = e.builder;
  if (from == to || (b.known(from) && b.known(from) == b.known(to))) return;
  const Value loop = b.begin_loop(from, to, lanes, {}, true);
  const Value count = is_masked ? tail_count(e, b.minimum(b.integer(lanes), b.sub(to, loop))) : kNone;
  {
    const FrameScope frame(e);
    const AxisScope axis(e, {variable, lanes, loop, count});
    emit_block(e, body);
  }
  b.end_loop(loop, {});
}

/// Masked vectors up to the first aligned element, whole ones that bypass the caches, masked ones again. Masked and whole vectors are there once, in a
/// loop of two rounds whose second has no whole ones.
void emit_streamed_vectors(Emission& e, Symbol variable, Value begin, Value end, Value to_aligned, Width width, const Block& body) {
  Builder& b = e.builder;
  const Value whole_begin = b.add(begin, b.minimum(to_aligned, b.sub(end, begin)));
  const Value whole_end = b.add(whole_begin, b.round_down(b.sub(end, whole_begin), width.lanes));
  const Value round = b.begin_loop(b.integer(0), b.integer(2), 1, {}, true);
  {
    const FrameScope frame(e);
    const Value is_first = b.compute(Operation::Eq, DType::Bool, round, b.integer(0));
    const auto choose = [&](Value first, Value second) { return b.compute(Operation::Select, DType::I64, is_first, first, second); };
    emit_vectors(e, variable, choose(begin, whole_end), choose(whole_begin, end), width.tail_lanes, true, body);
    e.streams = true;
    emit_vectors(e, variable, choose(whole_begin, end), choose(whole_end, end), width.lanes, false, body);
    e.streams = false;
    e.has_streamed = true;
  }
  b.end_loop(round, {});
}

PhaseProgram emit_phase(const Nest& nest, const Phase& phase, const VectorTarget& target, Mutant mutant) {
  Emission e = {.nest = nest, .phase = phase, .target = target, .mutant = mutant};
  e.memory = MemoryFacts(nest);
  e.entry_pointers.assign(nest.buffers.size(), kNone);
  e.row_passes.resize(nest.buffers.size());
  const FrameScope frame(e);
  Builder& b = e.builder;
  const Value begin = b.pure({.operation = Operation::RangeBegin});
  Value end = b.pure({.operation = Operation::RangeEnd});
  if (mutant == Mutant::Bound) end = b.add(end, b.integer(-1));  // MUTANT
  const auto iterate = [&] {
    if (phase.vector) {
      emit_vector_loop(e, phase.variable, begin, end, vector_width(phase.body, target), phase.body);
    } else {
      emit_serial_loop(e, phase.variable, begin, end, phase.body);
    }
  };
  emit_if_any(e, begin, end, iterate);
  if (e.has_streamed) b.effect({.operation = Operation::Fence});
  return b.finish();
}

}  // namespace

Value tail_count(Emission& e, Value count) {
  if (e.mutant == Mutant::TailMask)
    return e.builder.add(count, e.builder.integer(-1));  // MUTANT: one lane too few, which no guard page is needed to see
  return count;
}

void emit_block(Emission& e, const Block& block) {
  for (const Statement& statement : block) {
    if (e.axis.lanes == 1) ++e.pass;
    std::visit(StatementEmitter{e}, statement.value);
    const bool is_simple = std::holds_alternative<Let>(statement.value) || std::holds_alternative<Check>(statement.value);
    if (!is_simple) e.frame->changing.clear();
  }
}

void emit_vector_loop(Emission& e, Symbol variable, Value begin, Value end, Width width, const Block& body) {
  RESILIN_ASSERT(e.axis.lanes == 1, "a vector loop inside of a vector loop");
  const Value to_aligned = elements_to_aligned(e, variable, begin, body);
  if (to_aligned != kNone) return emit_streamed_vectors(e, variable, begin, end, to_aligned, width, body);
  const Value main_end = e.builder.add(begin, e.builder.round_down(e.builder.sub(end, begin), width.lanes));
  emit_vectors(e, variable, begin, main_end, width.lanes, false, body);
  emit_vectors(e, variable, main_end, end, width.tail_lanes, true, body);
}

Program vectorize(const Nest& nest, const VectorTarget& target, Mutant mutant) {
  Program program;
  for (const Phase& phase : nest.phases) program.phases.push_back(emit_phase(nest, phase, target, mutant));
  return program;
}

}  // namespace resilin::loop
