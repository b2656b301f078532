// src/resilin/codegen/gemm/gemm.h -- Internal: matrix products of strided matrices on the CPU, and the list of ways to make them.
#pragma once

#include <span>
#include <string>

#include "resilin/base/text.h"
#include "resilin/codegen/cpu.h"
#include "resilin/tensor/dtype.h"

namespace resilin {

/// What happens with the product P = A * B.
enum class GemmUpdate : std::uint8_t { Assign, Add, Subtract };  // C = P, C = C + P, C = C - P

/// One product C[m, n] = A[m, k] * B[k, n] for each of `batch` triples of matrices; strides count elements and may be anything for A and B
/// (0 too).
///
/// Each element of C is one sum over k that starts from 0 (or from C) and runs in ascending k, whatever the number of threads. Two kinds of
/// paths sum
/// in another order, also the same for any thread count, and are chosen by shape, strides and CPU features only:
///  - at most 4 rows (or columns) against vectors that are contiguous along k: 64 virtual lanes (f64: 32), lane l sums k = l, l + 64, ...,
///    then a halving tree, then C is added;
///  - AMX, which sums bf16 products in pairs.
/// bf16 and f16 accumulate in f32 and round once, to nearest even; integers wrap. C must not overlap A or B, nor itself.
struct GemmArguments {
  DType dtype = DType::F32;  // of a, b and c: f32 f64 bf16 f16 i64 i32 u8
  i64 m = 0, n = 0, k = 0;
  const void* a = nullptr;
  i64 a_row_stride = 0, a_col_stride = 0;
  const void* b = nullptr;
  i64 b_row_stride = 0, b_col_stride = 0;
  void* c = nullptr;
  i64 c_row_stride = 0, c_col_stride = 0;
  i64 batch = 1;
  i64 a_batch_stride = 0, b_batch_stride = 0, c_batch_stride = 0;
  GemmUpdate update = GemmUpdate::Assign;
};

/// Runs the first candidate that accepts the arguments, in parallel when the work is worth a fork-join.
///
/// Errors   DtypeError for another dtype; ArgumentError for negative sizes
void gemm(const GemmArguments& arguments);

/// One way to make a product. Candidates may assume what gemm() has settled: batch, m, n, k >= 1; strides of axes of size 1 are 1; the
/// transposed problem
/// was taken where only that gives C contiguous rows.
struct GemmCandidate {
  const char* name;
  /// Why it cannot or should not run, or null. Depends on shape, strides, dtype, CPU features and instruction set only.
  const char* (*refuses)(const GemmArguments& arguments, const CpuFeatures& features, Isa isa);
  void (*run)(const GemmArguments& arguments);
};

/// All ways, in the order in which they are asked.
std::span<const GemmCandidate> gemm_candidates();

/// One line a candidate up to the one that runs: "<name>: <reason>" and at last "<name>: runs".
std::string explain_gemm(const GemmArguments& arguments);

}  // namespace resilin
