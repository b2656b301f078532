// src/resilin/autograd/history.cpp -- which tensors require gradients, the gradients they have, and tensors without their history.
#include "resilin/autograd/history.h"

#include "resilin/autograd/tape.h"
#include "resilin/autograd/view.h"

namespace resilin {

bool requires_grad(const Tensor& x) { return tape::has_edge(x); }

bool is_leaf(const Tensor& x) {
  tape::GradState* const state = tape::state_of(x);
  if (state != nullptr && state->view != nullptr) tape::refresh_view(*state);
  return state == nullptr || !state->edge.defined();
}

const Tensor& requires_grad_(const Tensor& x, bool required) {
  if (required && !is_floating(x.dtype())) throw DtypeError("only Tensors of floating point dtype can require gradients");
  if (!is_leaf(x)) {
    if (required) return x;
    throw ArgumentError(
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that doesn't "
        "require "
        "differentiation use var_no_grad = var.detach().");
  }
  if (required) tape::require_grad(x);
  if (!required && tape::state_of(x) != nullptr) tape::need_state(x).is_required = false;
  return x;
}

Tensor grad(const Tensor& x) {
  tape::GradState* const state = tape::state_of(x);
  if (state == nullptr) return {};
  if (!is_leaf(x)) return state->retained == nullptr ? Tensor() : *state->retained;
  if (state->leaf == nullptr) return {};
  const std::lock_guard<std::mutex> lock(state->leaf->mutex);
  return state->leaf->grad;
}

void set_grad(const Tensor& x, const Tensor& grad) {
  if (!grad.defined()) return clear_grad(x);
  if (grad.dtype() != x.dtype())
    throw DtypeError(cat("set_grad: assigned grad has data of a different type: ", grad.dtype(), "; the tensor is ", x.dtype()));
  if (!(grad.shape() == x.shape()))
    throw ShapeError(cat("set_grad: assigned grad has data of a different size: ", grad.shape(), "; the tensor is ", x.shape()));
  if (!is_leaf(x)) {
    tape::GradState& state = tape::need_state(x);
    if (state.retained == nullptr) state.retained = std::make_shared<Tensor>();
    *state.retained = grad;
    return;
  }
  tape::LeafState& leaf = tape::need_leaf(x);
  const std::lock_guard<std::mutex> lock(leaf.mutex);
  leaf.grad = grad;
}

void set_grad_memory(const Tensor& x, const Tensor& memory) {
  if (memory.defined() && memory.dtype() != x.dtype())
    throw DtypeError(cat("set_grad_memory: the memory is of ", memory.dtype(), "; the tensor is ", x.dtype()));
  if (memory.defined() && !(memory.shape() == x.shape()))
    throw ShapeError(cat("set_grad_memory: the memory has shape ", memory.shape(), "; the tensor has ", x.shape()));
  tape::LeafState& leaf = tape::need_leaf(x);
  const std::lock_guard<std::mutex> lock(leaf.mutex);
  leaf.grad_memory = memory;
}

Tensor grad_memory(const Tensor& x) {
  const tape::GradState* const state = tape::state_of(x);
  return state == nullptr || state->leaf == nullptr ? Tensor() : state->leaf->grad_memory;
}

void clear_grad(const Tensor& x) {
  tape::GradState* const state = tape::state_of(x);
  if (state == nullptr) return;
  if (state->retained != nullptr) *state->retained = Tensor();
  if (state->leaf == nullptr) return;
  const std::lock_guard<std::mutex> lock(state->leaf->mutex);
  state->leaf->grad = Tensor();
}

Tensor detach(const Tensor& x) { return tape::bare(x); }

}  // namespace resilin
