// src/resilin/loop/vectorize_emission.h -- Internal: what the parts of the vectoriser share while one phase is emitted.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "resilin/loop/builder.h"
#include "resilin/loop/nest.h"
#include "resilin/loop/vectorize.h"
#include "resilin/loop/vectorize_guard.h"

namespace resilin::loop {

/// The variable whose consecutive values lie in the lanes of a vector; lanes 1 when there is none.
struct Axis {
  Symbol variable;
  int lanes = 1;
  Value first = kNone;  // I64: the variable in lane 0
  Value count = kNone;  // I64: lanes at or beyond it are masked; absent when all lanes are active
};

/// Values of expression nodes, by identity, in one run of one loop body.
struct Frame {
  std::unordered_map<const void*, Value> values;
  std::unordered_map<const void*, Value> changing;  // depend on memory the nest writes: dropped at each store
};

/// Which pass over a row reads a buffer first, and which later one asks for the next row; 0: none yet.
struct RowPasses {
  int first = 0;
  int prefetching = 0;
};

/// The state of emitting one phase.
struct Emission {
  const Nest& nest;
  const Phase& phase;
  VectorTarget target;
  Mutant mutant;
  Builder builder = {};
  MemoryFacts memory = {};                      // which expressions and buffers are read and written
  std::vector<Value> entry_pointers = {};       // per buffer: the pointer of an Entry buffer in this iteration of its TableLoop
  std::unordered_map<i64, Value> symbols = {};  // loop variables (the vector variable: lane 0) and bound values, which may be vectors
  std::unordered_map<int, Value> locals = {};
  std::span<const Value> inputs = {};  // of the combiner that is being applied
  Axis axis = {};
  Frame* frame = nullptr;
  GuardedStatement* statement = nullptr;
  bool streams = false;  // whole vectors of results bypass the caches
  bool has_streamed = false;
  int pass = 0;                            // loops over rows that were begun
  std::vector<RowPasses> row_passes = {};  // per buffer
};

/// A key for Emission::symbols.
inline i64 symbol_key(Symbol symbol) { return static_cast<i64>(symbol.space) << 32 | symbol.index; }

/// A fresh frame until the end of the scope.
class FrameScope {
 public:
  explicit FrameScope(Emission& e) : e_(e), outer_(e.frame) { e.frame = &frame_; }
  ~FrameScope() { e_.frame = outer_; }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;

 private:
  Emission& e_;
  Frame* outer_;
  Frame frame_;
};

/// `variable` is the vector axis until the end of the scope.
class AxisScope {
 public:
  AxisScope(Emission& e, const Axis& axis) : e_(e), outer_(e.axis) {
    e.axis = axis;
    if (axis.lanes > 1) e.symbols[symbol_key(axis.variable)] = axis.first;
  }
  ~AxisScope() { e_.axis = outer_; }
  AxisScope(const AxisScope&) = delete;
  AxisScope& operator=(const AxisScope&) = delete;

 private:
  Emission& e_;
  Axis outer_;
};

/// The expressions of one statement are evaluated until the end of the scope; a root with a mask only counts in lanes where that is true.
class StatementScope {
 public:
  StatementScope(Emission& e, std::span<const GuardedRoot> roots) : e_(e), outer_(e.statement), statement_(find_guards(roots, e.memory)) {
    e.statement = &statement_;
  }
  ~StatementScope() { e_.statement = outer_; }
  StatementScope(const StatementScope&) = delete;
  StatementScope& operator=(const StatementScope&) = delete;

 private:
  Emission& e_;
  GuardedStatement* outer_;
  GuardedStatement statement_;
};

// vectorize_index.cpp: Dims.
/// The lanes of the axis see different values of d.
bool varies(const Emission& e, Dim d);
/// d as an I64 scalar; for a Dim that varies with the vector variable its value in lane 0.
Value emit_index(Emission& e, Dim d);
/// d in every lane of the axis, as an I64 vector (a scalar where it does not vary).
Value emit_lanes(Emission& e, Dim d);
/// The number of iterations of a loop, the same in all lanes.
Value emit_extent(Emission& e, Dim extent);

/// Where the lanes of an access are.
struct Address {
  enum class Kind { Uniform, Contiguous, Strided, General } kind;
  Value first = kNone;    // I64 scalar: lane 0; not for General
  Value stride = kNone;   // Strided: I64 scalar
  Value offsets = kNone;  // General: I64 vector
};
Address find_address(Emission& e, Dim offset);
/// The address as an I64 vector; a contiguous one is always add(splat(first), iota), by which the code generator knows it.
Value emit_offsets(Emission& e, const Address& address);

// vectorize_scalar.cpp: expressions.
Value evaluate(Emission& e, const Scalar& s);
/// The value of a root of the current statement.
Value evaluate_root(Emission& e, const GuardedRoot& root);
/// Evaluates and widens to the lanes of the axis.
Value evaluate_lanes(Emission& e, const Scalar& s);
/// combine(left, right) of each component.
std::vector<Value> combine(Emission& e, const Combiner& combiner, std::span<const Value> left, std::span<const Value> right);
/// A wrong value instead of a constant, for Mutant::Fill.
Value replace_fill(Emission& e, Value fill);

// vectorize_memory.cpp: loads, stores, checks.
Value emit_pointer(Emission& e, int buffer);
/// The mask of active lanes; absent when all are active.
Value active_lanes(Emission& e);
/// `mask` true in lanes that take part; absent: all.
Value emit_load(Emission& e, const Scalar& load, Value mask);
void emit_store(Emission& e, const Store& store);
void emit_check(Emission& e, const Check& check);

// vectorize_stream.cpp
/// I64 scalar: how many iterations of a vector loop over `axis`, from `first` on, come before its streaming stores are aligned. Absent when none streams.
Value elements_to_aligned(Emission& e, Symbol axis, Value first, const Block& body);
bool may_stream(const Emission& e, const Store& store, int lanes);
/// In a later pass over a row that an earlier one has read: asks for the same elements of the next row, which else come one page after the other from far.
void emit_prefetch(Emission& e, const Scalar& load, const Address& address);

// vectorize_statement.cpp
void emit_block(Emission& e, const Block& block);
/// Runs `body` for [begin, end) of the variable in vectors of `width`, the last ones masked.
struct Width {
  int lanes;       // of the main loop
  int tail_lanes;  // of the masked loop
};
void emit_vector_loop(Emission& e, Symbol variable, Value begin, Value end, Width width, const Block& body);
/// One less in Mutant::TailMask.
Value tail_count(Emission& e, Value count);

// vectorize_width.cpp
Width vector_width(const Block& body, const VectorTarget& target);
/// Lanes of the vectors a reduction of `lanes` virtual lanes is cut into.
int piece_lanes(const Reduce& reduce, const VectorTarget& target);

// vectorize_reduce.cpp, vectorize_scan.cpp
void emit_reduce(Emission& e, const Reduce& reduce);
void emit_scan(Emission& e, const Scan& scan);

}  // namespace resilin::loop
