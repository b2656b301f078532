// src/resilin/autograd/engine.h -- Internal: runs the nodes of a history backwards.
#pragma once

#include "resilin/autograd/tape.h"

namespace resilin::tape {

/// Where gradients start, and what becomes of them.
struct BackwardCall {
  std::vector<Edge> roots;
  Gradients grads;                // per root
  std::vector<Edge> captures;     // gradients to give back; nodes that lead to none of them do not run
  std::vector<Edge> leaves;       // accumulators that run although captures restrict what runs
  bool is_restricted = false;     // to captures and leaves
  bool ends_at_captures = false;  // what lies behind them is not looked at
  bool keeps_saved = false;
};

/// What a hook may ask of the backward that calls it.
class RunningBackward {
 public:
  /// Calls back for every node that runs or whose gradient is given back.
  virtual void visit(const std::function<void(const Node&)>& visit) const = 0;
  /// Shared by all who ask; expires at the end of this backward.
  const std::shared_ptr<const int>& token();

 protected:
  ~RunningBackward() = default;

 private:
  std::shared_ptr<const int> token_;
};
/// The innermost one of this thread, or null.
RunningBackward* running_backward();

/// The captured gradients, undefined where none arrived. Grad mode is the caller's.
Gradients run_backward(const BackwardCall& call);

}  // namespace resilin::tape
