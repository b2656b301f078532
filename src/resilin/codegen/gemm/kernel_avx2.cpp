// src/resilin/codegen/gemm/kernel_avx2.cpp -- the AVX2 register blocks: f32 6 x 16, f64 6 x 8.
#include <cstdint>

#include "resilin/codegen/gemm/register_block.h"

namespace resilin::gemm_kernels {
namespace {

// Reading 8 words from word 8 - n on gives a mask of n lanes.
alignas(64) constexpr std::int32_t kMask32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
alignas(64) constexpr std::int64_t kMask64[8] = {-1, -1, -1, -1, 0, 0, 0, 0};

struct Avx2F32 {
  using Element = float;
  using Vector = __m256;
  using Mask = __m256i;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 6;
  static constexpr int kVectors = 2;
  static Mask mask(i64 lanes) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask32 + 8 - lanes)); }
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector load(const float* at) { return _mm256_loadu_ps(at); }
  static Vector load_masked(const float* at, Mask mask) { return _mm256_maskload_ps(at, mask); }
  static Vector broadcast(const float* at) { return _mm256_broadcast_ss(at); }
  static Vector fma(Vector x, Vector y, Vector sum) { return _mm256_fmadd_ps(x, y, sum); }
  static void store(float* at, Vector value) { _mm256_storeu_ps(at, value); }
  static void store_masked(float* at, Vector value, Mask mask) { _mm256_maskstore_ps(at, mask, value); }
};

struct Avx2F64 {
  using Element = double;
  using Vector = __m256d;
  using Mask = __m256i;
  static constexpr int kLanes = 4;
  static constexpr int kRows = 6;
  static constexpr int kVectors = 2;
  static Mask mask(i64 lanes) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask64 + 4 - lanes)); }
  static Vector zero() { return _mm256_setzero_pd(); }
  static Vector load(const double* at) { return _mm256_loadu_pd(at); }
  static Vector load_masked(const double* at, Mask mask) { return _mm256_maskload_pd(at, mask); }
  static Vector broadcast(const double* at) { return _mm256_broadcast_sd(at); }
  static Vector fma(Vector x, Vector y, Vector sum) { return _mm256_fmadd_pd(x, y, sum); }
  static void store(double* at, Vector value) { _mm256_storeu_pd(at, value); }
  static void store_masked(double* at, Vector value, Mask mask) { _mm256_maskstore_pd(at, mask, value); }
};

void pack_rows_f32(const PackSource& source, void* panels) { pack_f32(source, Avx2F32::kRows, static_cast<float*>(panels)); }
void pack_cols_f32(const PackSource& source, void* panels) { pack_f32(source, 16, static_cast<float*>(panels)); }
void pack_rows_f64(const PackSource& source, void* panels) { pack_f64(source, Avx2F64::kRows, static_cast<double*>(panels)); }
void pack_cols_f64(const PackSource& source, void* panels) { pack_f64(source, 8, static_cast<double*>(panels)); }

}  // namespace

// One panel of B (kc x nr) stays in the first-level cache (16 KB of 32), one block of A (mc x kc) in the second (216 KB of 512).
const BlockKernel kAvx2F32 = {.name = "avx2 f32",
                              .mr = 6,
                              .nr = 16,
                              .k_step = 1,
                              .mc = 216,
                              .kc = 256,
                              .nc = 2048,
                              .packed_bytes = 4,
                              .sum_bytes = 4,
                              .pads_c = false,
                              .pack_a = pack_rows_f32,
                              .pack_b = pack_cols_f32,
                              .reads_in_place = nullptr,
                              .block = multiply_block<Avx2F32>,
                              .enter = nullptr,
                              .leave = nullptr};
const BlockKernel kAvx2F64 = {.name = "avx2 f64",
                              .mr = 6,
                              .nr = 8,
                              .k_step = 1,
                              .mc = 108,
                              .kc = 256,
                              .nc = 1024,
                              .packed_bytes = 8,
                              .sum_bytes = 8,
                              .pads_c = false,
                              .pack_a = pack_rows_f64,
                              .pack_b = pack_cols_f64,
                              .reads_in_place = nullptr,
                              .block = multiply_block<Avx2F64>,
                              .enter = nullptr,
                              .leave = nullptr};

void direct_avx2_f32(const DirectCall& call) { multiply_in_place<Avx2F32>(call); }
void direct_avx2_f64(const DirectCall& call) { multiply_in_place<Avx2F64>(call); }

}  // namespace resilin::gemm_kernels
