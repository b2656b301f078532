// src/resilin/codegen/gemm/integer.h -- Internal: products of integers, which wrap.
#pragma once

#include "resilin/codegen/gemm/gemm.h"

namespace resilin::gemm_kernels {

/// Rows [row_begin, row_end) of C for i64, i32 and u8; any strides.
void multiply_integers(const GemmArguments& g, i64 row_begin, i64 row_end);

}  // namespace resilin::gemm_kernels
