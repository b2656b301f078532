// src/resilin/dist/collective/combine_avx512.cpp -- the arithmetic of reductions in AVX-512 vectors.
#include <immintrin.h>

#include "resilin/dist/collective/combine_lanes.h"

namespace resilin::dist {
namespace {

struct F16 : Widened<64> {
  static constexpr int kBytes = 2;
  static constexpr __mmask16 kAll = 0xffff;  // gcc 12 warns of the forms without a mask
  [[gnu::always_inline]] static Vector load(const std::byte* at) { return _mm512_maskz_cvtph_ps(kAll, load_vector<__m256i>(at)); }
  [[gnu::always_inline]] static void store(std::byte* at, Vector x) {
    store_vector(at, _mm512_maskz_cvtps_ph(kAll, x, _MM_FROUND_TO_NEAREST_INT));
  }
};

}  // namespace

CombineKernel find_combine_avx512(ReduceOp op, DType dtype) { return find_kernel<64, F16>(op, dtype); }

}  // namespace resilin::dist
