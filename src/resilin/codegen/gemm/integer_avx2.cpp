// src/resilin/codegen/gemm/integer_avx2.cpp -- products of integers in strips that the compiler vectorises.
#include <cstdint>

#include "resilin/codegen/gemm/integer.h"

namespace resilin::gemm_kernels {
namespace {

constexpr i64 kStrip = 64;  // columns of C
constexpr i64 kDepth = 64;  // of k; a packed block of B takes 4 to 32 KB

/// A block of B, zero beyond its edges. U is unsigned, so that sums wrap.
template <class U>
struct Block {
  alignas(64) U item[kDepth][kStrip];
};

template <class U>
void pack(const GemmArguments& g, i64 k, i64 col, Block<U>& block) {
  const U* const b = static_cast<const U*>(g.b) + k * g.b_row_stride + col * g.b_col_stride;
  for (i64 p = 0; p < kDepth; ++p) {
    for (i64 j = 0; j < kStrip; ++j) {
      block.item[p][j] = k + p < g.k && col + j < g.n ? b[p * g.b_row_stride + j * g.b_col_stride] : U{0};
    }
  }
}

template <class U>
void add_products(const U (&a)[4], const U (*b)[kStrip], U* sums) {
  for (i64 j = 0; j < kStrip; ++j) {
    sums[j] = static_cast<U>(sums[j] + a[0] * b[0][j] + a[1] * b[1][j] + a[2] * b[2][j] + a[3] * b[3][j]);
  }
}

/// One row of a strip of C. Four k at once; a is zero beyond k, as the block is.
template <class U>
void multiply_row(const GemmArguments& g, i64 row, i64 k, i64 col, const Block<U>& block) {
  const i64 cols = g.n - col < kStrip ? g.n - col : kStrip;
  const i64 depth = g.k - k < kDepth ? g.k - k : kDepth;
  U* const c = static_cast<U*>(g.c) + row * g.c_row_stride + col * g.c_col_stride;
  const U* const a = static_cast<const U*>(g.a) + row * g.a_row_stride + k * g.a_col_stride;
  const U sign = g.update == GemmUpdate::Subtract ? static_cast<U>(-1) : U{1};
  alignas(64) U sums[kStrip] = {};
  if (k > 0 || g.update != GemmUpdate::Assign) {
    for (i64 j = 0; j < cols; ++j) sums[j] = c[j * g.c_col_stride];
  }
  for (i64 p = 0; p < depth; p += 4) {
    U x[4] = {};
    for (i64 q = 0; q < 4 && p + q < depth; ++q) x[q] = static_cast<U>(sign * a[(p + q) * g.a_col_stride]);
    add_products<U>(x, block.item + p, sums);
  }
  for (i64 j = 0; j < cols; ++j) c[j * g.c_col_stride] = sums[j];
}

template <class U>
void multiply(const GemmArguments& g, i64 row_begin, i64 row_end) {
  Block<U> block;
  for (i64 col = 0; col < g.n; col += kStrip) {
    for (i64 k = 0; k < g.k; k += kDepth) {
      pack<U>(g, k, col, block);
      for (i64 row = row_begin; row < row_end; ++row) multiply_row<U>(g, row, k, col, block);
    }
  }
}

}  // namespace

void multiply_integers(const GemmArguments& g, i64 row_begin, i64 row_end) {
  if (g.dtype == DType::I64) return multiply<std::uint64_t>(g, row_begin, row_end);
  if (g.dtype == DType::I32) return multiply<std::uint32_t>(g, row_begin, row_end);
  multiply<std::uint8_t>(g, row_begin, row_end);
}

}  // namespace resilin::gemm_kernels
