// src/resilin/autograd/write.cpp -- Internal: writes in place that change the history of what is written.
#include "resilin/autograd/write.h"

#include "resilin/autograd/view.h"

namespace resilin::tape {

void check_write(std::string_view op, const Tensor& destination, bool has_edges) {
  const GradState* const state = state_of(destination);
  if (state != nullptr && state->is_required && !state->edge.defined()) {
    throw ArgumentError(cat(op, ": a leaf Variable that requires grad is being used in an in-place operation."));
  }
  if (state != nullptr && state->view != nullptr) {
    const GradState* const base = state_of(state->view->base);
    if (base->is_required && !base->edge.defined())
      throw ArgumentError(cat(op, ": a view of a leaf Variable that requires grad is being used in an in-place operation."));
  }
  if (destination.is_traced()) throw UnsupportedError(cat(op, ": an in-place operation with a gradient cannot be traced"));
  if (state != nullptr && state->refuses_writes) {
    throw UnsupportedError(
        cat(op, ": an output of a custom function that shares the memory of an input cannot be written with a gradient; clone() it"));
  }
  const bool has_history = state != nullptr && (state->edge.defined() || state->view != nullptr);
  if (!has_history && has_edges && destination.storage().use_count() > 1) {
    throw UnsupportedError(
        cat(op,
            ": a value that requires grad is written into a tensor that does not and whose memory other tensors or a "
            "saved value share; their gradients would be lost. Write into a tensor of its own memory, or join with cat()"));
  }
}

void rewrite_history(const Tensor& destination, Edge written) {
  GradState& state = need_state(destination);
  if (state.view != nullptr) return rebase(destination, std::move(written));
  set_history(destination, std::move(written));
  ++state.rebases;
}

}  // namespace resilin::tape
