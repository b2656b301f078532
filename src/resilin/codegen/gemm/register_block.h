// src/resilin/codegen/gemm/register_block.h -- Internal: the register-blocked product as a template over a vector type.
// Included by kernel_<isa>.cpp only.
//
// Everything stands in an unnamed namespace on purpose: the same template is compiled for several instruction sets, and one merged copy of
// it would
// run AVX-512 code on a machine without it. For the same reason no function of the standard library is called here.
#pragma once

#include <utility>

#include <immintrin.h>

#include "resilin/codegen/gemm/block_kernel.h"

namespace resilin::gemm_kernels {
namespace {

/// One register block of C: where its operands start and how far apart they lie (elements).
template <class T>
struct TileCall {
  i64 k;
  const T* a;
  i64 a_row_stride, a_k_stride;
  const T* b;
  i64 b_k_stride;
  T* c;
  i64 ldc;
  i64 cols;
  bool accumulate;
};

template <int I>
struct Index {
  static constexpr int value = I;
};

template <class F, int... I>
[[gnu::always_inline]] inline void each(const F& f, std::integer_sequence<int, I...>) {
  (f(Index<I>{}), ...);
}

/// f(0) ... f(Count - 1) as straight code, so that arrays indexed by it live in registers.
template <int Count, class F>
[[gnu::always_inline]] inline void unrolled(const F& f) {
  each(f, std::make_integer_sequence<int, Count>{});
}

/// What one register block is made of: R rows, N vectors. Packed: A is [k][kRows] and B [k][kVectors * kLanes].
/// Masked: the last vector has only some columns, and neither B in place nor C is touched beyond them.
template <class VectorSet, int Rows, int Vectors, bool IsPacked, bool IsMasked>
struct Tile {
  using V = VectorSet;
  using T = typename V::Element;
  static constexpr int R = Rows;
  static constexpr int N = Vectors;

  template <int J>
  [[gnu::always_inline]] static inline typename V::Vector load(const T* at, typename V::Mask mask) {
    if constexpr (IsMasked && J == N - 1) return V::load_masked(at, mask);
    return V::load(at);
  }

  template <int J>
  [[gnu::always_inline]] static inline void store(T* at, typename V::Vector value, typename V::Mask mask) {
    if constexpr (IsMasked && J == N - 1) {
      V::store_masked(at, value, mask);
    } else {
      V::store(at, value);
    }
  }

  /// Every element is a chain of fused multiply-adds in ascending k.
  static void run(const TileCall<T>& t) {
    const i64 a_row = IsPacked ? 1 : t.a_row_stride;
    const i64 a_k = IsPacked ? V::kRows : t.a_k_stride;
    const i64 b_k = IsPacked ? V::kVectors * V::kLanes : t.b_k_stride;
    const typename V::Mask mask = V::mask(t.cols - (N - 1) * V::kLanes);
    typename V::Vector sum[R][N];
    unrolled<R>([&](auto i) __attribute__((always_inline)) {
      unrolled<N>([&](auto j) __attribute__((always_inline)) {
        const T* const at = t.c + i.value * t.ldc + j.value * V::kLanes;
        __builtin_prefetch(at, 1);
        sum[i.value][j.value] = V::zero();
      });
    });
    if (t.accumulate) {
      unrolled<R>([&](auto i) __attribute__((always_inline)) {
        unrolled<N>([&](auto j) __attribute__((always_inline)) {
          sum[i.value][j.value] = load<j.value>(t.c + i.value * t.ldc + j.value * V::kLanes, mask);
        });
      });
    }
    const T* a = t.a;
    const T* b = t.b;
    const auto step = [&]() __attribute__((always_inline)) {
      typename V::Vector row[N];
      unrolled<N>([&](auto j) __attribute__((always_inline)) {
        if constexpr (IsPacked) {
          row[j.value] = V::load(b + j.value * V::kLanes);
        } else {
          row[j.value] = load<j.value>(b + j.value * V::kLanes, mask);
        }
      });
      unrolled<R>([&](auto i) __attribute__((always_inline)) {
        const typename V::Vector x = V::broadcast(a + i.value * a_row);
        unrolled<N>([&](auto j) __attribute__((always_inline)) { sum[i.value][j.value] = V::fma(x, row[j.value], sum[i.value][j.value]); });
      });
      a += a_k;
      b += b_k;
    };
    i64 p = t.k;
    for (; p >= 4; p -= 4) {
      step();
      step();
      step();
      step();
    }
    for (; p > 0; --p) step();
    unrolled<R>([&](auto i) __attribute__((always_inline)) {
      unrolled<N>([&](auto j) __attribute__((always_inline)) {
        store<j.value>(t.c + i.value * t.ldc + j.value * V::kLanes, sum[i.value][j.value], mask);
      });
    });
  }
};

template <class V>
using TileFunction = void (*)(const TileCall<typename V::Element>&);

/// The register blocks of 1 .. kRows rows, for one choice of the rest.
template <class V>
struct TileTable {
  TileFunction<V> by_rows[V::kRows];
};

template <class V, int N, bool IsPacked, bool IsMasked, int... I>
constexpr TileTable<V> make_table(std::integer_sequence<int, I...>) {
  return {{&Tile<V, I + 1, N, IsPacked, IsMasked>::run...}};
}

template <class V, int N, bool IsPacked, bool IsMasked>
constexpr TileTable<V> kTable = make_table<V, N, IsPacked, IsMasked>(std::make_integer_sequence<int, V::kRows>{});

/// The table for a block `cols` columns wide.
template <class V, bool IsPacked>
const TileTable<V>& table_for(i64 cols) {
  static_assert(V::kVectors == 2);
  const bool masked = cols % V::kLanes != 0;
  if (cols > V::kLanes) return masked ? kTable<V, 2, IsPacked, true> : kTable<V, 2, IsPacked, false>;
  return masked ? kTable<V, 1, IsPacked, true> : kTable<V, 1, IsPacked, false>;
}

/// A cache block: all register blocks of packed A against each panel of packed B.
template <class V>
void multiply_block(const BlockCall& call) {
  using T = typename V::Element;
  constexpr i64 kCols = V::kVectors * V::kLanes;
  TileCall<T> tile{.k = call.k,
                   .a = nullptr,
                   .a_row_stride = 0,
                   .a_k_stride = 0,
                   .b = static_cast<const T*>(call.b),
                   .b_k_stride = 0,
                   .c = nullptr,
                   .ldc = call.ldc,
                   .cols = 0,
                   .accumulate = call.accumulate};
  for (i64 j = 0; j < call.n; j += kCols) {
    tile.cols = call.n - j < kCols ? call.n - j : kCols;
    const TileTable<V>& table = table_for<V, true>(tile.cols);
    tile.a = static_cast<const T*>(call.a);
    tile.c = static_cast<T*>(call.c) + j;
    for (i64 i = 0; i < call.m; i += V::kRows) {
      const i64 rows = call.m - i < V::kRows ? call.m - i : V::kRows;
      table.by_rows[rows - 1](tile);
      tile.a += V::kRows * call.k;
      tile.c += V::kRows * call.ldc;
    }
    tile.b += kCols * call.k;
  }
}

/// A whole small product without packing.
template <class V>
void multiply_in_place(const DirectCall& call) {
  using T = typename V::Element;
  constexpr i64 kCols = V::kVectors * V::kLanes;
  TileCall<T> tile{.k = call.k,
                   .a = nullptr,
                   .a_row_stride = call.a_row_stride,
                   .a_k_stride = call.a_k_stride,
                   .b = nullptr,
                   .b_k_stride = call.b_k_stride,
                   .c = nullptr,
                   .ldc = call.c_row_stride,
                   .cols = 0,
                   .accumulate = call.accumulate};
  for (i64 j = 0; j < call.n; j += kCols) {
    tile.cols = call.n - j < kCols ? call.n - j : kCols;
    tile.b = static_cast<const T*>(call.b) + j;
    const TileTable<V>& table = table_for<V, false>(tile.cols);
    for (i64 i = 0; i < call.m; i += V::kRows) {
      const i64 rows = call.m - i < V::kRows ? call.m - i : V::kRows;
      tile.a = static_cast<const T*>(call.a) + i * call.a_row_stride;
      tile.c = static_cast<T*>(call.c) + i * call.c_row_stride + j;
      table.by_rows[rows - 1](tile);
    }
  }
}

}  // namespace
}  // namespace resilin::gemm_kernels
