// src/resilin/dispatch/recorder.h -- Internal: the door through which apply hands calls with a history to autograd.
#pragma once

#include "resilin/dispatch/apply.h"

namespace resilin {

/// What autograd gives to apply: the interpreter Record, which runs a call by `apply_unrecorded` and puts it on the tape.
struct Recorder {
  Outputs (*apply)(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination);
};
/// Defined in autograd and bound by the linker.
extern const Recorder kRecorder;

/// apply by Execute or Trace alone.
Outputs apply_unrecorded(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination);

/// Whether this thread records. Part of every apply, hence without the guard of a dynamic initialiser.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit bool grad_is_enabled;

}  // namespace resilin
