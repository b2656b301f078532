// src/resilin/runtime/launch.h -- Internal: one launch of a kernel over the thread pool, and the errors that kernels report.
#pragma once

#include <span>

#include "resilin/codegen/compile.h"
#include "resilin/plan/plan.h"
#include "resilin/tensor/tensor.h"

namespace resilin {

/// Runs all phases of the step's kernel. `integers` are the evaluated integers of the plan, `slots` its tensors.
void launch(const LaunchStep& step, const Code& code, std::span<const i64> integers, std::span<const Tensor* const> slots,
            std::span<const Number> numbers);

/// out = einsum(labels, a, b) for labels of at most one letter per role beside the ellipsis; batch axes broadcast.
void contract(const ContractStep& step, const Tensor& a, const Tensor& b, const Tensor& out);

}  // namespace resilin
