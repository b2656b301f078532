// src/resilin/dispatch/call_cache.h -- Internal: what eager keeps between calls: plans by layout class, evaluated integers by exact sizes.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "resilin/dispatch/apply.h"
#include "resilin/dispatch/layout_class.h"
#include "resilin/runtime/executable.h"

namespace resilin {

struct CallClass;

/// What follows from the exact sizes, strides and integer attributes of a call. Immutable.
struct SizedCall {
  SmallVector<std::uint64_t, 24> key;  // empty for a call that is not kept
  std::uint64_t hash = 0;
  CallClass* of = nullptr;
  SizeClass size_class;
  SymbolValues symbols;
  const Executable* executable = nullptr;  // null for an alias
  PlanIntegers integers;
  /// The result is a view of the first input.
  struct View {
    i64 offset;  // beyond the input's
    Shape shape;
    Strides strides;
  };
  std::optional<View> alias;
};

/// All calls with one key: op, structural attributes, dtypes and layout classes. Lives as long as the process.
struct CallClass {
  static constexpr std::size_t kMostSized = 8;

  KeyWords key;
  ir::Attrs attrs;
  ir::Graph graph;     // one node (and casts), sizes declared
  ir::Graph expanded;  // without Composites
  Bindings bindings;
  DimProgram selectors;
  bool may_alias_for_some_sizes = false;                     // a View that is no alias for every size of this class
  std::array<std::atomic<const Executable*>, 4> variants{};  // by size class; never freed
  std::mutex mutex;                                          // one compile per variant
  // The first sizes that were asked for: what most programs ask for again. Filled in order, never freed; other sizes are evaluated at each call.
  std::array<std::atomic<const SizedCall*>, kMostSized> sized{};
};

/// The class of the call, planned at its first call.
CallClass& find_class(const OpCall& call);

/// The plan of a class for a size class, compiled at its first use.
const Executable& executable_for(CallClass& c, const SizeClass& size_class);

/// What follows from the sizes of the call: kept from an earlier one, or made into `own`. ShapeError where the sizes do not go together.
const SizedCall& find_sized(const OpCall& call, std::unique_ptr<SizedCall>& own);

/// Tensors in the order of the graph's inputs: the call's, then the destinations that are none of them.
using CallTensors = SmallVector<const Tensor*, 6>;
CallTensors tensors_of(const OpCall& call);

}  // namespace resilin
