// src/resilin/dispatch/trace.h -- Tracer: the interpreter that appends applied ops to a graph.
#pragma once

#include <span>
#include <vector>

#include "resilin/dispatch/apply.h"

namespace resilin {

/// What Composites become while tracing.
enum class CompositeMode : std::uint8_t { Keep, Expand };

/// Appends every op applied on this thread to `graph` while it is the active interpreter (TraceScope).
class Tracer {
 public:
  Tracer(ir::Graph& graph, CompositeMode composites) : graph_(graph), composites_(composites) {}

  /// The symbolic tensor of a value of the graph.
  Tensor tensor(ir::ValueId id);
  /// The value behind a tensor traced here. UnsupportedError for a tensor that holds data: a capture must be an input.
  ir::ValueId value(const Tensor& tensor, std::string_view op) const;

  Outputs apply(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination);
  /// The same on values of the graph; one destination for each output, or none.
  std::vector<ir::ValueId> append(const ir::OpDef& op, std::vector<ir::Operand> inputs, ir::Attrs attrs,
                                  std::span<const ir::ValueId> destinations = {});

 private:
  std::vector<ir::Operand> promoted(const ir::OpDef& op, std::vector<ir::Operand> inputs);
  ir::ValueId cast_value(ir::ValueId id, DType dtype);
  std::vector<ir::Type> infer(const ir::OpDef& op, std::span<const ir::Operand> inputs, const ir::Attrs& attrs);
  std::vector<ir::ValueId> expand(const ir::OpDef& op, std::span<const ir::Operand> inputs, const ir::Attrs& attrs,
                                  std::span<const ir::Type> types);
  ir::ValueId write_into(ir::ValueId destination, const ir::OpDef& op, ir::ValueId result);
  bool writes_directly(const ir::OpDef& op, const ir::Type& result, ir::ValueId destination) const;

  ir::Graph& graph_;
  CompositeMode composites_;
};

/// The tracer that answers apply on this thread, or null.
Tracer* active_tracer();

/// Makes a tracer the active interpreter until the end of the scope.
class TraceScope {
 public:
  explicit TraceScope(Tracer& tracer);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Tracer* before_;
};

/// The graph with every Composite replaced by the ops of its body; f16 and bf16 inputs are computed in f32 inside and the results rounded once.
ir::Graph expand_composites(const ir::Graph& graph);

}  // namespace resilin
