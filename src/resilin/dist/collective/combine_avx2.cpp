// src/resilin/dist/collective/combine_avx2.cpp -- the arithmetic of reductions in AVX2 vectors.
#include <immintrin.h>

#include "resilin/dist/collective/combine_lanes.h"

namespace resilin::dist {
namespace {

struct F16 : Widened<32> {
  static constexpr int kBytes = 2;
  [[gnu::always_inline]] static Vector load(const std::byte* at) { return _mm256_cvtph_ps(load_vector<__m128i>(at)); }
  [[gnu::always_inline]] static void store(std::byte* at, Vector x) { store_vector(at, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)); }
};

}  // namespace

CombineKernel find_combine_avx2(ReduceOp op, DType dtype) { return find_kernel<32, F16>(op, dtype); }

}  // namespace resilin::dist
