// src/resilin/ops/contract/linear.h -- a linear layer's product.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kLinearOps;

/// x weight^T + bias.
///
/// Shapes  x [..., k], weight [n, k] or [k], bias [n] or undefined -> [..., n], without n for a weight [k]
/// Dtypes  f32 f64 f16 bf16 i64 i32 u8; integers wrap
/// Errors  ShapeError, DtypeError where weight or bias is of another dtype than x
RESILIN_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace resilin
