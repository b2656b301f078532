// src/resilin/codegen/gemm/parallel.cpp -- splits batches and ranges when the work is worth a fork-join.
#include "resilin/codegen/gemm/parallel.h"

#include <algorithm>

#include "resilin/base/thread_pool.h"

namespace resilin::gemm_kernels {
namespace {

// A fork-join costs about 0.4 us, in which one core makes 50 thousand flops; each part should take a few times as long.
constexpr double kPartFlops = 1e5;

GemmArguments matrix(const GemmArguments& g, i64 index) {
  GemmArguments one = g;
  const i64 size = size_bytes(g.dtype);
  one.batch = 1;
  one.a = static_cast<const char*>(g.a) + index * g.a_batch_stride * size;
  one.b = static_cast<const char*>(g.b) + index * g.b_batch_stride * size;
  one.c = static_cast<char*>(g.c) + index * g.c_batch_stride * size;
  return one;
}

}  // namespace

double flops(const GemmArguments& g) { return 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k); }

void for_each_matrix(const GemmArguments& g, FunctionRef<void(const GemmArguments&, bool parallel)> f) {
  const double each = flops(g);
  const bool worth_it = each * static_cast<double>(g.batch) >= 2 * kPartFlops;
  if (g.batch == 1) return f(g, worth_it);
  if (worth_it && (each < 2 * kPartFlops || g.batch >= 4 * thread_count())) {
    const i64 grain = std::max<i64>(1, static_cast<i64>(kPartFlops / each));
    for_range(true, g.batch, grain, [&](i64 begin, i64 end) {
      for (i64 i = begin; i < end; ++i) f(matrix(g, i), false);
    });
    return;
  }
  for (i64 i = 0; i < g.batch; ++i) f(matrix(g, i), worth_it);
}

void for_range(bool parallel, i64 count, i64 grain, FunctionRef<void(i64 begin, i64 end)> f) {
  if (!parallel || count <= grain) return f(0, count);
  parallel_for(0, count, grain, [&](i64 begin, i64 end, int) { f(begin, end); });
}

}  // namespace resilin::gemm_kernels
