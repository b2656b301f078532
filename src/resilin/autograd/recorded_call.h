// src/resilin/autograd/recorded_call.h -- Internal: what recorded calls of the same op, attributes and types share.
#pragma once

#include <optional>

#include "resilin/autograd/tape.h"
#include "resilin/base/counted.h"
#include "resilin/dispatch/apply.h"

namespace resilin::tape {

struct Reads;

/// One input of a recorded call: a tensor's type, or a number, or nothing, which counts as a number.
struct RecordedInput {
  std::optional<GradType> type;
  NumberKind number_kind = NumberKind::Float;
};

/// A call as its vjp sees it, but for the elements and the values of numbers. Immutable.
struct RecordedCall final : Counted {
  const ir::OpDef* op = nullptr;
  ir::Attrs attrs;
  SmallVector<RecordedInput, 2> inputs;
  SmallVector<GradType, 1> outputs;
  std::uint64_t wanted = 0;      // bit i: input i requires a gradient; bit 63 stands for all from there on
  const Reads* reads = nullptr;  // of its vjp
};

/// The shared one of the call. A thread finds the calls that it made last again; others are made anew.
Ref<const RecordedCall> recorded_call(const OpCall& call, std::uint64_t wanted, std::span<const Tensor> outputs);

}  // namespace resilin::tape
