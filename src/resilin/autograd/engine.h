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

/// The captured gradients, undefined where none arrived. Grad mode is the caller's.
Gradients run_backward(const BackwardCall& call);

}  // namespace resilin::tape
