// src/resilin/ops/contract/matmul.h -- matrix products.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kMatmulOps;

/// Matrix product over the last two axes; leading axes broadcast. As in PyTorch a 1-D `a` is a row and a 1-D `b` a column whose axis the result drops.
///
/// Shapes  a [..., m, k], b [..., k, n] -> [..., m, n]
/// Dtypes  f32 f64 f16 bf16 i64 i32 u8, both the same; f16 and bf16 accumulate in f32 and are rounded once, integers wrap
/// Errors  ShapeError for 0-d inputs, unequal inner sizes, leading axes that do not broadcast; DtypeError
/// Each element is summed in ascending k, so the bits do not depend on threads or machine-specific tuning.
RESILIN_API Tensor matmul(const Tensor& a, const Tensor& b);

}  // namespace resilin
