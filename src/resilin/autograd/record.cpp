// src/resilin/autograd/record.cpp -- Record: the interpreter that runs an applied op by the one below and puts a node on the tape.
#include <algorithm>

#include "resilin/autograd/node.h"
#include "resilin/autograd/op_node.h"
#include "resilin/autograd/view.h"
#include "resilin/autograd/write.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/dispatch/recorder.h"
#include "resilin/ops/view/axes.h"

namespace resilin {
namespace {

using namespace tape;

bool takes_part(const Tensor& x) { return is_floating(x.dtype()) && has_edge(x); }

bool any_takes_part(std::span<const Input> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Input& input) { return input.is_tensor() && takes_part(input.tensor()); });
}

bool is_input(const OpCall& call, const Tensor& y) {
  return std::any_of(call.inputs.begin(), call.inputs.end(),
                     [&](const Input& input) { return input.is_tensor() && input.tensor().is_same(y); });
}

void note_views(const OpCall& call, const Outputs& outputs) {
  if (!std::holds_alternative<ir::View>(call.op.lower) || !call.inputs[0].is_tensor()) return;
  const Tensor& x = call.inputs[0].tensor();
  if (x.storage().defined() && outputs[0].storage() == x.storage()) note_view(outputs[0], x, call.op, call.attrs);
}

Outputs record_new(const OpCall& call) {
  Outputs outputs = apply_unrecorded(call.op, call.inputs, call.attrs, nullptr);
  for (Tensor& y : outputs) {
    if (is_input(call, y)) y = bare(y);  // a body may give back an input, which keeps its own history
  }
  const auto is_differentiable = [](const Tensor& y) { return is_floating(y.dtype()); };
  if (std::none_of(outputs.begin(), outputs.end(), is_differentiable)) return outputs;
  const Ref<OpNode> node = make_ref<OpNode>(call, outputs);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i].is_tensor() && node->reads_input(i)) node->save_input(i, call.inputs[i].tensor());
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (node->reads_output(o)) node->save_output(o, outputs[o]);
    if (is_differentiable(outputs[o])) set_history(outputs[o], Edge(node, static_cast<int>(o)));
  }
  note_views(call, outputs);
  announce(*node);
  return outputs;
}

// --- in place ----------------------------------------------------------------------------------------------------------------------
// What the vjp reads of a value that is about to be overwritten is copied first.
void save_inputs_of_write(const OpCall& call, OpNode& node) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i].is_tensor() || !node.reads_input(i)) continue;
    const Tensor& x = call.inputs[i].tensor();
    if (!is_same_view(x, *call.destination)) {
      node.save_input(i, x);
      continue;
    }
    const NoGrad no_grad;
    const Tensor copy = clone(x);
    node.save_input(i, node.edges[i].defined() ? with_history(copy, node.edges[i]) : copy);
  }
}

Outputs record_write(const OpCall& call) {
  const Tensor& destination = *call.destination;
  const Ref<OpNode> node = make_ref<OpNode>(call, std::span<const Tensor>(&destination, 1));
  save_inputs_of_write(call, *node);
  Outputs outputs = apply_unrecorded(call.op, call.inputs, call.attrs, &destination);
  if (node->reads_output(0)) node->save_output(0, destination);
  rewrite_history(destination, Edge(node, 0));
  announce(*node);
  return outputs;
}

Outputs record(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination) {
  const OpCall call{op, inputs, attrs, destination};
  const bool has_edges = any_takes_part(inputs);
  if (destination == nullptr) return has_edges ? record_new(call) : apply_unrecorded(op, inputs, attrs, nullptr);
  const std::span<const Tensor> destinations = call.destinations();
  if (!has_edges && std::none_of(destinations.begin(), destinations.end(), takes_part))
    return apply_unrecorded(op, inputs, attrs, destination);
  if (op.output_count > 1) throw UnsupportedError(cat(op.name, ": writing several results in place has no gradient; do it under NoGrad"));
  check_write(op.name, *destination, has_edges);
  return record_write(call);
}

}  // namespace

constinit const Recorder kRecorder{record};

}  // namespace resilin
