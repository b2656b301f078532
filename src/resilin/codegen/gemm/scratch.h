// src/resilin/codegen/gemm/scratch.h -- Internal: the packing buffers of a thread, kept from product to product.
#pragma once

#include "resilin/base/text.h"

namespace resilin::gemm_kernels {

/// What a buffer holds; a thread has one of each.
enum class Scratch : int { PackedA, PackedB, Sums };
inline constexpr int kScratchCount = 3;

/// At least `size_bytes` bytes, aligned to cache lines, with unspecified contents, valid until the thread asks for the same buffer again.
/// Buffers only grow, up to what the blocking asks for, and go when their thread ends. Errors: MemoryError.
void* scratch(Scratch which, i64 size_bytes);

}  // namespace resilin::gemm_kernels
