// src/resilin/codegen/gemm/kernel_avx512.cpp -- the AVX-512 register blocks: f32 14 x 32, f64 14 x 16.
#include <cstdint>

#include "resilin/codegen/gemm/register_block.h"

namespace resilin::gemm_kernels {
namespace {

struct Avx512F32 {
  using Element = float;
  using Vector = __m512;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  static constexpr int kRows = 14;
  static constexpr int kVectors = 2;
  static Mask mask(i64 lanes) { return static_cast<Mask>((1u << lanes) - 1u); }
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector load(const float* at) { return _mm512_loadu_ps(at); }
  static Vector load_masked(const float* at, Mask mask) { return _mm512_maskz_loadu_ps(mask, at); }
  static Vector broadcast(const float* at) { return _mm512_set1_ps(*at); }
  static Vector fma(Vector x, Vector y, Vector sum) { return _mm512_fmadd_ps(x, y, sum); }
  static void store(float* at, Vector value) { _mm512_storeu_ps(at, value); }
  static void store_masked(float* at, Vector value, Mask mask) { _mm512_mask_storeu_ps(at, mask, value); }
};

struct Avx512F64 {
  using Element = double;
  using Vector = __m512d;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 14;
  static constexpr int kVectors = 2;
  static Mask mask(i64 lanes) { return static_cast<Mask>((1u << lanes) - 1u); }
  static Vector zero() { return _mm512_setzero_pd(); }
  static Vector load(const double* at) { return _mm512_loadu_pd(at); }
  static Vector load_masked(const double* at, Mask mask) { return _mm512_maskz_loadu_pd(mask, at); }
  static Vector broadcast(const double* at) { return _mm512_set1_pd(*at); }
  static Vector fma(Vector x, Vector y, Vector sum) { return _mm512_fmadd_pd(x, y, sum); }
  static void store(double* at, Vector value) { _mm512_storeu_pd(at, value); }
  static void store_masked(double* at, Vector value, Mask mask) { _mm512_mask_storeu_pd(at, mask, value); }
};

void pack_rows_f32(const PackSource& source, void* panels) { pack_f32(source, Avx512F32::kRows, static_cast<float*>(panels)); }
void pack_cols_f32(const PackSource& source, void* panels) { pack_f32(source, 32, static_cast<float*>(panels)); }
void pack_rows_f64(const PackSource& source, void* panels) { pack_f64(source, Avx512F64::kRows, static_cast<double*>(panels)); }
void pack_cols_f64(const PackSource& source, void* panels) { pack_f64(source, 16, static_cast<double*>(panels)); }

}  // namespace

// As for AVX2, with a first level of 48 KB and a second of 1 to 2 MB: a panel of B takes 32 KB (f32) or 32 KB (f64), a block of A 336 KB.
const BlockKernel kAvx512F32 = {.name = "avx512 f32",
                                .mr = 14,
                                .nr = 32,
                                .k_step = 1,
                                .mc = 336,
                                .kc = 256,
                                .nc = 2048,
                                .packed_bytes = 4,
                                .sum_bytes = 4,
                                .pads_c = false,
                                .pack_a = pack_rows_f32,
                                .pack_b = pack_cols_f32,
                                .reads_in_place = nullptr,
                                .block = multiply_block<Avx512F32>,
                                .enter = nullptr,
                                .leave = nullptr};
const BlockKernel kAvx512F64 = {.name = "avx512 f64",
                                .mr = 14,
                                .nr = 16,
                                .k_step = 1,
                                .mc = 168,
                                .kc = 256,
                                .nc = 1024,
                                .packed_bytes = 8,
                                .sum_bytes = 8,
                                .pads_c = false,
                                .pack_a = pack_rows_f64,
                                .pack_b = pack_cols_f64,
                                .reads_in_place = nullptr,
                                .block = multiply_block<Avx512F64>,
                                .enter = nullptr,
                                .leave = nullptr};

void direct_avx512_f32(const DirectCall& call) { multiply_in_place<Avx512F32>(call); }
void direct_avx512_f64(const DirectCall& call) { multiply_in_place<Avx512F64>(call); }

}  // namespace resilin::gemm_kernels
