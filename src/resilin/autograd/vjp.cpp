// src/resilin/autograd/vjp.cpp -- Internal: the gradient of an op: its own vjp, or one derived from its body.
#include "resilin/autograd/vjp.h"

#include <optional>

#include "resilin/autograd/engine.h"
#include "resilin/autograd/node.h"
#include "resilin/autograd/reads.h"
#include "resilin/autograd/saved_tensor.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/dispatch/promote.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/view/shape.h"

namespace resilin::tape {
namespace {

// The destination's old elements are gone; the value's gradient is what arrives. Its definition lies below the ops that this needs.
std::vector<Tensor> assign_vjp(const ir::VjpCall& call) { return {Tensor(), ops::reduce_to(call.grads[0], call.inputs[1])}; }

ir::Vjp own_vjp(const ir::OpDef& op) { return &op == &assign_op ? assign_vjp : op.vjp; }

/// Where the history of a body begins: what leads further back is the history of the op's input.
class BodyInput final : public Node {
 public:
  explicit BodyInput(const Tensor& x) : type_(x.dtype(), x.shape()) {
    edges.push_back(edge_of(x));
    outputs = {&type_, 1};
    sequence = next_sequence();
  }
  std::string name() const override { return "BodyInputBackward0"; }
  Gradients run(std::span<Tensor> grads) override { return {grads[0]}; }

 private:
  GradType type_;
};

/// While the scope lives, hooks of this thread on saved tensors and on new nodes are not called.
class Unobserved {
 public:
  Unobserved() : saved_(exchange_saved_tensor_hooks(nullptr)), created_(exchange_node_creation_hook(nullptr)) {}
  ~Unobserved() {
    exchange_saved_tensor_hooks(saved_);
    exchange_node_creation_hook(created_);
  }
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;

 private:
  const SavedTensorHooks* saved_;
  const NodeCreationHook* created_;
};

// As apply brings them to a body: of common dtypes, and wide.
std::vector<Tensor> inputs_of_body(const ir::OpDef& op, const ir::VjpCall& call) {
  std::vector<PromotionInput> seen;
  for (const Tensor& x : call.inputs) {
    seen.push_back(x.defined() ? PromotionInput{.is_present = true, .dtype = x.dtype(), .ndim = x.ndim()} : PromotionInput{});
  }
  const std::optional<DType> dtype = promoted_dtype(op, seen);
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor& x = inputs[i];
    if (!x.defined()) continue;
    if (is_absent(x)) x = expand(zeros({}, x.dtype()), x.shape());
    if (dtype && op.inputs[std::min(i, op.inputs.size() - 1)].promoted) x = cast(x, *dtype);
    if (std::get<ir::Composite>(op.lower).widens) x = ops::widened(x);
  }
  return inputs;
}

std::vector<Tensor> derived_vjp(const ir::OpDef& op, const ir::VjpCall& call) {
  const bool creates_graph = is_grad_enabled();
  std::vector<Tensor> inputs = inputs_of_body(op, call);
  BackwardCall backward;
  backward.is_restricted = true;
  backward.ends_at_captures = true;
  backward.keeps_saved = creates_graph;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!call.wants(i) || !call.inputs[i].defined() || !is_floating(call.inputs[i].dtype())) continue;
    backward.captures.emplace_back(make_ref<BodyInput>(inputs[i]), 0);
    inputs[i] = with_history(inputs[i], backward.captures.back());
    places.push_back(i);
  }
  std::vector<Tensor> outputs;
  {
    const EnableGrad enable_grad;
    outputs = std::get<ir::Composite>(op.lower).body({inputs, call.attrs});
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    Edge edge = edge_of(outputs[o]);
    if (!call.grads[o].defined() || !edge.defined()) continue;
    backward.grads.push_back(cast(call.grads[o], outputs[o].dtype()));
    backward.roots.push_back(std::move(edge));
  }
  Gradients captured = run_backward(backward);
  std::vector<Tensor> results(inputs.size());
  for (std::size_t p = 0; p < places.size(); ++p) {
    if (captured[p].defined()) results[places[p]] = cast(captured[p], call.inputs[places[p]].dtype());
  }
  return results;
}

}  // namespace

bool is_vjp_derived(const ir::OpDef& op) { return own_vjp(op) == nullptr && std::holds_alternative<ir::Composite>(op.lower); }
bool has_vjp(const ir::OpDef& op) { return own_vjp(op) != nullptr || is_vjp_derived(op); }

std::vector<Tensor> run_vjp(const ir::OpDef& op, const ir::VjpCall& call) {
  if (const ir::Vjp own = own_vjp(op)) return own(call);
  if (!has_vjp(op)) throw UnsupportedError(cat("derivative for ", op.name, " is not implemented"));
  if (is_grad_enabled()) return derived_vjp(op, call);
  const Unobserved unobserved;  // what only the body's gradient records is no step of the user's
  return derived_vjp(op, call);
}

}  // namespace resilin::tape
