// src/resilin/autograd/function.cpp -- Function: a step of a history with a forward and a backward of the user's own.
#include "resilin/autograd/function.h"

#include <algorithm>

#include "resilin/autograd/node.h"
#include "resilin/autograd/saved_tensor.h"
#include "resilin/autograd/write.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/create/fill.h"

namespace resilin {

struct FunctionContext::Parts {
  std::vector<Tensor> to_save;
  std::vector<Tensor> without_grad;
  std::vector<Tensor> dirty;
  std::vector<std::pair<Tensor, std::optional<DType>>> grad_dtypes;
  std::vector<tape::SavedTensor> saved;
  std::vector<bool> needs;  // per input
  tape::Node* owner = nullptr;
  bool materializes = true;
  bool is_released = false;
};

namespace tape {

class FunctionNode final : public Node {
 public:
  explicit FunctionNode(const Function& function) : name_(function.name), backward_(function.backward) { context_.parts_->owner = this; }
  std::string name() const override { return name_ + "Backward"; }
  Gradients run(std::span<Tensor> grads) override;
  void release_saved() override;
  /// Forward and then the history of its outputs.
  std::vector<Tensor> forward(const Function& function, std::span<const Tensor> inputs);

 private:
  void check_marks(std::span<const Tensor> inputs, std::span<const Tensor> made) const;
  void check_dirty(const Tensor& x, std::size_t output_count) const;
  void save(std::span<const Tensor> inputs, std::span<const Tensor> made);
  void record(std::span<const Tensor> inputs, std::vector<Tensor>& results);

  std::string name_;
  Function::Body backward_;
  FunctionContext context_;
  std::vector<GradType> types_;  // per output
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
  check_marks(inputs, results);
  for (const Tensor& x : parts.dirty) {
    if (x.storage().defined()) x.storage().bump_version();  // forward may have written past the ops
  }
  if (is_recorded) record(inputs, results);
  parts.to_save.clear();
  parts.without_grad.clear();
  parts.dirty.clear();
  parts.grad_dtypes.clear();
  return results;
}

void FunctionNode::check_marks(std::span<const Tensor> inputs, std::span<const Tensor> made) const {
  const FunctionContext::Parts& parts = *context_.parts_;
  for (const Tensor& x : parts.dirty) {
    if (!is_among(x, made)) {
      throw ArgumentError(
          "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified inplace must "
          "all be outputs of the Function.");
    }
    if (!is_among(x, inputs)) throw ArgumentError(cat(name_, ": a tensor that is no input was marked as dirty"));
    if (is_among(x, parts.without_grad)) {
      throw ArgumentError(cat(name_, ": a tensor was marked as dirty and as non-differentiable; its history would be lost"));
    }
  }
  for (const auto& [y, dtype] : parts.grad_dtypes) {
    if (!is_among(y, made)) throw ArgumentError(cat(name_, ": set_output_grad_dtype was called with a tensor that is no output"));
  }
}

void FunctionNode::check_dirty(const Tensor& x, std::size_t output_count) const {
  check_write(name_, x, true);
  const GradState* const state = state_of(x);
  if (output_count == 1 || state == nullptr || state->view == nullptr) return;
  throw ArgumentError(
      "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor. "
      "clone() "
      "the input, or make two Functions of it.");
}

// An input that was written is kept as it is now, as an output.
void FunctionNode::save(std::span<const Tensor> inputs, std::span<const Tensor> made) {
  FunctionContext::Parts& parts = *context_.parts_;
  for (const Tensor& x : parts.to_save) {
    const auto at = std::find_if(made.begin(), made.end(), [&](const Tensor& y) { return x.defined() && y.is_same(x); });
    const bool is_output = at != made.end() && (!is_among(x, inputs) || is_among(x, parts.dirty));
    parts.saved.push_back(!x.defined() ? SavedTensor()
                          : is_output  ? SavedTensor::output(x, static_cast<int>(at - made.begin()))
                                       : SavedTensor(x));
  }
}

void FunctionNode::record(std::span<const Tensor> inputs, std::vector<Tensor>& results) {
  FunctionContext::Parts& parts = *context_.parts_;
  const std::vector<Tensor> made = results;
  for (const Tensor& y : made) {
    GradType& type = types_.emplace_back(y.dtype(), y.shape());
    for (const auto& [marked, dtype] : parts.grad_dtypes) {
      if (!marked.is_same(y)) continue;
      type.takes_any_dtype = !dtype;
      type.dtype = dtype.value_or(y.dtype());
    }
  }
  outputs = types_;
  for (const Tensor& x : parts.dirty) check_dirty(x, made.size());
  save(inputs, made);
  for (std::size_t o = 0; o < made.size(); ++o) {
    if (!is_floating(made[o].dtype()) || is_among(made[o], parts.without_grad)) continue;
    if (is_among(made[o], parts.dirty)) {
      rewrite_history(made[o], Edge(NodePtr(this), static_cast<int>(o)));
      continue;
    }
    if (state_of(made[o]) != nullptr || is_among(made[o], inputs)) results[o] = bare(made[o]);
    set_history(results[o], Edge(NodePtr(this), static_cast<int>(o)));
    need_state(results[o]).refuses_writes = shares_memory(results[o], inputs);
  }
  announce(*this);
}

Gradients FunctionNode::run(std::span<Tensor> grads) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!grads[o].defined() && context_.parts_->materializes) grads[o] = zeros(outputs[o].shape, outputs[o].dtype);
  }
  Gradients results = backward_(context_, grads);
  if (results.size() != edges.size()) {
    throw ArgumentError(
        cat("function ", name(), " returned an incorrect number of gradients (expected ", edges.size(), ", got ", results.size(), ")"));
  }
  return results;
}

void FunctionNode::release_saved() {
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
void FunctionContext::mark_dirty(const Tensor& input) { parts_->dirty.push_back(input); }
void FunctionContext::set_output_grad_dtype(const Tensor& output, std::optional<DType> dtype) {
  if (dtype && !is_floating(*dtype))
    throw DtypeError(cat("set_output_grad_dtype: a gradient cannot be of ", *dtype, "; it must be floating"));
  parts_->grad_dtypes.emplace_back(output, dtype);
}
void FunctionContext::set_materialize_grads(bool materialize) { parts_->materializes = materialize; }

std::vector<Tensor> apply_function(const Function& function, std::span<const Tensor> inputs) {
  return make_ref<tape::FunctionNode>(function)->forward(function, inputs);
}
std::vector<Tensor> apply_function(const Function& function, std::initializer_list<Tensor> inputs) {
  return apply_function(function, std::span<const Tensor>(inputs.begin(), inputs.size()));
}

}  // namespace resilin
