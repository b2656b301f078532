// src/resilin/codegen/gemm/blocked.h -- Internal: products of matrices beyond the caches, on packed blocks.
#pragma once

#include "resilin/codegen/gemm/block_kernel.h"
#include "resilin/codegen/gemm/gemm.h"

namespace resilin::gemm_kernels {

/// Any strides, any sizes, any batch, f32 f64 bf16 f16 as far as the kernel packs them.
void multiply_blocked(const BlockKernel& kernel, const GemmArguments& g);

}  // namespace resilin::gemm_kernels
