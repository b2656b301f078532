// src/resilin/loop/nest.h -- Nest: the loops, loads and stores of one kernel, before vectors: the text that keys every kernel.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "resilin/loop/scalar.h"

namespace resilin::loop {

/// A run of elements in memory that a kernel touches. Offsets into it are in elements.
struct Buffer {
  enum class Role : std::uint8_t {
    Input,    // read only
    Output,   // written; may also be read (in-place)
    Partial,  // shared by the phases of one launch; `elements` long
    Row,      // private to one call of a phase; `elements` long
    Entry     // one column of a table: the pointer comes from entry t of the enclosing TableLoop
  };
  std::string name;
  DType dtype;
  Role role;
  Dim elements;  // Partial, Row: length over the symbols s<k>
  friend bool operator==(const Buffer&, const Buffer&) = default;
};

struct Statement;
using Block = std::vector<Statement>;

/// How the iterations of a loop run. Only the innermost loop may be Vector.
enum class LoopKind : std::uint8_t { Serial, Vector };

/// for variable in [0, extent): body. A Vector loop's iterations are independent and may run in any grouping.
struct Loop {
  Symbol variable;  // space 'i'
  Dim extent;
  LoopKind kind = LoopKind::Serial;
  Block body;
};

/// Names a value: Local `index` from here to the end of the enclosing block; when `symbol` is set (an I64 value, space 't'), Dims may use it too.
struct Let {
  int index;
  Scalar value;
  std::optional<Symbol> symbol;
};

/// buffer[offset] = value, where `mask` (Bool) is true; an undefined mask means always.
struct Store {
  int buffer;
  Dim offset;
  Scalar value;
  Scalar mask;
};

/// When `ok` (Bool) is false the kernel fails with this report; the smallest `element` wins among all iterations and threads.
struct Check {
  Scalar ok;
  int code;      // a StatusCode of codegen/kernel.h
  int operand;   // number of the place in the program that failed, below 256; the lowering knows which
  Dim element;   // linear position, over loop variables
  Scalar value;  // I64: the offending value
};

/// The states and combine of a reduction or scan over elements of one or more components.
struct Combiner {
  std::vector<Scalar> init;     // one per component: the neutral element
  std::vector<Scalar> element;  // over the loop variables: what iteration k contributes
  std::vector<Scalar> combine;  // over Input 0..n-1 (left, earlier) and n..2n-1 (right, later)
};

/// A reduction over all iterations of `variables` (outermost first; the last one is the lane axis), in a fixed order:
/// element k of the last axis goes to lane k % lanes; a lane combines its elements in ascending order (outer variables ascending too); lanes are then
/// combined by halving: lane l with lane l + lanes/2, lanes/4, ... 1. Lanes that saw no element hold init.
/// `body` runs once per iteration before the element is combined (Lets, Stores into Row buffers, Checks). Results are Locals results[c].
struct Reduce {
  std::vector<Symbol> variables;
  std::vector<Dim> extents;
  int lanes;  // 64 when the last axis is vectorised; 4 inside a Vector loop
  Block body;
  Combiner combiner;
  std::vector<int> results;
};

/// An inclusive scan along `variable`: in blocks of `lanes` elements (Hillis-Steele: for d = 1, 2, 4 .. lanes/2:
/// x[l] = combine(x[l-d], x[l]) where l >= d, all l at once), then combine(carry, x[l]) where carry is the last result of the block before
/// (the first block has no carry). lanes 1 is a plain serial scan.
/// `body` runs per iteration before the element is read; `after` per iteration with the results as Locals (the Locals of `body` have ended).
struct Scan {
  Symbol variable;
  Dim extent;
  int lanes;
  Block body;
  Combiner combiner;
  std::vector<int> results;
  Block after;
};

/// for t in [0, entries of the table): body, with the integers of entry t as symbols and its pointers as the Entry buffers.
struct TableLoop {
  Symbol variable;
  std::vector<Symbol> columns;  // space 't', in order of the entry's integers
  Block body;
};

struct Statement {
  std::variant<Loop, Let, Store, Check, Reduce, Scan, TableLoop> value;
};

/// One parallel part of a kernel: body runs for every value of `variable` in [0, extent), any partition of that range over threads, then all join.
/// When `vector` is set the variable itself is the vector axis (pointwise over a merged axis): ranges then start at multiples of 64.
struct Phase {
  Symbol variable;  // i0
  Dim extent;
  bool vector = false;
  Block body;
  Dim cost;  // bytes touched plus operations of one iteration, over s<k>: the launcher's guide to how many threads to use
};

/// A kernel: parameters and phases. Symbols s<k> are its integer parameters, Arguments its value parameters, Buffers its pointers in order.
struct Nest {
  std::string name;  // not part of the key
  std::vector<Buffer> buffers;
  int integer_count = 0;  // s0 .. s<n-1>
  std::vector<DType> argument_dtypes;
  std::vector<Phase> phases;
  bool streaming = false;  // stores to Outputs bypass the caches
};

/// The canonical text of a nest (floats in hex, locals and variables numbered by first appearance): equal text means equal kernel.
std::string print(const Nest& nest);
/// Bytes of the private memory one call of a phase needs for all Row buffers, and where Row buffer `index` starts in it (each aligned to 64 bytes).
Dim row_bytes(const Nest& nest);
Dim row_offset_bytes(const Nest& nest, int index);
/// True when every symbol of e is a size or a parameter: no loop variable, no value bound in a loop.
bool is_loop_invariant(Dim e);
/// A store to an Output, one row after the other: what `streaming` is for.
bool has_streamed_store(const Nest& nest);
/// Throws InternalError naming the first violated rule (undefined local, vector loop not innermost, dtype mismatch ...).
void verify(const Nest& nest);

}  // namespace resilin::loop
