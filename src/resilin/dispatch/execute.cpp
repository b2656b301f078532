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

bool overlaps_an_input(std::span<const Input> inputs, const Tensor& destination) {
  for (const Input& input : inputs) {
    if (input.is_tensor() && !is_same_view(input.tensor(), destination) && may_overlap(input.tensor(), destination)) return true;
  }
  return false;
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
  if (destination != nullptr) {
    check_destination(op, *destination);
    if (overlaps_an_input(inputs, *destination)) {
      const Tensor result = execute(op, inputs, attrs, nullptr)[0];
      const Input copy[] = {*destination, result};
      return execute(assign_op, copy, ir::Attrs().ref(), destination);
    }
  }
  const OpCall call{op, inputs, attrs, destination};
  std::unique_ptr<SizedCall> own;
  const SizedCall& sized = find_sized(call, own);
  const CallTensors tensors = tensors_of(call);
  if (sized.alias) {
    const SizedCall::View& view = *sized.alias;
    const Tensor& input = *tensors[0];
    return {Tensor::view(input.storage(), input.dtype(), input.offset() + view.offset, view.shape, view.strides)};
  }
  Outputs outputs = sized.executable->run(tensors, sized.symbols, sized.integers, numbers_of(call));
  if (destination != nullptr) {
    destination->storage().bump_version();
    outputs[0] = *destination;
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
