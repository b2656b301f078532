// src/resilin/dispatch/trace.cpp -- Tracer: the interpreter that appends applied ops to a graph.
#include "resilin/dispatch/trace.h"

#include <algorithm>
#include <utility>

#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/promote.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ir/rewrite.h"

namespace resilin {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit Tracer* active = nullptr;

struct TracedValue : Extension {
  TracedValue(const ir::Graph* of, ir::ValueId value) : graph(of), id(value) {}
  const ir::Graph* graph;
  ir::ValueId id;
};

bool is_low_precision(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

}  // namespace

Tracer* active_tracer() { return active; }
TraceScope::TraceScope(Tracer& tracer) : before_(std::exchange(active, &tracer)) {}
TraceScope::~TraceScope() { active = before_; }

Tensor Tracer::tensor(ir::ValueId id) {
  const ir::Type& type = graph_.type(id);
  return Tensor::symbolic(type.shape, type.dtype, std::make_unique<TracedValue>(&graph_, id));
}

ir::ValueId Tracer::value(const Tensor& tensor, std::string_view op) const {
  const TracedValue* traced = dynamic_cast<const TracedValue*>(tensor.body().traced.get());
  if (traced == nullptr) {
    throw UnsupportedError(cat(op, ": a tensor that holds data is used while tracing: it is ", tensor.dtype(), tensor.shape(),
                               "; make it an input of the traced function"));
  }
  if (traced->graph != &graph_) throw ArgumentError(cat(op, ": a tensor of another trace is used"));
  return traced->id;
}

Outputs Tracer::apply(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  std::vector<ir::Operand> operands;
  for (const Input& input : inputs) {
    if (input.is_tensor()) {
      operands.emplace_back(value(input.tensor(), op.name));
    } else if (input.is_number()) {
      operands.emplace_back(input.number());
    } else {
      operands.emplace_back(std::monostate{});
    }
  }
  std::vector<ir::ValueId> into;
  for (const Tensor& to : OpCall{op, inputs, attrs, destination}.destinations()) into.push_back(value(to, op.name));
  Outputs outputs;
  for (const ir::ValueId id : append(op, std::move(operands), ir::Attrs(attrs), into)) outputs.push_back(tensor(id));
  return outputs;
}

std::vector<ir::ValueId> Tracer::append(const ir::OpDef& op, std::vector<ir::Operand> inputs, ir::Attrs attrs,
                                        std::span<const ir::ValueId> destinations) {
  inputs = promoted(op, std::move(inputs));
  std::vector<ir::Type> types = infer(op, inputs, attrs);
  std::vector<ir::ValueId> results;
  if (composites_ == CompositeMode::Expand && std::holds_alternative<ir::Composite>(op.lower)) {
    results = expand(op, inputs, attrs, types);
  } else {
    ir::Node node{.op = &op, .attrs = std::move(attrs), .inputs = std::move(inputs)};
    if (destinations.size() == 1 && writes_directly(op, types[0], destinations[0])) {
      node.destination = destinations[0];
      types[0].strides = graph_.type(destinations[0]).strides;
      return graph_.add_node(std::move(node), std::move(types));
    }
    results = graph_.add_node(std::move(node), std::move(types));
  }
  for (std::size_t o = 0; o < destinations.size(); ++o) results[o] = write_into(destinations[o], op, results[o]);
  return results;
}

std::vector<ir::Operand> Tracer::promoted(const ir::OpDef& op, std::vector<ir::Operand> inputs) {
  std::vector<PromotionInput> seen;
  for (const ir::Operand& operand : inputs) {
    PromotionInput input;
    if (const ir::ValueId* id = std::get_if<ir::ValueId>(&operand)) {
      input = {.is_present = true, .dtype = graph_.type(*id).dtype, .ndim = graph_.type(*id).ndim()};
    } else if (const Number* number = std::get_if<Number>(&operand)) {
      input = {.is_present = true, .is_number = true, .kind = number->kind()};
    }
    seen.push_back(input);
  }
  const std::optional<DType> dtype = promoted_dtype(op, seen);
  if (!dtype) return inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ir::ValueId* const id = std::get_if<ir::ValueId>(&inputs[i]);
    if (id != nullptr && op.inputs[std::min(i, op.inputs.size() - 1)].promoted) *id = cast_value(*id, *dtype);
  }
  return inputs;
}

ir::ValueId Tracer::cast_value(ir::ValueId id, DType dtype) {
  if (graph_.type(id).dtype == dtype) return id;
  return append(cast_op, {ir::Operand(id)}, ir::attrs_of(CastAttrs{dtype}))[0];
}

std::vector<ir::Type> Tracer::infer(const ir::OpDef& op, std::span<const ir::Operand> inputs, const ir::Attrs& attrs) {
  std::vector<ir::InputType> types;
  for (const ir::Operand& operand : inputs) {
    if (const ir::ValueId* id = std::get_if<ir::ValueId>(&operand)) {
      types.emplace_back(graph_.type(*id));
    } else if (const Number* number = std::get_if<Number>(&operand)) {
      types.emplace_back(number->kind());
    } else {
      types.emplace_back(std::monostate{});
    }
  }
  ir::InferContext context(op.name, types, attrs.ref(), graph_.facts());
  context.allot_symbol = [this](std::string_view, Dim low, Dim high) {
    const Dim symbol = graph_.add_symbol();
    graph_.facts().assume_less_equal(low, symbol);
    graph_.facts().assume_less_equal(symbol, high);
    return symbol;
  };
  std::vector<ir::Type> results = op.infer(context);
  for (ir::SizeCheck& check : context.checks()) graph_.add_check(std::move(check));
  return results;
}

std::vector<ir::ValueId> Tracer::expand(const ir::OpDef& op, std::span<const ir::Operand> inputs, const ir::Attrs& attrs,
                                        std::span<const ir::Type> types) {
  const ir::Composite& form = std::get<ir::Composite>(op.lower);
  std::vector<Tensor> tensors;
  for (const ir::Operand& operand : inputs) {
    const ir::ValueId* id = std::get_if<ir::ValueId>(&operand);
    if (std::holds_alternative<Number>(operand))
      throw UnsupportedError(cat(op.name, ": a Composite takes tensors and attributes, not numbers"));
    if (id == nullptr) {
      tensors.emplace_back();
    } else {
      tensors.push_back(tensor(form.widens && is_low_precision(graph_.type(*id).dtype) ? cast_value(*id, DType::F32) : *id));
    }
  }
  const TraceScope scope(*this);
  const std::vector<Tensor> results = form.body({tensors, attrs.ref()});
  std::vector<ir::ValueId> ids;
  for (std::size_t o = 0; o < results.size(); ++o) ids.push_back(cast_value(value(results[o], op.name), types[o].dtype));
  return ids;
}

// A kernel may store straight into the destination when the result has its type; a View or list update may not, since it would read what it has written.
bool Tracer::writes_directly(const ir::OpDef& op, const ir::Type& result, ir::ValueId destination) const {
  const ir::Type& type = graph_.type(destination);
  const bool form = std::holds_alternative<ir::Pointwise>(op.lower) || std::holds_alternative<ir::Update>(op.lower);
  if (!form || result.dtype != type.dtype || result.shape.size() != type.shape.size()) return false;
  for (std::size_t a = 0; a < type.shape.size(); ++a) {
    if (!graph_.facts().proves_equal(result.shape[a], type.shape[a])) return false;
  }
  return true;
}

ir::ValueId Tracer::write_into(ir::ValueId destination, const ir::OpDef& op, ir::ValueId result) {
  const ir::Type& to = graph_.type(destination);
  const ir::Type& from = graph_.type(result);
  check_castable(op.name, from.dtype, to.dtype);
  if (!may_be_equal(from.shape, to.shape))
    throw ShapeError(cat(op.name, ": output with shape ", to.shape, " doesn't match the broadcast shape ", from.shape));
  return append(assign_op, {ir::Operand(destination), ir::Operand(result)}, ir::Attrs(), {&destination, 1})[0];
}

ir::Graph expand_composites(const ir::Graph& graph) {
  return ir::rewrite(
      graph, [](ir::Graph& out, const ir::Node& node, std::span<const ir::Operand> inputs) -> std::optional<std::vector<ir::Operand>> {
        if (!std::holds_alternative<ir::Composite>(node.op->lower)) return std::nullopt;
        Tracer tracer(out, CompositeMode::Expand);
        std::vector<ir::Operand> results;
        for (const ir::ValueId id : tracer.append(*node.op, {inputs.begin(), inputs.end()}, node.attrs)) results.emplace_back(id);
        return results;
      });
}

}  // namespace resilin
