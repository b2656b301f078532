// src/resilin/dispatch/execute.cpp -- Internal: the interpreter that runs an applied op now, through the cache of calls.
#include "resilin/dispatch/execute.h"

#include <memory>
#include <utility>

#include "resilin/dispatch/call_cache.h"
#include "resilin/dispatch/cast.h"

namespace resilin {
namespace {

void check_destination(const ir::OpDef& op, const Tensor& destination) {
  if (destination.is_contiguous() || is_non_overlapping(destination.shape(), destination.strides())) return;
  throw ArgumentError(
      cat(op.name, ": unsupported operation: more than one element of the written-to tensor refers to a single memory location: shape ",
          destination.shape(), " has strides ", destination.strides(), "; please clone() the tensor before performing the operation"));
}

// Whether writing one destination could change what is read for another element or another output.
bool overlaps(const OpCall& call) {
  const auto hurts = [](const Tensor& x, const Tensor& y) { return !is_same_view(x, y) && may_overlap(x, y); };
  const std::span<const Tensor> destinations = call.destinations();
  for (std::size_t o = 0; o < destinations.size(); ++o) {
    for (const Input& input : call.inputs) {
      if (input.is_tensor() && hurts(input.tensor(), destinations[o])) return true;
    }
    for (const Tensor& other : destinations.first(o)) {
      if (may_overlap(other, destinations[o])) return true;
    }
  }
  return false;
}

// The results in memory of their own, then copied.
Outputs execute_and_copy(const OpCall& call) {
  Outputs outputs = execute(call.op, call.inputs, call.attrs, nullptr);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const Tensor& destination = call.destinations()[o];
    const Input copy[] = {destination, outputs[o]};
    execute(assign_op, copy, ir::Attrs().ref(), &destination);
    outputs[o] = destination;
  }
  return outputs;
}

// Values of numbers, operands first, then attributes: the order of the graph's arguments.
SmallVector<Number, 4> numbers_of(const OpCall& call) {
  SmallVector<Number, 4> numbers;
  for (const Input& input : call.inputs) {
    if (input.is_number()) numbers.push_back(input.number());
  }
  if (call.op.attrs == nullptr) return numbers;
  constexpr int kMostNumbers = 16;  // in one attribute struct
  Number values[kMostNumbers];
  numbers.append(values, values + call.attrs.info->read_numbers(call.attrs.data, values, kMostNumbers));
  return numbers;
}

}  // namespace

Outputs execute(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  const OpCall call{op, inputs, attrs, destination};
  if (destination != nullptr) {
    for (const Tensor& to : call.destinations()) check_destination(op, to);
    if (overlaps(call)) return execute_and_copy(call);
  }
  std::unique_ptr<SizedCall> own;
  const SizedCall& sized = find_sized(call, own);
  const CallTensors tensors = tensors_of(call);
  if (sized.alias) {
    const SizedCall::View& view = *sized.alias;
    const Tensor& input = *tensors[0];
    return {Tensor::view(input.storage(), input.dtype(), input.offset() + view.offset, view.shape, view.strides)};
  }
  Outputs outputs = sized.executable->run(tensors, sized.symbols, sized.integers, numbers_of(call));
  for (std::size_t o = 0; o < call.destinations().size(); ++o) {
    outputs[o] = call.destinations()[o];
    outputs[o].storage().bump_version();
  }
  return outputs;
}

EagerRecord eager_record(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  std::unique_ptr<SizedCall> own;
  const SizedCall& sized = find_sized({op, inputs, attrs, destination}, own);
  EagerRecord record{sized.of->graph, sized.size_class, {}};
  for (const Step& step : executable_for(*sized.of, sized.size_class).plan().steps) {
    if (const LaunchStep* launch = std::get_if<LaunchStep>(&step.body)) record.kernel_texts.push_back(launch->text);
  }
  return record;
}

ir::Graph eager_graph(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  return find_class({op, inputs, attrs, destination}).graph;
}

}  // namespace resilin
