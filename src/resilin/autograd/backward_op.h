// src/resilin/autograd/backward_op.h -- Internal: a vjp as an op of its own, so that one step of backward is planned, fused and cached like any call.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "resilin/autograd/reads.h"
#include "resilin/ir/op.h"

namespace resilin::tape {

/// The op whose body is the vjp of a call; lives as long as the process. Inputs: the tensors that the vjp reads, then the gradients; outputs: the
/// gradients that it gives.
struct BackwardOp {
  std::string name;
  ir::OpDef definition;
  std::atomic<bool> is_refused{false};  // it cannot be traced for all sizes: the vjp runs op by op
};
BackwardOp& backward_op(const ir::OpDef& forward, std::uint64_t gives);

/// Runs the vjp as one planned graph. Nothing when it must run op by op: it asks for values that only a run knows, or gives
/// fewer gradients since one did not arrive.
std::optional<Gradients> run_as_op(const RecordedCall& call, const ir::VjpCall& seen);

}  // namespace resilin::tape
