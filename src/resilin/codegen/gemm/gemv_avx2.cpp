// src/resilin/codegen/gemm/gemv_avx2.cpp -- products with few rows; AVX2 suffices on every machine, since memory is the limit.
#include "resilin/codegen/gemm/gemv.h"
#include "resilin/codegen/gemm/vector_avx2.h"

namespace resilin::gemm_kernels {
namespace {

constexpr i64 kLineSums = 4096;  // sums of all rows of a strip: 16 or 32 KB on the stack
constexpr int kDepth = 8;        // rows of w that are read side by side

template <class T>
class Stream {
 public:
  using W = Wide<T>;
  using Sum = typename W::Sum;

  explicit Stream(const FewRows& call) : g_(call) {}

  void run(i64 begin, i64 end) {
    const i64 strip = kLineSums / g_.rows / W::kLanes * W::kLanes;
    for (i64 col = begin; col < end; col += strip) run_strip(col, end - col < strip ? end - col : strip);
  }

 private:
  void run_strip(i64 col, i64 count) {
    const i64 line = (count + W::kLanes - 1) / W::kLanes * W::kLanes;
    for (i64 i = 0; i < g_.rows; ++i) {
      const T* const from = c_at(i, col);
      for (i64 j = 0; j < line; ++j) sums_[i * line + j] = g_.from_c && j < count ? W::one(from + j * g_.c_col_stride) : 0;
    }
    i64 k = 0;
    for (; k + kDepth <= g_.k; k += kDepth) add_rows<kDepth>(k, col, count, line);
    for (; k < g_.k; ++k) add_rows<1>(k, col, count, line);
    for (i64 i = 0; i < g_.rows; ++i) {
      T* const to = c_at(i, col);
      for (i64 j = 0; j < count; ++j) W::store_one(to + j * g_.c_col_stride, sums_[i * line + j]);
    }
  }

  template <int Depth>
  void add_rows(i64 k, i64 col, i64 count, i64 line) {
    const T* const w = static_cast<const T*>(g_.w) + k * g_.w_k_stride + col;
    const i64 stride = g_.w_k_stride;
    for (i64 i = 0; i < g_.rows; ++i) {
      typename W::Vector x[Depth];
#pragma GCC unroll 8
      for (int p = 0; p < Depth; ++p) {
        const Sum value = W::one(static_cast<const T*>(g_.x) + i * g_.x_row_stride + (k + p) * g_.x_k_stride);
        x[p] = W::set(g_.negate ? -value : value);
      }
      Sum* const sums = sums_ + i * line;
      i64 j = 0;
      for (; j + W::kLanes <= count; j += W::kLanes) {
        typename W::Vector sum = W::load_sum(sums + j);
#pragma GCC unroll 8
        for (int p = 0; p < Depth; ++p) sum = W::fma(x[p], W::load(w + p * stride + j), sum);
        W::store_sum(sums + j, sum);
      }
      if (j < count) {
        typename W::Vector sum = W::load_sum(sums + j);
#pragma GCC unroll 8
        for (int p = 0; p < Depth; ++p) sum = W::fma(x[p], W::load_first(w + p * stride + j, count - j), sum);
        W::store_sum(sums + j, sum);
      }
    }
  }

  T* c_at(i64 row, i64 col) const { return static_cast<T*>(g_.c) + row * g_.c_row_stride + col * g_.c_col_stride; }

  const FewRows& g_;
  alignas(64) Sum sums_[kLineSums + kFewRows * W::kLanes];
};

template <class T>
typename Wide<T>::Sum dot(const T* x, const T* y, i64 k) {
  using W = Wide<T>;
  constexpr int kVectors = 8;
  constexpr i64 kBlock = kVectors * W::kLanes;
  typename W::Vector sum[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) sum[v] = W::zero();
  i64 p = 0;
  for (; p + kBlock <= k; p += kBlock) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[v] = W::fma(W::load(x + p + v * W::kLanes), W::load(y + p + v * W::kLanes), sum[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    const i64 left = k - p - v * W::kLanes;
    if (left <= 0) break;
    const i64 lanes = left < W::kLanes ? left : W::kLanes;
    sum[v] = W::fma(W::load_first(x + p + v * W::kLanes, lanes), W::load_first(y + p + v * W::kLanes, lanes), sum[v]);
  }
#pragma GCC unroll 8
  for (int half = kVectors / 2; half > 0; half /= 2) {
    for (int v = 0; v < half; ++v) sum[v] = W::add(sum[v], sum[v + half]);
  }
  typename W::Sum lane[W::kLanes];
  W::store_sum(lane, sum[0]);
#pragma GCC unroll 8
  for (int half = W::kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  }
  return lane[0];
}

template <class T>
void dot_columns(const FewRows& g, i64 begin, i64 end) {
  using W = Wide<T>;
  for (i64 col = begin; col < end; ++col) {
    const T* const w = static_cast<const T*>(g.w) + col * g.w_col_stride;
    for (i64 i = 0; i < g.rows; ++i) {
      T* const c = static_cast<T*>(g.c) + i * g.c_row_stride + col * g.c_col_stride;
      const typename W::Sum product = dot<T>(static_cast<const T*>(g.x) + i * g.x_row_stride, w, g.k);
      const typename W::Sum signed_product = g.negate ? -product : product;
      W::store_one(c, g.from_c ? W::one(c) + signed_product : signed_product);
    }
  }
}

}  // namespace

void stream_rows(const FewRows& call, i64 col_begin, i64 col_end) {
  switch (call.dtype) {
    case DType::F32: return Stream<float>(call).run(col_begin, col_end);
    case DType::BF16: return Stream<BF16>(call).run(col_begin, col_end);
    case DType::F16: return Stream<F16>(call).run(col_begin, col_end);
    default: return Stream<double>(call).run(col_begin, col_end);
  }
}

void dot_rows(const FewRows& call, i64 col_begin, i64 col_end) {
  switch (call.dtype) {
    case DType::F32: return dot_columns<float>(call, col_begin, col_end);
    case DType::BF16: return dot_columns<BF16>(call, col_begin, col_end);
    case DType::F16: return dot_columns<F16>(call, col_begin, col_end);
    default: return dot_columns<double>(call, col_begin, col_end);
  }
}

}  // namespace resilin::gemm_kernels
