// src/resilin/autograd/accumulate.cpp -- Internal: the end of a history: the node that adds a gradient to a leaf's own.
#include "resilin/autograd/accumulate.h"

#include <limits>

#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/view/axes.h"

namespace resilin::tape {
namespace {

class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf) : leaf_(leaf), type_(leaf.dtype(), leaf.shape()) {
    outputs = {&type_, 1};
    sequence = std::numeric_limits<std::uint64_t>::max();  // memory is given back as early as possible
  }
  ~AccumulateGrad() override {
    LeafState& state = need_leaf(leaf_);
    const std::lock_guard<SpinLock> lock(state.accumulator_lock);
    if (state.accumulator == this) state.accumulator = nullptr;
  }
  std::string name() const override { return "AccumulateGrad"; }
  const Tensor& leaf() const { return leaf_; }
  std::shared_ptr<HookList<TensorHook>> tensor_hooks(int) const override { return need_leaf(leaf_).hooks; }

  Gradients run(std::span<Tensor> grads) override {
    LeafState& state = need_leaf(leaf_);
    {
      const std::lock_guard<std::mutex> lock(state.mutex);
      if (!state.grad.defined() && state.grad_memory.defined() && !is_grad_enabled()) {
        state.grad = assign(state.grad_memory, grads[0]);
      } else {
        accumulate(state.grad, std::move(grads[0]));
      }
    }
    if (state.after_accumulate != nullptr) {
      for (const auto& [id, hook] : state.after_accumulate->hooks()) hook(leaf_);
    }
    return {};
  }

 private:
  Tensor leaf_;
  GradType type_;
};

bool is_only_holder(const Tensor& x) {
  return !x.is_traced() && x.body().references.load(std::memory_order_acquire) == 1 && x.storage().use_count() == 1 && x.is_contiguous();
}

}  // namespace

NodePtr accumulator_of(const Tensor& leaf) {
  LeafState& state = need_leaf(leaf);
  const std::lock_guard<SpinLock> lock(state.accumulator_lock);
  if (state.accumulator != nullptr && state.accumulator->try_retain()) return NodePtr::adopt(state.accumulator);
  const NodePtr node = make_ref<AccumulateGrad>(leaf);
  state.accumulator = node.get();
  return node;
}

Tensor leaf_of(const Node& node) {
  const AccumulateGrad* const end = dynamic_cast<const AccumulateGrad*>(&node);
  return end == nullptr ? Tensor() : end->leaf();
}

void accumulate(Tensor& sum, Tensor&& grad) {
  if (sum.defined()) {
    if (is_grad_enabled()) {
      sum = add(sum, grad);
    } else {
      add_(sum, grad);
    }
  } else {
    sum = is_only_holder(grad) ? std::move(grad) : clone(grad);
  }
}

}  // namespace resilin::tape
