// src/resilin/autograd/op_node.h -- Internal: the node of an applied op.
#pragma once

#include "resilin/autograd/reads.h"
#include "resilin/autograd/recorded_call.h"
#include "resilin/autograd/saved_tensor.h"

namespace resilin::tape {

/// Keeps what the op's vjp reads, and runs it.
class OpNode final : public Node {
 public:
  /// Edges go to the histories of the inputs.
  OpNode(const OpCall& call, std::span<const Tensor> outputs);

  std::string name() const override { return backward_name(call_->op->name); }
  Gradients run(std::span<Tensor> grads) override;
  void release_saved() override;

  /// Keeps the input (output) if the vjp reads it.
  bool reads_input(std::size_t i) const { return (call_->reads->inputs & place_bit(i)) != 0; }
  bool reads_output(std::size_t o) const { return (call_->reads->outputs & place_bit(o)) != 0; }
  void save_input(std::size_t i, const Tensor& x);
  void save_output(std::size_t o, const Tensor& y);

 private:
  bool passes_on(std::span<const Tensor> grads) const;
  Tensor kept(std::size_t place, const GradType& type);

  Ref<const RecordedCall> call_;
  SmallVector<Number, 1> numbers_;                             // values of the inputs that are no tensors
  SmallVector<std::pair<std::size_t, SavedTensor>, 2> saved_;  // by place: inputs, then outputs
  bool is_released_ = false;
};

}  // namespace resilin::tape
