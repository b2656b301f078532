// src/resilin/codegen/gemm/parallel.h -- Internal: how a batch of products is shared among threads.
#pragma once

#include "resilin/base/function_ref.h"
#include "resilin/codegen/gemm/gemm.h"

namespace resilin::gemm_kernels {

/// Multiply-adds of one matrix, as flops; a double because sizes may multiply beyond 64 bits.
double flops(const GemmArguments& g);

/// Calls f(one product, parallel) for each matrix of the batch: whole matrices go to threads when there are many or each is small, else
/// `parallel` says
/// that f may split the one it is given. f sees batch = 1.
void for_each_matrix(const GemmArguments& g, FunctionRef<void(const GemmArguments&, bool parallel)> f);

/// Calls f(begin, end) on parts of [0, count), on several threads when `parallel`; parts have at least `grain` items.
void for_range(bool parallel, i64 count, i64 grain, FunctionRef<void(i64 begin, i64 end)> f);

inline i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
inline i64 round_up(i64 a, i64 b) { return ceil_div(a, b) * b; }

}  // namespace resilin::gemm_kernels
