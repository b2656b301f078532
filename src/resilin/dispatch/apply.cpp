// src/resilin/dispatch/apply.cpp -- apply(): the one verb for tensors, answered by Execute now or by Trace into a graph, and recorded where a history begins.
#include "resilin/dispatch/apply.h"

#include "resilin/dispatch/execute.h"
#include "resilin/dispatch/recorder.h"
#include "resilin/dispatch/trace.h"

namespace resilin {
namespace {

void check_inputs(const ir::OpDef& op, std::span<const Input> inputs) {
  const bool has_list = op.inputs.size() > 0 && op.inputs[op.inputs.size() - 1].kind == ir::InputKind::List;
  const std::size_t fixed = op.inputs.size() - (has_list ? 1 : 0);
  if (inputs.size() < fixed || (!has_list && inputs.size() > fixed)) {
    throw ArgumentError(cat(op.name, ": ", inputs.size(), " inputs given; it takes ", fixed, has_list ? " and a list" : ""));
  }
  if (has_list && inputs.size() == fixed) throw ArgumentError(cat(op.name, ": expected a non-empty list of tensors"));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::InputDef& definition = op.inputs[std::min(i, op.inputs.size() - 1)];
    if (!inputs[i].is_tensor() && !inputs[i].is_number() && definition.kind != ir::InputKind::Optional) {
      throw ArgumentError(cat(op.name, ": input '", definition.name, "' is an undefined tensor"));
    }
  }
}

// Kernels serve all sizes, so a size check that fails at run time names symbols. Asked again with the sizes of the call, the op's rule says it in its own words.
void refuse_sizes(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  std::vector<ir::InputType> types;
  for (const Input& input : inputs) {
    if (input.is_tensor()) {
      types.emplace_back(ir::Type{input.tensor().dtype(), input.tensor().shape(), input.tensor().strides()});
    } else if (input.is_number()) {
      types.emplace_back(input.number_kind());
    } else {
      types.emplace_back();
    }
  }
  Facts facts;
  ir::InferContext context(op.name, types, attrs, facts);
  context.allot_symbol = [](std::string_view, Dim low, Dim) { return low; };
  const std::vector<ir::Type> results = op.infer(context);
  const std::span<const Tensor> destinations = OpCall{op, inputs, attrs, destination}.destinations();
  for (std::size_t o = 0; o < destinations.size(); ++o) {
    const Shape& shape = destinations[o].shape();
    if (!context.fresh_dims().empty() || shape == results[o].shape) continue;
    throw ShapeError(cat(op.name, ": output with shape ", shape, " doesn't match the broadcast shape ", results[o].shape));
  }
}

/// What higher floors have attached to the tensors of a call.
struct Attached {
  bool traced = false;
  bool grad = false;
};
Attached attached_to(std::span<const Input> inputs) {
  Attached found;
  for (const Input& input : inputs) {
    if (!input.is_tensor()) continue;
    const TensorBody& body = input.tensor().body();
    found.traced |= body.traced != nullptr;
    found.grad |= body.grad != nullptr;
  }
  return found;
}

inline Outputs execute_or_trace(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination,
                                bool is_traced) {
  if (Tracer* tracer = active_tracer()) return tracer->apply(op, inputs, attrs, destination);
  if (is_traced) throw ArgumentError(cat(op.name, ": a traced tensor is used outside its trace; it holds no data"));
  try {
    return execute(op, inputs, attrs, destination);
  } catch (const ShapeError&) {
    refuse_sizes(op, inputs, attrs, destination);
    throw;
  }
}

}  // namespace

Outputs apply(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  check_inputs(op, inputs);
  const Attached attached = attached_to(inputs);
  bool has_grad = attached.grad;
  for (const Tensor& to : OpCall{op, inputs, attrs, destination}.destinations()) has_grad |= to.body().grad != nullptr;
  if (has_grad && grad_is_enabled) return kRecorder.apply(op, inputs, attrs, destination);
  return execute_or_trace(op, inputs, attrs, destination, attached.traced);
}

Outputs apply_unrecorded(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  return execute_or_trace(op, inputs, attrs, destination, attached_to(inputs).traced);
}

Tensor apply_one(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  return std::move(apply(op, inputs, attrs, destination)[0]);
}

Tensor apply_one(const ir::OpDef& op, std::initializer_list<Input> inputs) {
  static const ir::Attrs kNone;
  return apply_one(op, std::span<const Input>(inputs.begin(), inputs.size()), kNone.ref());
}

const Tensor& apply_into(const Tensor& destination, const ir::OpDef& op, std::initializer_list<Input> inputs) {
  static const ir::Attrs kNone;
  apply_one(op, std::span<const Input>(inputs.begin(), inputs.size()), kNone.ref(), &destination);
  return destination;
}

}  // namespace resilin
