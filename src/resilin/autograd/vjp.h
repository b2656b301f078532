// src/resilin/autograd/vjp.h -- Internal: the gradient of an op: its own vjp, or one derived from its body.
#pragma once

#include "resilin/ir/op.h"

namespace resilin::tape {

/// Whether the op states a vjp, or is a Composite, whose body has one.
bool has_vjp(const ir::OpDef& op);
/// Whether it is the body that is differentiated.
bool is_vjp_derived(const ir::OpDef& op);
/// The op's vjp. Without one of its own a Composite's body is run on the inputs and differentiated; with grad mode on the result can be differentiated
/// again. Inputs that are absent (autograd/reads.h) do not matter and are replaced by any value. UnsupportedError when there is none.
std::vector<Tensor> run_vjp(const ir::OpDef& op, const ir::VjpCall& call);

}  // namespace resilin::tape
