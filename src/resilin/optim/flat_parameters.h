// src/resilin/optim/flat_parameters.h -- Internal: parameters of one dtype laid one after the other in one memory, with their gradients and state.
#pragma once

#include <string>
#include <vector>

#include "resilin/tensor/tensor.h"

namespace resilin::optim {

/// Neighbouring parameters that take the same step: elements [begin, end) of the flat memory.
struct FlatRun {
  i64 begin = 0;
  i64 end = 0;
  i64 step = 0;  // how many steps they have taken, this one among them
};

/// Parameters as views of one flat memory, so that an optimizer steps over all in one launch. The tensors stay the same handles: only where their elements
/// lie changes, so a view of a parameter that was made before shows the old memory. Backward writes their gradients into one memory too.
class FlatParameters {
 public:
  /// `state_count` state tensors per parameter, zero. ArgumentError for parameters that are no leaves, are listed twice or differ in dtype.
  FlatParameters(std::vector<Tensor> params, int state_count);

  const std::vector<Tensor>& params() const { return params_; }
  /// Puts every gradient that backward left elsewhere in its place, counts the step of each parameter that has one, and gives what may step together.
  std::vector<FlatRun> begin_step();
  Tensor values(const FlatRun& run) const { return part(values_, run); }
  Tensor grads(const FlatRun& run) const { return part(grads_, run); }
  Tensor state(int which, const FlatRun& run) const { return part(states_[static_cast<std::size_t>(which)], run); }
  /// The state of parameter p as a view of its shape, and how many steps it has taken.
  Tensor state_of(int which, std::size_t p) const;
  i64& steps_of(std::size_t p) { return steps_[p]; }
  i64 steps_of(std::size_t p) const { return steps_[p]; }
  void clear_grads() const;

 private:
  static Tensor part(const Tensor& flat, const FlatRun& run);
  Tensor view_of(const Tensor& flat, std::size_t p) const;

  std::vector<Tensor> params_;
  std::vector<i64> begin_;  // of each parameter, and the end
  std::vector<i64> steps_;
  Tensor values_, grads_;
  std::vector<Tensor> states_;
};

/// The tensors with neighbours that follow each other in one memory joined into one flat view: fewer launches for what treats all elements alike.
std::vector<Tensor> joined_neighbours(const std::vector<Tensor>& tensors);

}  // namespace resilin::optim
