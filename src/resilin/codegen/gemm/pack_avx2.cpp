// src/resilin/codegen/gemm/pack_avx2.cpp -- copies strided matrices of any float type into panels, and sums back into strided matrices.
#include "resilin/codegen/gemm/block_kernel.h"
#include "resilin/codegen/gemm/vector_avx2.h"

namespace resilin::gemm_kernels {
namespace {

/// One panel [k][width] of `lanes` <= width vectors that start at `data`.
template <class T>
struct Panel {
  using W = Wide<T>;
  using Sum = typename W::Sum;
  const T* data;
  i64 lane_stride, k_stride;
  i64 lanes, width, k;
  bool negate;
  Sum* out;

  typename W::Vector sign(typename W::Vector x) const { return negate ? W::negate(x) : x; }

  void one(i64 lane, i64 p) const {
    const Sum value = W::one(data + lane * lane_stride + p * k_stride);
    out[p * width + lane] = negate ? -value : value;
  }

  void clear_missing_lanes() const {
    for (i64 p = 0; p < k; ++p) {
      for (i64 lane = lanes; lane < width; ++lane) out[p * width + lane] = 0;
    }
  }

  // Stores below are whole vectors: in a width that is no multiple of them they run over into the next k, which is written afterwards. So k
  // goes up,
  // the lanes of a block of k go down, and the last k, behind which nothing is ours, goes one by one.

  /// Lanes lie side by side: each k is a short copy.
  void copy() const {
    for (i64 p = 0; p + 1 < k; ++p) {
      const T* const from = data + p * k_stride;
      Sum* const to = out + p * width;
      i64 lane = 0;
      for (; lane + W::kLanes <= lanes; lane += W::kLanes) W::store_sum(to + lane, sign(W::load(from + lane)));
      if (lane < lanes) W::store_sum(to + lane, sign(W::load_first(from + lane, lanes - lane)));
    }
    for (i64 lane = 0; lane < lanes; ++lane) one(lane, k - 1);
  }

  /// Each lane is contiguous along k: square blocks are transposed in registers.
  void transpose_blocks() const {
    constexpr int kLanes = W::kLanes;
    i64 p = 0;
    for (; p + kLanes < k; p += kLanes) {
      for (i64 lane = (lanes - 1) / kLanes * kLanes; lane >= 0; lane -= kLanes) {
        typename W::Vector block[kLanes];
        const i64 count = lanes - lane < kLanes ? lanes - lane : kLanes;
#pragma GCC unroll 8
        for (int i = 0; i < kLanes; ++i) block[i] = i < count ? sign(W::load(data + (lane + i) * lane_stride + p)) : W::zero();
        transpose(block);
#pragma GCC unroll 8
        for (int i = 0; i < kLanes; ++i) W::store_sum(out + (p + i) * width + lane, block[i]);
      }
    }
    for (; p < k; ++p) {
      for (i64 lane = 0; lane < lanes; ++lane) one(lane, p);
    }
  }

  void fill() const {
    if (lane_stride == 1 && lanes > 1) {
      copy();
    } else if (k_stride == 1) {
      transpose_blocks();
    } else {
      for (i64 p = 0; p < k; ++p) {
        for (i64 lane = 0; lane < lanes; ++lane) one(lane, p);
      }
    }
    if (lanes < width) clear_missing_lanes();
  }
};

template <class T>
void pack(const PackSource& source, i64 width, typename Wide<T>::Sum* panels) {
  for (i64 lane = 0; lane < source.lanes; lane += width) {
    const i64 lanes = source.lanes - lane < width ? source.lanes - lane : width;
    const Panel<T> panel{static_cast<const T*>(source.data) + lane * source.lane_stride,
                         source.lane_stride,
                         source.k_stride,
                         lanes,
                         width,
                         source.k,
                         source.negate,
                         panels + lane * source.k};
    panel.fill();
  }
}

std::uint16_t pick(const PackSource& source, i64 lane, i64 p) {
  if (lane >= source.lanes || p >= source.k) return 0;
  std::uint16_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(source.data) + (lane * source.lane_stride + p * source.k_stride) * 2, 2);
  return source.negate ? static_cast<std::uint16_t>(bits ^ 0x8000u) : bits;
}

/// 8 columns of two neighbouring k, interleaved.
void interleave(const std::uint16_t* first, const std::uint16_t* second, __m128i flip, std::uint16_t* out) {
  const __m128i x = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(first)), flip);
  const __m128i y = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(second)), flip);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_unpacklo_epi16(x, y));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 8), _mm_unpackhi_epi16(x, y));
}

template <class T>
void load_block(const SumBlock& block) {
  using W = Wide<T>;
  for (i64 i = 0; i < block.rows; ++i) {
    const T* const from = static_cast<const T*>(block.c) + i * block.c_row_stride;
    typename W::Sum* const to = static_cast<typename W::Sum*>(block.sums) + i * block.ldc;
    i64 j = 0;
    if (block.c_col_stride == 1) {
      for (; j + W::kLanes <= block.cols; j += W::kLanes) W::store_sum(to + j, W::load(from + j));
    }
    for (; j < block.cols; ++j) to[j] = W::one(from + j * block.c_col_stride);
  }
}

template <class T>
void store_block(const SumBlock& block) {
  using W = Wide<T>;
  for (i64 i = 0; i < block.rows; ++i) {
    T* const to = static_cast<T*>(block.c) + i * block.c_row_stride;
    const typename W::Sum* const from = static_cast<const typename W::Sum*>(block.sums) + i * block.ldc;
    i64 j = 0;
    if (block.c_col_stride == 1) {
      for (; j + W::kLanes <= block.cols; j += W::kLanes) W::store(to + j, W::load_sum(from + j));
    }
    for (; j < block.cols; ++j) W::store_one(to + j * block.c_col_stride, from[j]);
  }
}

}  // namespace

void pack_f32(const PackSource& source, i64 width, float* panels) {
  if (source.dtype == DType::F32) return pack<float>(source, width, panels);
  if (source.dtype == DType::BF16) return pack<BF16>(source, width, panels);
  pack<F16>(source, width, panels);
}

void pack_f64(const PackSource& source, i64 width, double* panels) { pack<double>(source, width, panels); }

void pack_amx_a(const PackSource& source, void* panels) {
  std::uint16_t* out = static_cast<std::uint16_t*>(panels);
  const std::uint16_t* const data = static_cast<const std::uint16_t*>(source.data);
  for (i64 lane = 0; lane < source.lanes; lane += 32) {
    for (i64 p = 0; p < source.k; p += 32) {
      for (i64 i = lane; i < lane + 32; ++i, out += 32) {
        if (source.k_stride == 1 && !source.negate && i < source.lanes && p + 32 <= source.k) {
          std::memcpy(out, data + i * source.lane_stride + p, 64);
        } else {
          for (i64 j = 0; j < 32; ++j) out[j] = pick(source, i, p + j);
        }
      }
    }
  }
}

void pack_amx_b(const PackSource& source, void* panels) {
  std::uint16_t* out = static_cast<std::uint16_t*>(panels);
  const std::uint16_t* const data = static_cast<const std::uint16_t*>(source.data);
  const i64 k = (source.k + 31) / 32 * 32;
  const __m128i flip = _mm_set1_epi16(static_cast<short>(source.negate ? 0x8000 : 0));
  for (i64 lane = 0; lane < source.lanes; lane += 32) {
    for (i64 p = 0; p < k; p += 2, out += 64) {
      if (source.lane_stride == 1 && lane + 32 <= source.lanes && p + 2 <= source.k) {
        const std::uint16_t* const row = data + p * source.k_stride + lane;
        for (i64 j = 0; j < 32; j += 8) interleave(row + j, row + source.k_stride + j, flip, out + 2 * j);
      } else if (source.k_stride == 1 && !source.negate && lane + 32 <= source.lanes && p + 2 <= source.k) {
        for (i64 j = 0; j < 32; ++j) std::memcpy(out + 2 * j, data + (lane + j) * source.lane_stride + p, 4);
      } else {
        for (i64 j = 0; j < 32; ++j) {
          out[2 * j] = pick(source, lane + j, p);
          out[2 * j + 1] = pick(source, lane + j, p + 1);
        }
      }
    }
  }
}

void load_sums(const SumBlock& block) {
  switch (block.dtype) {
    case DType::F32: return load_block<float>(block);
    case DType::BF16: return load_block<BF16>(block);
    case DType::F16: return load_block<F16>(block);
    default: return load_block<double>(block);
  }
}

void store_sums(const SumBlock& block) {
  switch (block.dtype) {
    case DType::F32: return store_block<float>(block);
    case DType::BF16: return store_block<BF16>(block);
    case DType::F16: return store_block<F16>(block);
    default: return store_block<double>(block);
  }
}

}  // namespace resilin::gemm_kernels
