// src/resilin/autograd/function.cpp -- Function: a step of a history with a forward and a backward of the user's own.
#include "resilin/autograd/function.h"

#include <algorithm>

#include "resilin/autograd/node.h"
#include "resilin/autograd/saved_tensor.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/create/fill.h"

namespace resilin {

struct FunctionContext::Parts {
  std::vector<Tensor> to_save;
  std::vector<Tensor> without_grad;
  std::vector<tape::SavedTensor> saved;
  std::vector<bool> needs;  // per input
  tape::Node* owner = nullptr;
  bool materializes = true;
  bool is_released = false;
};

namespace tape {

class FunctionNode final : public Node {
 public:
  explicit FunctionNode(const Function& function) : name_(function.name + "Backward"), backward_(function.backward) {
    context_.parts_->owner = this;
  }
  std::string name() const override { return name_; }
  Gradients run(std::span<Tensor> grads) override;
  void release() override;
  /// Forward and then the history of its outputs.
  std::vector<Tensor> forward(const Function& function, std::span<const Tensor> inputs);

 private:
  void record(std::span<const Tensor> inputs, std::vector<Tensor>& results);
  bool is_marked(const Tensor& output) const;

  std::string name_;
  Function::Body backward_;
  FunctionContext context_;
};

namespace {

bool shares_memory(const Tensor& output, std::span<const Tensor> inputs) {
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Tensor& x) { return x.defined() && x.storage().defined() && x.storage() == output.storage(); });
}

bool is_among(const Tensor& x, std::span<const Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.defined() && t.is_same(x); });
}

}  // namespace

std::vector<Tensor> FunctionNode::forward(const Function& function, std::span<const Tensor> inputs) {
  FunctionContext::Parts& parts = *context_.parts_;
  bool is_recorded = false;
  for (const Tensor& x : inputs) {
    edges.push_back(x.defined() && is_grad_enabled() ? edge_of(x) : Edge());
    parts.needs.push_back(edges.back().defined());
    is_recorded = is_recorded || edges.back().defined();
  }
  sequence = next_sequence();
  std::vector<Tensor> results;
  {
    const NoGrad no_grad;
    results = function.forward(context_, inputs);
  }
  if (is_recorded) record(inputs, results);
  parts.to_save.clear();
  parts.without_grad.clear();
  return results;
}

void FunctionNode::record(std::span<const Tensor> inputs, std::vector<Tensor>& results) {
  FunctionContext::Parts& parts = *context_.parts_;
  const std::vector<Tensor> made = results;
  for (const Tensor& y : made) outputs.push_back({y.dtype(), y.shape()});
  for (const Tensor& x : parts.to_save) {
    const auto at = std::find_if(made.begin(), made.end(), [&](const Tensor& y) { return x.defined() && y.is_same(x); });
    const bool is_output = at != made.end() && !is_among(x, inputs);
    parts.saved.push_back(!x.defined() ? SavedTensor()
                          : is_output  ? SavedTensor::output(x, static_cast<int>(at - made.begin()))
                                       : SavedTensor(x));
  }
  for (std::size_t o = 0; o < made.size(); ++o) {
    if (!is_floating(made[o].dtype()) || is_among(made[o], parts.without_grad)) continue;
    if (state_of(made[o]) != nullptr || is_among(made[o], inputs)) results[o] = bare(made[o]);
    set_history(results[o], Edge(shared_from_this(), static_cast<int>(o)));
    need_state(results[o]).refuses_writes = shares_memory(results[o], inputs);
  }
  announce(shared_from_this());
}

Gradients FunctionNode::run(std::span<Tensor> grads) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!grads[o].defined() && context_.parts_->materializes) grads[o] = zeros(outputs[o].shape, outputs[o].dtype);
  }
  Gradients results = backward_(context_, grads);
  if (results.size() != edges.size()) {
    throw ArgumentError(
        cat("function ", name_, " returned an incorrect number of gradients (expected ", edges.size(), ", got ", results.size(), ")"));
  }
  return results;
}

void FunctionNode::release() {
  context_.parts_->is_released = true;
  for (SavedTensor& saved : context_.parts_->saved) saved.release();
}

}  // namespace tape

FunctionContext::FunctionContext() : parts_(std::make_unique<Parts>()) {}
FunctionContext::~FunctionContext() = default;

void FunctionContext::save_for_backward(std::span<const Tensor> tensors) { parts_->to_save.assign(tensors.begin(), tensors.end()); }
void FunctionContext::save_for_backward(std::initializer_list<Tensor> tensors) {
  save_for_backward(std::span<const Tensor>(tensors.begin(), tensors.size()));
}

std::vector<Tensor> FunctionContext::saved_tensors() const {
  if (parts_->is_released && !parts_->saved.empty()) tape::refuse_released();
  std::vector<Tensor> tensors;
  for (const tape::SavedTensor& saved : parts_->saved) tensors.push_back(saved.is_held() ? saved.unpack(*parts_->owner) : Tensor());
  return tensors;
}

bool FunctionContext::needs_input_grad(std::size_t input) const { return parts_->needs.at(input); }
void FunctionContext::mark_non_differentiable(const Tensor& output) { parts_->without_grad.push_back(output); }
void FunctionContext::set_materialize_grads(bool materialize) { parts_->materializes = materialize; }

std::vector<Tensor> apply_function(const Function& function, std::span<const Tensor> inputs) {
  return std::make_shared<tape::FunctionNode>(function)->forward(function, inputs);
}
std::vector<Tensor> apply_function(const Function& function, std::initializer_list<Tensor> inputs) {
  return apply_function(function, std::span<const Tensor>(inputs.begin(), inputs.size()));
}

}  // namespace resilin
