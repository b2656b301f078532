// src/resilin/codegen/gemm/block_kernel.h -- Internal: the tables of functions that an instruction set gives to the blocked product.
#pragma once

#include <cstdint>

#include "resilin/tensor/dtype.h"

namespace resilin::gemm_kernels {

/// A matrix to be packed: `lanes` rows of A or columns of B, each a vector of k elements.
struct PackSource {
  DType dtype;
  const void* data;
  i64 lane_stride, k_stride;  // in elements
  i64 lanes, k;
  bool negate;
};

/// C[m, n] (+)= A * B on packed blocks. Panels hold `mr` rows or `nr` columns each and lie one behind the other.
struct BlockCall {
  i64 m, n, k;
  const void* a;
  i64 a_row_bytes;  // 0: A is packed; else A is read in place, its rows this far apart (only kernels with reads_in_place)
  const void* b;
  void* c;  // [m, n] sums, row stride ldc, columns contiguous
  i64 ldc;
  bool accumulate;  // false: C is written without being read
};

/// How one instruction set multiplies blocks.
struct BlockKernel {
  const char* name;
  i64 mr, nr;        // the register block
  i64 k_step;        // packed k is padded with zeros to a multiple of this
  i64 mc, kc, nc;    // the cache block
  i64 packed_bytes;  // of a packed element
  i64 sum_bytes;     // of an element of C inside the kernel: 4 = f32, 8 = f64
  bool pads_c;       // writes C in whole register blocks: C must have room up to multiples of mr and nr
  void (*pack_a)(const PackSource& source, void* panels);
  void (*pack_b)(const PackSource& source, void* panels);
  bool (*reads_in_place)(const PackSource& source);  // null: never
  void (*block)(const BlockCall& call);
  void (*enter)();  // before the first block of a run of blocks on one thread, and after the last; null: nothing to do
  void (*leave)();
};

/// A whole small product on matrices in place: B and C have contiguous columns, A any strides.
struct DirectCall {
  i64 m, n, k;
  const void* a;
  i64 a_row_stride, a_k_stride;
  const void* b;
  i64 b_k_stride;
  void* c;
  i64 c_row_stride;
  bool accumulate;
};
using DirectProduct = void (*)(const DirectCall& call);

extern const BlockKernel kAvx2F32, kAvx2F64, kAvx512F32, kAvx512F64, kAmxBf16;
void direct_avx2_f32(const DirectCall& call);
void direct_avx2_f64(const DirectCall& call);
void direct_avx512_f32(const DirectCall& call);
void direct_avx512_f64(const DirectCall& call);

/// Packing into f32 or f64 panels of `width` lanes: [panel][k][width], missing lanes are zero. Sources for f32 are f32, bf16 and f16; for
/// f64, f64.
void pack_f32(const PackSource& source, i64 width, float* panels);
void pack_f64(const PackSource& source, i64 width, double* panels);
/// Packing bf16 for AMX, k padded to multiples of 32. A: [panel][k / 32][32 rows][32]. B: [panel][k / 2][32 columns][2].
void pack_amx_a(const PackSource& source, void* panels);
void pack_amx_b(const PackSource& source, void* panels);

/// The permission to use tile registers, asked of the kernel once a process; false where there are none.
bool amx_permitted();

/// A block of C in the accumulator's type beside C itself.
struct SumBlock {
  DType dtype;  // of C
  void* c;
  i64 c_row_stride, c_col_stride;
  void* sums;  // f32, or f64 when C is f64
  i64 ldc;
  i64 rows, cols;
};
void load_sums(const SumBlock& block);   // sums = C
void store_sums(const SumBlock& block);  // C = sums, rounded to nearest even

}  // namespace resilin::gemm_kernels
