// src/resilin/codegen/gemm/gemm.cpp -- brings a product into canonical form and runs the first candidate that accepts it.
#include "resilin/codegen/gemm/gemm.h"

#include <algorithm>
#include <utility>

#include "resilin/codegen/gemm/block_kernel.h"
#include "resilin/codegen/gemm/blocked.h"
#include "resilin/codegen/gemm/gemv.h"
#include "resilin/codegen/gemm/integer.h"
#include "resilin/codegen/gemm/parallel.h"

namespace resilin {
namespace {

using namespace gemm_kernels;

bool is_small_float(DType dtype) { return dtype == DType::BF16 || dtype == DType::F16; }
bool is_float(DType dtype) { return dtype == DType::F32 || dtype == DType::F64 || is_small_float(dtype); }
bool is_integer(DType dtype) { return dtype == DType::I64 || dtype == DType::I32 || dtype == DType::U8; }

/// The same product seen as C^T = B^T * A^T.
GemmArguments transposed(const GemmArguments& g) {
  GemmArguments t = g;
  std::swap(t.m, t.n);
  t.a = g.b;
  t.a_row_stride = g.b_col_stride;
  t.a_col_stride = g.b_row_stride;
  t.b = g.a;
  t.b_row_stride = g.a_col_stride;
  t.b_col_stride = g.a_row_stride;
  std::swap(t.c_row_stride, t.c_col_stride);
  std::swap(t.a_batch_stride, t.b_batch_stride);
  return t;
}

/// Strides of axes of size 1 say nothing; as 1 they fit every candidate.
void set_idle_strides(GemmArguments& g) {
  if (g.m == 1) g.a_row_stride = g.c_row_stride = 1;
  if (g.n == 1) g.b_col_stride = g.c_col_stride = 1;
  if (g.k == 1) g.a_col_stride = g.b_row_stride = 1;
}

/// A batch against one B whose rows follow one another in A and C is one taller product.
void fold_batch(GemmArguments& g) {
  if (g.batch == 1 || g.b_batch_stride != 0) return;
  if (g.m == 1) {
    g.a_row_stride = g.a_batch_stride;
    g.c_row_stride = g.c_batch_stride;
  }
  if (g.a_batch_stride != g.m * g.a_row_stride || g.c_batch_stride != g.m * g.c_row_stride) return;
  g.m *= g.batch;
  g.batch = 1;
}

GemmArguments canonical(const GemmArguments& arguments) {
  GemmArguments g = arguments;
  fold_batch(g);
  set_idle_strides(g);
  return g.c_col_stride != 1 && g.c_row_stride == 1 ? transposed(g) : g;
}

FewRows few_rows(const GemmArguments& g) {
  return {g.dtype,
          g.m,
          g.n,
          g.k,
          g.a,
          g.a_row_stride,
          g.a_col_stride,
          g.b,
          g.b_row_stride,
          g.b_col_stride,
          g.c,
          g.c_row_stride,
          g.c_col_stride,
          g.update != GemmUpdate::Assign,
          g.update == GemmUpdate::Subtract};
}

using RowsFunction = void (*)(const FewRows& call, i64 col_begin, i64 col_end);

/// The few rows are those of A if they can be, else the columns of B.
void run_few_rows(const GemmArguments& g, bool as_it_stands, RowsFunction function) {
  for_each_matrix(as_it_stands ? g : transposed(g), [&](const GemmArguments& one, bool parallel) {
    const FewRows call = few_rows(one);
    constexpr i64 kGrain = 64;
    for_range(parallel, ceil_div(one.n, kGrain), 1,
              [&](i64 begin, i64 end) { function(call, begin * kGrain, std::min(one.n, end * kGrain)); });
  });
}

bool streams(const GemmArguments& g) { return g.m <= kFewRows && g.b_col_stride == 1; }
bool streams_transposed(const GemmArguments& g) { return g.n <= kFewRows && g.a_row_stride == 1; }

const char* refuses_dot(const GemmArguments& g, const CpuFeatures&, Isa) {
  if (!is_float(g.dtype)) return "needs a float dtype";
  if (g.m > kFewRows && g.n > kFewRows) return "needs at most 4 rows or columns";
  if (g.a_col_stride != 1 || g.b_row_stride != 1) return "needs A and B contiguous along k";
  if (g.k < 16) return "needs k of at least 16";
  return nullptr;
}
void run_dot(const GemmArguments& g) { run_few_rows(g, g.m <= g.n, dot_rows); }

const char* refuses_stream(const GemmArguments& g, const CpuFeatures&, Isa) {
  if (!is_float(g.dtype)) return "needs a float dtype";
  if (!streams(g) && !streams_transposed(g)) return "needs at most 4 rows (columns), and contiguous rows of B (columns of A)";
  if (std::max(g.m, g.n) < 16) return "needs at least 16 columns (rows)";
  return nullptr;
}
void run_stream(const GemmArguments& g) { run_few_rows(g, streams(g), stream_rows); }

const char* refuses_amx(const GemmArguments& g, const CpuFeatures& features, Isa isa) {
  if (g.dtype != DType::BF16) return "needs bf16";
  if (!features.amx_tile || !features.amx_bf16) return "needs amx_tile and amx_bf16";
  if (isa != Isa::Avx512) return "needs a target of avx512";
  if (flops(g) < 2 * 4096) return "too small for tiles";
  if (!amx_permitted()) return "the operating system refuses tile registers";
  return nullptr;
}
void run_amx(const GemmArguments& g) { multiply_blocked(kAmxBf16, g); }

constexpr i64 kDirectB = 8192;                           // elements of B that stay in the first cache, unpacked
constexpr double kDirectFlops = 2 * 96.0 * 96.0 * 96.0;  // up to which packing costs more than it saves

const char* refuses_direct(const GemmArguments& g) {
  if (g.dtype != DType::F32 && g.dtype != DType::F64) return "needs f32 or f64";
  if (g.b_col_stride != 1 || g.c_col_stride != 1) return "needs contiguous rows of B and C";
  if (g.update == GemmUpdate::Subtract) return "cannot subtract";
  if (g.k * g.n > kDirectB && flops(g) > kDirectFlops) return "too large to go without packing";
  return nullptr;
}
const char* refuses_direct_avx512(const GemmArguments& g, const CpuFeatures&, Isa isa) {
  return isa != Isa::Avx512 ? "needs avx512f, bw, dq and vl and a target of avx512" : refuses_direct(g);
}
const char* refuses_direct_avx2(const GemmArguments& g, const CpuFeatures&, Isa) { return refuses_direct(g); }

/// Rows are shared in multiples of `block`, the rows of a register block.
void run_direct(const GemmArguments& g, DirectProduct product, i64 block) {
  const i64 size = size_bytes(g.dtype);
  for_each_matrix(g, [&](const GemmArguments& one, bool parallel) {
    for_range(parallel, ceil_div(one.m, block), 8, [&](i64 begin, i64 end) {
      const i64 row = begin * block;
      product({std::min(one.m, end * block) - row, one.n, one.k, static_cast<const char*>(one.a) + row * one.a_row_stride * size,
               one.a_row_stride, one.a_col_stride, one.b, one.b_row_stride, static_cast<char*>(one.c) + row * one.c_row_stride * size,
               one.c_row_stride, one.update == GemmUpdate::Add});
    });
  });
}
void run_direct_avx512(const GemmArguments& g) {
  run_direct(g, g.dtype == DType::F32 ? direct_avx512_f32 : direct_avx512_f64, kAvx512F32.mr);
}
void run_direct_avx2(const GemmArguments& g) { run_direct(g, g.dtype == DType::F32 ? direct_avx2_f32 : direct_avx2_f64, kAvx2F32.mr); }

const char* refuses_blocked_avx512(const GemmArguments& g, const CpuFeatures&, Isa isa) {
  if (isa != Isa::Avx512) return "needs avx512f, bw, dq and vl and a target of avx512";
  return is_float(g.dtype) ? nullptr : "needs a float dtype";
}
void run_blocked_avx512(const GemmArguments& g) { multiply_blocked(g.dtype == DType::F64 ? kAvx512F64 : kAvx512F32, g); }

const char* refuses_blocked_avx2(const GemmArguments& g, const CpuFeatures&, Isa) {
  return is_float(g.dtype) ? nullptr : "needs a float dtype";
}
void run_blocked_avx2(const GemmArguments& g) { multiply_blocked(g.dtype == DType::F64 ? kAvx2F64 : kAvx2F32, g); }

const char* refuses_integer(const GemmArguments& g, const CpuFeatures&, Isa) {
  return is_integer(g.dtype) ? nullptr : "needs i64, i32 or u8";
}
void run_integer(const GemmArguments& g) {
  for_each_matrix(g, [](const GemmArguments& one, bool parallel) {
    for_range(parallel, one.m, 16, [&](i64 begin, i64 end) { multiply_integers(one, begin, end); });
  });
}

constexpr GemmCandidate kCandidates[] = {
    {"dot", refuses_dot, run_dot},
    {"stream", refuses_stream, run_stream},
    {"amx bf16", refuses_amx, run_amx},
    {"direct avx512", refuses_direct_avx512, run_direct_avx512},
    {"direct avx2", refuses_direct_avx2, run_direct_avx2},
    {"blocked avx512", refuses_blocked_avx512, run_blocked_avx512},
    {"blocked avx2", refuses_blocked_avx2, run_blocked_avx2},
    {"integer", refuses_integer, run_integer},
};

void check(const GemmArguments& g) {
  if (!is_float(g.dtype) && !is_integer(g.dtype)) {
    throw DtypeError(cat("gemm: no product for this dtype: ", g.dtype, "; it must be f32, f64, bf16, f16, i64, i32 or u8"));
  }
  if (g.m < 0 || g.n < 0 || g.k < 0 || g.batch < 0) {
    throw ArgumentError(
        cat("gemm: negative size: m, n, k, batch are ", g.m, ", ", g.n, ", ", g.k, ", ", g.batch, "; all must be at least 0"));
  }
}

/// An empty sum is zero, whose bits are zero in every dtype here.
void clear(const GemmArguments& g) {
  const i64 size = size_bytes(g.dtype);
  for (i64 b = 0; b < g.batch; ++b) {
    for (i64 i = 0; i < g.m; ++i) {
      for (i64 j = 0; j < g.n; ++j) {
        char* const item = static_cast<char*>(g.c) + (b * g.c_batch_stride + i * g.c_row_stride + j * g.c_col_stride) * size;
        std::fill(item, item + size, char{0});
      }
    }
  }
}

}  // namespace

std::span<const GemmCandidate> gemm_candidates() { return kCandidates; }

void gemm(const GemmArguments& arguments) {
  check(arguments);
  if (arguments.m == 0 || arguments.n == 0 || arguments.batch == 0) return;
  if (arguments.k == 0) {
    if (arguments.update == GemmUpdate::Assign) clear(arguments);
    return;
  }
  const GemmArguments g = canonical(arguments);
  const Isa isa = target_isa();
  for (const GemmCandidate& candidate : kCandidates) {
    if (candidate.refuses(g, cpu_features(), isa) == nullptr) return candidate.run(g);
  }
  RESILIN_ASSERT(false, cat("gemm: no candidate accepts ", g.dtype, " ", g.m, " x ", g.n, " x ", g.k));
}

std::string explain_gemm(const GemmArguments& arguments) {
  check(arguments);
  if (arguments.m == 0 || arguments.n == 0 || arguments.batch == 0 || arguments.k == 0) return "nothing to multiply\n";
  const GemmArguments g = canonical(arguments);
  std::string out;
  for (const GemmCandidate& candidate : kCandidates) {
    const char* const reason = candidate.refuses(g, cpu_features(), target_isa());
    out += cat(candidate.name, ": ", reason == nullptr ? "runs" : reason, "\n");
    if (reason == nullptr) break;
  }
  return out;
}

}  // namespace resilin
