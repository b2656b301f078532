// src/resilin/codegen/gemm/vector_avx2.h -- Internal: loading, rounding and transposing vectors of any float type.
// Included by *_avx2.cpp only.
//
// In an unnamed namespace, so that no copy compiled with other flags can replace these.
#pragma once

#include <cstdint>
#include <cstring>

#include <immintrin.h>

#include "resilin/tensor/dtype.h"

namespace resilin::gemm_kernels {
namespace {

/// Vectors of the accumulator's type, loaded from and rounded to elements of type T.
template <class T>
struct Wide;

alignas(64) constexpr std::int32_t kFirstLanes32[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

/// What the types that are summed in f32 share.
struct WideF32 {
  using Sum = float;
  using Vector = __m256;
  static constexpr int kLanes = 8;
  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector set(float value) { return _mm256_set1_ps(value); }
  static Vector fma(Vector x, Vector y, Vector sum) { return _mm256_fmadd_ps(x, y, sum); }
  static Vector add(Vector x, Vector y) { return _mm256_add_ps(x, y); }
  static Vector negate(Vector x) { return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f)); }
  static Vector load_sum(const float* at) { return _mm256_loadu_ps(at); }
  static void store_sum(float* at, Vector x) { _mm256_storeu_ps(at, x); }
};

template <>
struct Wide<float> : WideF32 {
  static Vector load(const float* at) { return _mm256_loadu_ps(at); }
  static Vector load_first(const float* at, i64 lanes) {
    return _mm256_maskload_ps(at, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kFirstLanes32 + 8 - lanes)));
  }
  static void store(float* at, Vector x) { _mm256_storeu_ps(at, x); }
  static float one(const float* at) { return *at; }
  static void store_one(float* at, float x) { *at = x; }
};

template <>
struct Wide<BF16> : WideF32 {
  static Vector widen(__m128i bits) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)); }
  static Vector load(const BF16* at) { return widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))); }
  static Vector load_first(const BF16* at, i64 lanes) {
    alignas(16) std::uint16_t part[8] = {};
    std::memcpy(part, at, static_cast<std::size_t>(lanes) * 2);
    return widen(_mm_load_si128(reinterpret_cast<const __m128i*>(part)));
  }
  static void store(BF16* at, Vector x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x8000));
    const __m256i quiet = _mm256_or_si256(sign, _mm256_set1_epi32(0x7fc0));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    const __m256i words = _mm256_blendv_epi8(rounded, quiet, is_nan);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0x8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm256_castsi256_si128(packed));
  }
  static float one(const BF16* at) {
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(static_cast<int>(static_cast<unsigned>(at->bits) << 16))));
  }
  static void store_one(BF16* at, float x) {
    alignas(16) std::uint16_t part[8];
    store(reinterpret_cast<BF16*>(part), _mm256_set1_ps(x));
    at->bits = part[0];
  }
};

template <>
struct Wide<F16> : WideF32 {
  static Vector load(const F16* at) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))); }
  static Vector load_first(const F16* at, i64 lanes) {
    alignas(16) std::uint16_t part[8] = {};
    std::memcpy(part, at, static_cast<std::size_t>(lanes) * 2);
    return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(part)));
  }
  static void store(F16* at, Vector x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static float one(const F16* at) { return _cvtsh_ss(at->bits); }
  static void store_one(F16* at, float x) {
    const __m128i half = _mm256_cvtps_ph(_mm256_set1_ps(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    at->bits = static_cast<std::uint16_t>(_mm_extract_epi16(half, 0));
  }
};

template <>
struct Wide<double> {
  using Sum = double;
  using Vector = __m256d;
  static constexpr int kLanes = 4;
  static Vector zero() { return _mm256_setzero_pd(); }
  static Vector set(double value) { return _mm256_set1_pd(value); }
  static Vector fma(Vector x, Vector y, Vector sum) { return _mm256_fmadd_pd(x, y, sum); }
  static Vector add(Vector x, Vector y) { return _mm256_add_pd(x, y); }
  static Vector negate(Vector x) { return _mm256_xor_pd(x, _mm256_set1_pd(-0.0)); }
  static Vector load_sum(const double* at) { return _mm256_loadu_pd(at); }
  static void store_sum(double* at, Vector x) { _mm256_storeu_pd(at, x); }
  static Vector load(const double* at) { return _mm256_loadu_pd(at); }
  static Vector load_first(const double* at, i64 lanes) {
    double part[4] = {};
    std::memcpy(part, at, static_cast<std::size_t>(lanes) * 8);
    return _mm256_loadu_pd(part);
  }
  static void store(double* at, Vector x) { _mm256_storeu_pd(at, x); }
  static double one(const double* at) { return *at; }
  static void store_one(double* at, double x) { *at = x; }
};

/// rows[i][j] <-> rows[j][i] of an 8 x 8 block of floats.
inline void transpose(__m256 (&r)[8]) {
  __m256 t[8];
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  }
  __m256 u[8];
#pragma GCC unroll 8
  for (int i = 0; i < 2; ++i) {
    u[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    u[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    u[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    u[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
  }
}

/// The same for a 4 x 4 block of doubles.
inline void transpose(__m256d (&r)[4]) {
  const __m256d low01 = _mm256_unpacklo_pd(r[0], r[1]);
  const __m256d high01 = _mm256_unpackhi_pd(r[0], r[1]);
  const __m256d low23 = _mm256_unpacklo_pd(r[2], r[3]);
  const __m256d high23 = _mm256_unpackhi_pd(r[2], r[3]);
  r[0] = _mm256_permute2f128_pd(low01, low23, 0x20);
  r[1] = _mm256_permute2f128_pd(high01, high23, 0x20);
  r[2] = _mm256_permute2f128_pd(low01, low23, 0x31);
  r[3] = _mm256_permute2f128_pd(high01, high23, 0x31);
}

}  // namespace
}  // namespace resilin::gemm_kernels
