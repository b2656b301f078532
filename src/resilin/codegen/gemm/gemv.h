// src/resilin/codegen/gemm/gemv.h -- Internal: products with at most 4 rows or columns, which run at the speed of memory.
#pragma once

#include "resilin/tensor/dtype.h"

namespace resilin::gemm_kernels {

inline constexpr i64 kFewRows = 4;

/// C[rows, cols] = x[rows, k] * w[k, cols] with few rows. Either w's rows (streamed) or both x and w along k (dotted) are contiguous.
struct FewRows {
  DType dtype;  // f32 f64 bf16 f16
  i64 rows, cols, k;
  const void* x;
  i64 x_row_stride, x_k_stride;
  const void* w;
  i64 w_k_stride, w_col_stride;
  void* c;
  i64 c_row_stride, c_col_stride;
  bool from_c;  // start from C
  bool negate;  // x
};

/// w_col_stride = 1: rows of w are added to a line of sums, each element in ascending k.
void stream_rows(const FewRows& call, i64 col_begin, i64 col_end);
/// x_k_stride = w_k_stride = 1: one dot product an element, over 64 virtual lanes (f64: 32) and a halving tree.
void dot_rows(const FewRows& call, i64 col_begin, i64 col_end);

}  // namespace resilin::gemm_kernels
