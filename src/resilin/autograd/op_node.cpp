// src/resilin/autograd/op_node.cpp -- Internal: the node of an applied op.
#include "resilin/autograd/op_node.h"

#include "resilin/autograd/backward_op.h"
#include "resilin/autograd/vjp.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/dispatch/trace.h"

namespace resilin::tape {

OpNode::OpNode(const OpCall& call, std::span<const Tensor> made) {
  std::uint64_t wanted = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Input& input = call.inputs[i];
    if (!input.is_tensor()) numbers_.push_back(input.is_number() ? input.number() : Number());
    edges.push_back(input.is_tensor() && is_floating(input.tensor().dtype()) ? edge_of(input.tensor()) : Edge());
    if (edges.back().defined()) wanted |= place_bit(i);
  }
  call_ = recorded_call(call, wanted, made);
  outputs = call_->outputs;
  sequence = next_sequence();
}

void OpNode::save_input(std::size_t i, const Tensor& x) { saved_.emplace_back(i, SavedTensor(x)); }

void OpNode::save_output(std::size_t o, const Tensor& y) {
  saved_.emplace_back(call_->inputs.size() + o, SavedTensor::output(y, static_cast<int>(o)));
}

void OpNode::release_saved() {
  is_released_ = true;
  for (std::pair<std::size_t, SavedTensor>& entry : saved_) entry.second.release();
}

Tensor OpNode::kept(std::size_t place, const GradType& type) {
  for (const std::pair<std::size_t, SavedTensor>& entry : saved_) {
    if (entry.first == place) return entry.second.unpack(*this);
  }
  return absent(type);
}

// What add does: there is nothing to compute. An input that wants none has no edge.
bool OpNode::passes_on(std::span<const Tensor> grads) const {
  const Reads& reads = *call_->reads;
  if (reads.gives == 0 || reads.passes != reads.gives || !grads[0].defined()) return false;
  for (std::size_t i = 0; i < call_->inputs.size(); ++i) {
    if ((reads.gives & place_bit(i)) == 0) continue;
    const GradType& type = *call_->inputs[i].type;
    if (type.dtype != grads[0].dtype() || !(type.shape == grads[0].shape())) return false;
  }
  return true;
}

Gradients OpNode::run(std::span<Tensor> grads) {
  if (is_released_ && !saved_.empty()) refuse_released();
  if (passes_on(grads)) return Gradients(call_->inputs.size(), grads[0]);
  std::vector<Tensor> inputs;
  std::vector<Number> numbers;
  std::vector<Tensor> made;
  inputs.reserve(call_->inputs.size());
  numbers.reserve(call_->inputs.size());
  const Number* number = numbers_.begin();
  for (std::size_t i = 0; i < call_->inputs.size(); ++i) {
    const RecordedInput& input = call_->inputs[i];
    inputs.push_back(input.type ? kept(i, *input.type) : Tensor());
    numbers.push_back(input.type ? Number() : *number++);
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) made.push_back(kept(call_->inputs.size() + o, outputs[o]));
  const ir::VjpCall seen{
      .inputs = inputs, .outputs = made, .grads = grads, .attrs = call_->attrs.ref(), .numbers = numbers, .wanted = call_->wanted};
  if (!is_grad_enabled() && active_tracer() == nullptr) {
    if (std::optional<Gradients> results = run_as_op(*call_, seen)) return *std::move(results);
  }
  return run_vjp(*call_->op, seen);
}

}  // namespace resilin::tape
