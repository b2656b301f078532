// src/resilin/plan/plan.h -- Plan: a graph turned into steps over slots: allocate, alias, launch a kernel, contract, run an Extern.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "resilin/codegen/lower.h"
#include "resilin/ir/graph.h"
#include "resilin/ir/op.h"
#include "resilin/sym/evaluate.h"

namespace resilin {

/// A run of entries of the evaluated integers of a plan.
struct IntegerRange {
  int first = 0;
  int count = 0;
};

/// Slots are tensors at run time: the graph's inputs first.
struct AllocateStep {
  int slot;
  DType dtype;
  IntegerRange shape;
  IntegerRange strides;  // count 0: row-major
};
struct AliasStep {
  int slot, source;
  int offset;  // integer: elements beyond the source's first one
  IntegerRange shape, strides;
};
/// One kernel launch.
struct LaunchStep {
  std::shared_ptr<const loop::Nest> nest;
  std::string text;                    // print(*nest): the key of the kernel
  std::string name;                    // of the ops inside, for errors and the profiler
  std::vector<int> pointers;           // slot per buffer; -1 for Row and Entry buffers, -2 - k for the k-th Partial buffer
  std::vector<IntegerRange> partials;  // one integer each: bytes
  IntegerRange integers;               // s0 .. of the nest
  std::vector<Number> arguments;
  struct TableRow {
    int slot;
    IntegerRange columns;
  };
  std::vector<TableRow> table;
  IntegerRange extents;  // of the phases
  IntegerRange costs;    // of one iteration of each phase
  int row_bytes;         // integer
  struct CheckSite {
    const ir::OpDef* op;
    int input;
    int low, high;  // integers
  };
  std::vector<CheckSite> check_sites;
  struct NonEmpty {
    int site;
    int count;  // integer
  };
  std::vector<NonEmpty> non_empty;
};
/// out = einsum(labels, a, b), by codegen/gemm.
struct ContractStep {
  const ir::OpDef* op;
  std::string_view labels;
  int a, b, out;
};
struct ExternStep {
  const ir::OpDef* op;
  ir::Attrs attrs;           // Dims over the plan's symbols and numbers v<k> are replaced at run time
  std::vector<int> inputs;   // slots; -1 where absent
  std::vector<int> outputs;  // slots
  std::vector<ir::Type> output_types;
  struct FreshSize {
    int output, axis, symbol;
  };
  std::vector<FreshSize> fresh;  // symbols that get their value from the outputs; the integers are evaluated again afterwards
};
using StepBody = std::variant<AllocateStep, AliasStep, LaunchStep, ContractStep, ExternStep>;
struct Step {
  StepBody body;
  std::vector<int> free;  // slots nobody needs after this step
};

/// One symbol that is just a size or stride of an input.
struct SymbolBinding {
  int symbol;
  int input;
  int axis;
  bool is_stride;
};
using SymbolValues = SmallVector<i64, 24>;
/// How the symbols of a graph get their values: from sizes and strides of the inputs, the rest from the caller's integer parameters in order.
struct Bindings {
  std::vector<SymbolBinding> from_inputs;
  std::vector<int> parameters;  // symbols
  int symbol_count = 0;

  Bindings() = default;
  explicit Bindings(const ir::Graph& graph);
  /// Symbols that neither gives (sizes an Extern finds out) stay 0.
  SymbolValues bind(std::span<const Tensor* const> inputs, std::span<const i64> parameter_values) const;
};
/// An integer equation that must hold, else ShapeError with the message.
struct PlanCheck {
  int a, b;  // integers
  std::string message;
  bool needs_fresh_size = false;  // can be asked only after the Extern that finds a size out
};

/// An executable description without code. Immutable, shared by all calls.
struct Plan {
  ir::Graph graph;  // expanded; what the plan was made from
  Bindings bindings;
  DimProgram integers;
  std::vector<PlanCheck> checks;
  std::vector<Step> steps;
  int slot_count = 0;
  std::vector<int> outputs;  // slots
  int launch_count() const;  // kernels plus contractions
};

/// Sizes that choose the SizeClass of a call: the largest number of reduced elements of any Reduce, and the largest output in bytes.
struct SizeSelectors {
  Dim reduced_elements = 0;
  Dim output_bytes = 0;
};
SizeSelectors size_selectors(const ir::Graph& expanded);
inline SizeClass size_class_of(i64 reduced_elements, i64 output_bytes) {
  return {.long_rows = reduced_elements > kRowElements, .streaming = output_bytes >= kStreamingBytes};
}

/// One line a step; slots are t0, t1, ...
std::string print(const Plan& plan);

/// Makes the plan of a graph without Composites. The contents page of planning: canonicalise, group into regions, alias what can be, lower the rest.
Plan make_plan(const ir::Graph& graph, const SizeClass& size_class);

}  // namespace resilin
