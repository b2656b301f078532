// src/resilin/loop/vectorize_stream.cpp -- what is told to the caches: rows asked for early, results that bypass them.
#include "resilin/loop/vectorize_emission.h"

namespace resilin::loop {

namespace {

bool has_loop_symbol(Dim d) {
  std::vector<Symbol> symbols;
  collect_symbols(d, symbols);
  for (const Symbol s : symbols) {
    if (s.space != 's') return true;
  }
  return false;
}

/// The stride between rows when consecutive iterations of `axis` store consecutive elements of a row, and rows lie at i * stride for iteration i of the
/// phase; 0 when the phase itself is the vector axis.
std::optional<Dim> row_stride(const Phase& phase, Symbol axis, Dim offset) {
  if (phase.vector) return offset == Dim::symbol(phase.variable) ? std::optional<Dim>(0) : std::nullopt;
  const std::optional<Affine> in_row = affine_in(offset, axis);
  if (!in_row || !(in_row->coefficient == 1)) return std::nullopt;
  const std::optional<Affine> of_rows = affine_in(in_row->rest, phase.variable);
  if (!of_rows || !(of_rows->rest == 0) || has_loop_symbol(of_rows->coefficient)) return std::nullopt;
  return of_rows->coefficient;
}

/// Calls `visit` for each store to an Output that streams, with the stride of its rows.
template <class Visit>
class StoreFinder {
 public:
  StoreFinder(const Nest& nest, const Phase& phase, Visit visit) : nest_(nest), phase_(phase), visit_(std::move(visit)) {
    if (phase.vector) axis_ = phase.variable;
    find(phase.body);
  }
  void operator()(const Store& s) {
    if (!axis_ || nest_.buffers[static_cast<std::size_t>(s.buffer)].role != Buffer::Role::Output) return;
    if (const std::optional<Dim> stride = row_stride(phase_, *axis_, s.offset)) visit_(s, *stride);
  }
  void operator()(const Loop& s) { find(s.body, s.kind == LoopKind::Vector ? std::optional(s.variable) : axis_); }
  void operator()(const Reduce& s) { find(s.body, phase_.vector || s.lanes == 1 ? axis_ : std::optional(s.variables.back())); }
  template <class Other>
  void operator()(const Other&) {}  // scans and tables: too little is stored for it to matter

 private:
  void find(const Block& block) {
    for (const Statement& s : block) std::visit(*this, s.value);
  }
  void find(const Block& block, std::optional<Symbol> axis) {
    const std::optional<Symbol> outer = std::exchange(axis_, axis);
    find(block);
    axis_ = outer;
  }

  const Nest& nest_;
  const Phase& phase_;
  Visit visit_;
  std::optional<Symbol> axis_;
};

}  // namespace

bool has_streamed_store(const Nest& nest) {
  bool found = false;
  for (const Phase& phase : nest.phases) StoreFinder(nest, phase, [&](const Store&, Dim) { found = true; });
  return found;
}

Value stream_condition(Emission& e) {
  Value all = kNone;
  if (!e.nest.streaming) return all;
  Builder& b = e.builder;
  const auto require = [&](Value condition) { all = all == kNone ? condition : b.compute(Operation::And, DType::Bool, all, condition); };
  const auto add = [&](const Store& store, Dim stride) {
    require(b.pure({.operation = Operation::AlignedPointer, .type = DType::Bool, .a = emit_pointer(e, store.buffer)}));
    const i64 elements = kStreamAlignment / size_bytes(e.nest.buffers[static_cast<std::size_t>(store.buffer)].dtype);
    if (stride == 0) return;
    const Value s = emit_index(e, stride);
    require(b.compute(Operation::Eq, DType::Bool, s, b.round_down(s, elements)));
  };
  StoreFinder(e.nest, e.phase, add);
  return all;
}

bool may_stream(const Emission& e, const Store& store, int lanes) {
  return e.streams && lanes > 1 && e.axis.count == kNone &&
         e.nest.buffers[static_cast<std::size_t>(store.buffer)].role == Buffer::Role::Output &&
         row_stride(e.phase, e.axis.variable, store.offset).has_value();
}

void emit_prefetch(Emission& e, const Scalar& load, const Address& address) {
  const std::size_t index = static_cast<std::size_t>(load.index());
  const Buffer::Role role = e.nest.buffers[index].role;
  if (e.phase.vector || e.axis.lanes == 1 || e.axis.count != kNone || address.kind != Address::Kind::Contiguous) return;
  if (role != Buffer::Role::Input && role != Buffer::Role::Output) return;
  const std::optional<Affine> rows = affine_in(load.offset(), e.phase.variable);
  if (!rows || rows->coefficient == 0 || has_loop_symbol(rows->coefficient)) return;
  RowPasses& passes = e.row_passes[index];
  if (passes.first == 0) passes.first = e.pass;
  if (passes.prefetching == 0 && e.pass != passes.first) passes.prefetching = e.pass;
  if (passes.prefetching != e.pass) return;
  const Value next_row = e.builder.add(address.first, emit_index(e, rows->coefficient));
  e.builder.effect({.operation = Operation::Prefetch, .type = load.dtype(), .a = emit_pointer(e, load.index()), .b = next_row});
}

}  // namespace resilin::loop
