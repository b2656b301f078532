// src/resilin/autograd/hooks.cpp -- functions that backward calls with gradients of a tensor, and gradients kept of tensors that are no leaves.
#include "resilin/autograd/hooks.h"

#include "resilin/autograd/history.h"
#include "resilin/autograd/tape.h"

namespace resilin {

void HookHandle::remove() {
  if (const std::shared_ptr<HookTable> table = table_.lock()) table->remove(id_);
}

HookHandle register_hook(const Tensor& x, std::function<Tensor(const Tensor&)> hook) {
  if (!requires_grad(x)) throw ArgumentError("cannot register a hook on a tensor that doesn't require gradient");
  if (is_leaf(x)) return add_hook(tape::need_state(x).leaf_hooks, std::move(hook));
  const tape::Edge edge = tape::edge_of(x);
  return add_hook(edge.node->need_hooks().tensor[static_cast<std::size_t>(edge.output)], std::move(hook));
}

HookHandle register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor&)> hook) {
  if (!requires_grad(leaf)) throw ArgumentError("cannot register a hook on a tensor that doesn't require gradient");
  if (!is_leaf(leaf)) throw ArgumentError("post accumulate grad hooks cannot be registered on non-leaf tensors");
  return add_hook(tape::need_state(leaf).after_accumulate, std::move(hook));
}

void retain_grad(const Tensor& x) {
  if (!requires_grad(x)) throw ArgumentError("can't retain_grad on Tensor that has requires_grad=False");
  if (is_leaf(x)) return;
  const tape::Edge edge = tape::edge_of(x);
  tape::GradState& state = tape::need_state(x);
  if (state.retained == nullptr) state.retained = std::make_shared<Tensor>();
  edge.node->need_hooks().retained[static_cast<std::size_t>(edge.output)] = state.retained;
}

}  // namespace resilin
