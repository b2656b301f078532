// src/resilin/autograd/hooks.cpp -- functions that backward calls with gradients of a tensor, and gradients kept of tensors that are no leaves.
#include "resilin/autograd/hooks.h"

#include <list>
#include <mutex>

#include "resilin/autograd/engine.h"
#include "resilin/autograd/history.h"
#include "resilin/autograd/tape.h"

namespace resilin {
namespace {

using TensorHooks = HookList<tape::TensorHook>;

std::shared_ptr<TensorHooks>& hooks_of(const Tensor& x) {
  if (is_leaf(x)) return tape::need_leaf(x).hooks;
  const tape::Edge edge = tape::edge_of(x);
  return edge.node->need_hooks().tensor[static_cast<std::size_t>(edge.output)];
}

/// One hook on several tensors, each of which has a hook that reports to it and keeps it alive.
class GradCollector final : public HookTable {
 public:
  GradCollector(MultiGradHook hook, MultiGradMode mode, std::size_t count) : hook_(std::move(hook)), mode_(mode), lists_(count) {}
  void watch(const std::shared_ptr<TensorHooks>& list, HookHandle handle, std::size_t place) {
    lists_[place] = list;
    handles_.push_back(std::move(handle));
  }
  void remove(std::uint64_t) override {
    for (HookHandle& handle : handles_) handle.remove();
  }
  void arrive(std::size_t place, const Tensor& grad) {
    tape::RunningBackward* const backward = tape::running_backward();
    std::vector<Tensor> grads;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      Progress& progress = progress_of(*backward);
      if (progress.missing == 0) return;  // called already
      progress.grads[place] = grad;
      if (--progress.missing > 0) return;
      grads = std::move(progress.grads);
    }
    hook_(grads);
  }

 private:
  /// Of one backward.
  struct Progress {
    std::weak_ptr<const int> backward;
    std::vector<Tensor> grads;
    int missing = 0;
  };
  // What ended early by an error is forgotten.
  Progress& progress_of(tape::RunningBackward& backward) {
    std::erase_if(progress_, [](const Progress& p) { return p.backward.expired(); });
    for (Progress& p : progress_) {
      if (p.backward.lock() == backward.token()) return p;
    }
    return progress_.emplace_back(
        Progress{backward.token(), std::vector<Tensor>(lists_.size()), mode_ == MultiGradMode::Any ? 1 : count_in(backward)});
  }
  int count_in(const tape::RunningBackward& backward) const {
    int count = 0;
    backward.visit([&](const tape::Node& node) {
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        const std::shared_ptr<TensorHooks> list = node.tensor_hooks(static_cast<int>(o));
        if (list == nullptr) continue;
        for (const std::weak_ptr<TensorHooks>& watched : lists_) count += watched.lock() == list ? 1 : 0;
      }
    });
    return count;
  }

  MultiGradHook hook_;
  MultiGradMode mode_;
  std::vector<std::weak_ptr<TensorHooks>> lists_;  // per tensor
  std::vector<HookHandle> handles_;
  std::mutex mutex_;
  std::list<Progress> progress_;
};

}  // namespace

HookHandle register_hook(const Tensor& x, std::function<Tensor(const Tensor&)> hook) {
  if (!requires_grad(x)) throw ArgumentError("cannot register a hook on a tensor that doesn't require gradient");
  return add_hook(hooks_of(x), std::move(hook));
}

HookHandle register_multi_grad_hook(std::span<const Tensor> tensors, MultiGradHook hook, MultiGradMode mode) {
  for (const Tensor& x : tensors) {
    if (!requires_grad(x)) throw ArgumentError("cannot register a hook on a tensor that doesn't require gradient");
  }
  const std::shared_ptr<GradCollector> collector = std::make_shared<GradCollector>(std::move(hook), mode, tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    HookHandle handle = register_hook(tensors[i], [collector, i](const Tensor& grad) {
      collector->arrive(i, grad);
      return Tensor();
    });
    collector->watch(hooks_of(tensors[i]), std::move(handle), i);
  }
  return {collector, 0};
}

HookHandle register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor&)> hook) {
  if (!requires_grad(leaf)) throw ArgumentError("cannot register a hook on a tensor that doesn't require gradient");
  if (!is_leaf(leaf)) throw ArgumentError("post accumulate grad hooks cannot be registered on non-leaf tensors");
  return add_hook(tape::need_leaf(leaf).after_accumulate, std::move(hook));
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
