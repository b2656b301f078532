// src/resilin/loop/nest.cpp -- where the Row buffers of a nest lie in the private memory of a call, and what depends on loops.
#include "resilin/loop/nest.h"

namespace resilin::loop {
namespace {

constexpr i64 kRowAlignment = 64;

}  // namespace

bool is_loop_invariant(Dim e) {
  std::vector<Symbol> symbols;
  collect_symbols(e, symbols);
  for (const Symbol s : symbols) {
    if (s.space != 's') return false;
  }
  return true;
}

Dim row_offset_bytes(const Nest& nest, int index) {
  RESILIN_ASSERT(index >= 0 && index <= static_cast<int>(nest.buffers.size()),
                 cat("row_offset_bytes: no buffer ", index, "; there are ", nest.buffers.size()));
  Dim offset = 0;
  for (int b = 0; b < index; ++b) {
    const Buffer& buffer = nest.buffers[static_cast<std::size_t>(b)];
    if (buffer.role != Buffer::Role::Row) continue;
    offset += ceil_div(buffer.elements * Dim(size_bytes(buffer.dtype)), Dim(kRowAlignment)) * Dim(kRowAlignment);
  }
  return offset;
}

Dim row_bytes(const Nest& nest) { return row_offset_bytes(nest, static_cast<int>(nest.buffers.size())); }

}  // namespace resilin::loop
