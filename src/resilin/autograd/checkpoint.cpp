// src/resilin/autograd/checkpoint.cpp -- a part of a computation that keeps its inputs only and runs again in backward.
#include "resilin/autograd/checkpoint.h"

#include <memory>
#include <utility>

#include "resilin/autograd/saved_tensor.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/tensor/generator.h"

namespace resilin {
namespace {

using Body = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

/// This thread's generator as it was at an earlier time, until the end of the scope.
class GeneratorAt {
 public:
  GeneratorAt(i64 seed, i64 offset) : seed_(default_generator().seed()), offset_(default_generator().offset()) { set(seed, offset); }
  ~GeneratorAt() { set(seed_, offset_); }
  GeneratorAt(const GeneratorAt&) = delete;
  GeneratorAt& operator=(const GeneratorAt&) = delete;

 private:
  static void set(i64 seed, i64 offset) {
    default_generator().manual_seed(seed);
    default_generator().set_offset(offset);
  }
  i64 seed_;
  i64 offset_;
};

/// What a checkpoint knows of its first run, and what the latest one has made.
class Replay {
 public:
  Replay(Body body, std::span<const Tensor> inputs)
      : body_(std::move(body)), seed_(default_generator().seed()), offset_(default_generator().offset()) {
    for (const Tensor& x : inputs) {
      inputs_.push_back(x.defined() ? tape::bare(x) : Tensor());
      needs_.push_back(x.defined() && tape::edge_of(x).defined());
      versions_.push_back(x.defined() ? x.version() : 0);
    }
  }
  std::size_t add(const Tensor& x) {
    types_.push_back({x.dtype(), x.shape()});
    return types_.size() - 1;
  }
  /// Given away: it is made again when it is asked for again.
  Tensor take(std::size_t i) {
    if (i >= made_.size() || !made_[i].defined()) run_again();
    return std::exchange(made_[i], Tensor());
  }

 private:
  void run_again() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].defined() && inputs_[i].version() != versions_[i])
        throw ArgumentError(cat("checkpoint: input ", i, " has been modified by an inplace operation: it is at version ",
                                inputs_[i].version(), "; expected version ", versions_[i], " instead"));
    }
    made_.clear();
    const GeneratorAt generator(seed_, offset_);
    const EnableGrad enable_grad;
    const SavedTensorHooks hooks(
        [this](const Tensor& x) {
          check(x);
          made_.push_back(x);
          return std::any(x);
        },
        [](const std::any& kept) { return std::any_cast<Tensor>(kept); });
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      inputs.push_back(inputs_[i].defined() ? tape::bare(inputs_[i]) : Tensor());
      if (needs_[i]) tape::require_grad(inputs[i]);
    }
    body_(inputs);
    if (made_.size() != types_.size()) {
      throw ArgumentError(cat("checkpoint: A different number of tensors was saved during the original forward and recomputation: ",
                              types_.size(), " and ", made_.size()));
    }
  }

  void check(const Tensor& x) const {
    if (made_.size() >= types_.size()) return;
    const tape::GradType& type = types_[made_.size()];
    if (x.dtype() == type.dtype && x.shape() == type.shape) return;
    throw ArgumentError(
        cat("checkpoint: Recomputed values for the following tensors have different metadata than during the forward pass: ", "tensor ",
            made_.size(), " was ", type.dtype, " ", type.shape, ", is ", x.dtype(), " ", x.shape()));
  }

  Body body_;
  std::vector<Tensor> inputs_;
  std::vector<bool> needs_;
  std::vector<i64> versions_;
  std::vector<tape::GradType> types_;
  std::vector<Tensor> made_;
  i64 seed_;
  i64 offset_;
};

}  // namespace

std::vector<Tensor> checkpoint(const Body& f, std::span<const Tensor> inputs) {
  const std::shared_ptr<Replay> replay = std::make_shared<Replay>(f, inputs);
  const SavedTensorHooks hooks([replay](const Tensor& x) { return std::any(replay->add(x)); },
                               [replay](const std::any& kept) { return replay->take(std::any_cast<std::size_t>(kept)); });
  return f(inputs);
}

}  // namespace resilin
