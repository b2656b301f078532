// src/resilin/dist/collective/combine_elements.h -- Internal: how elements lie in memory, and the vectors in which they are combined.
// Included by combine_<isa>.cpp only; combine_lanes.h says why everything stands in an unnamed namespace.
#pragma once

#include <cstddef>
#include <cstdint>

namespace resilin::dist {
namespace {

template <class T, int kCount>
struct VectorOf {
  typedef T Type __attribute__((vector_size(sizeof(T) * kCount)));
};
template <class T, int kCount>
using Lanes = typename VectorOf<T, kCount>::Type;

template <class To, class From>
[[gnu::always_inline]] inline To convert(From x) {
  return __builtin_convertvector(x, To);
}

template <class Vector>
[[gnu::always_inline]] inline Vector load_vector(const std::byte* at) {
  Vector x;
  __builtin_memcpy(&x, at, sizeof x);
  return x;
}

template <class Vector>
[[gnu::always_inline]] inline void store_vector(std::byte* at, Vector x) {
  __builtin_memcpy(at, &x, sizeof x);
}

template <int kBytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using Type = std::uint8_t;
};
template <>
struct BitsOf<2> {
  using Type = std::uint16_t;
};
template <>
struct BitsOf<4> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using Type = std::uint64_t;
};

/// Numbers that are combined as what they are.
template <class T, int kVectorBytes>
struct Plain {
  using Compute = T;
  using Bits = typename BitsOf<sizeof(T)>::Type;
  static constexpr int kBytes = sizeof(T);
  static constexpr int kCount = kVectorBytes / kBytes;
  static constexpr int kAtOnce = 4;                            // vectors
  static constexpr bool kIsFloat = static_cast<T>(0.5f) != 0;  // integers have no half
  using Vector = Lanes<T, kCount>;
  using BitsVector = Lanes<Bits, kCount>;
  [[gnu::always_inline]] static Vector load(const std::byte* at) { return load_vector<Vector>(at); }
  [[gnu::always_inline]] static void store(std::byte* at, Vector x) { store_vector(at, x); }
  [[gnu::always_inline]] static Vector divide(Vector x, T divisor) { return x / divisor; }
};

/// What the floats below 32 bits share: they are combined in f32.
template <int kVectorBytes>
struct Widened : Plain<float, kVectorBytes> {
  using Base = Plain<float, kVectorBytes>;
  using typename Base::Vector;

  /// The quotient rounded to odd: what is rounded further to fewer bits is then rounded as the exact quotient would be. A double tells the
  /// quotient of an f32 and 24 bits from every f32. NaN stays NaN.
  [[gnu::always_inline]] static Vector divide(Vector x, float divisor) {
    alignas(64) float item[Base::kCount];
    __builtin_memcpy(item, &x, sizeof x);
    for (int i = 0; i < Base::kCount; ++i) {
      const double exact = static_cast<double>(item[i]) / static_cast<double>(divisor);
      const float near = static_cast<float>(exact);
      std::uint32_t bits = 0;
      __builtin_memcpy(&bits, &near, sizeof bits);
      bits -= __builtin_fabs(static_cast<double>(near)) > __builtin_fabs(exact) ? 1u : 0u;
      bits |= static_cast<double>(near) != exact ? 1u : 0u;
      __builtin_memcpy(&item[i], &bits, sizeof bits);
    }
    __builtin_memcpy(&x, item, sizeof x);
    return x;
  }
};

template <int kVectorBytes>
struct Bf16 : Widened<kVectorBytes> {
  using typename Plain<float, kVectorBytes>::Vector;
  using Words = typename Plain<float, kVectorBytes>::BitsVector;
  using Stored = Lanes<std::uint16_t, kVectorBytes / 4>;
  static constexpr int kBytes = 2;
  [[gnu::always_inline]] static Vector load(const std::byte* at) {
    return reinterpret_cast<Vector>(convert<Words>(load_vector<Stored>(at)) << 16);
  }
  /// The quiet NaN, whose low half is zero, is not carried into the sign.
  [[gnu::always_inline]] static void store(std::byte* at, Vector x) {
    const Words word = reinterpret_cast<Words>(x);
    store_vector(at, convert<Stored>((word + 0x7fffu + (word >> 16 & 1u)) >> 16));
  }
};

/// Where a small float keeps its fields. Without infinity the largest magnitude alone is NaN.
struct F16Format {
  using Stored = std::uint16_t;
  static constexpr int kMantissaBits = 10, kBias = 15;
  static constexpr bool kHasInfinity = true;
  static constexpr std::uint32_t kOverflow = 143u << 23;  // the first magnitude that is no finite number before rounding
};
struct F8E4M3FNFormat {
  using Stored = std::uint8_t;
  static constexpr int kMantissaBits = 3, kBias = 7;
  static constexpr bool kHasInfinity = false;
  static constexpr std::uint32_t kOverflow = 0x43f00000u;  // 480, which would round to the pattern of NaN
};
struct F8E5M2Format {
  using Stored = std::uint8_t;
  static constexpr int kMantissaBits = 2, kBias = 15;
  static constexpr bool kHasInfinity = true;
  static constexpr std::uint32_t kOverflow = 143u << 23;
};

/// A small float whose conversions are integer arithmetic; the rules are those of tensor/dtype.h.
template <class Format, int kVectorBytes>
struct Small : Widened<kVectorBytes> {
  using typename Plain<float, kVectorBytes>::Vector;
  using Words = typename Plain<float, kVectorBytes>::BitsVector;
  using Stored = Lanes<typename Format::Stored, kVectorBytes / 4>;
  using Halves = Lanes<std::uint16_t, kVectorBytes / 4>;  // gcc 12 takes a step from 8 to 32 bits apart
  static constexpr int kBytes = sizeof(typename Format::Stored);
  static constexpr int kAtOnce = 1;  // more would not stay in registers
  static constexpr int kWidth = 8 * kBytes, kMantissaBits = Format::kMantissaBits, kBias = Format::kBias, kDropped = 23 - kMantissaBits;
  static constexpr std::uint32_t kMost = (1u << (kWidth - 1)) - 1;
  static constexpr std::uint32_t kInfinity = kMost >> kMantissaBits << kMantissaBits;
  static constexpr std::uint32_t kNan = Format::kHasInfinity ? kInfinity | 1u << (kMantissaBits - 1) : kMost;

  [[gnu::always_inline]] static Vector load(const std::byte* at) {
    const Words word = convert<Words>(convert<Halves>(load_vector<Stored>(at)));
    const Words magnitude = word & kMost;
    const Words sign = (word & ~kMost) << (32 - kWidth);
    // Below the normal numbers the mantissa is a count of the smallest one.
    constexpr std::uint32_t kUnit = static_cast<std::uint32_t>(128 - kBias - kMantissaBits) << 23;
    using Signed = Lanes<std::int32_t, kVectorBytes / 4>;
    const Vector unit = reinterpret_cast<Vector>(Words{} + kUnit);
    const Words small = reinterpret_cast<Words>(convert<Vector>(reinterpret_cast<Signed>(magnitude)) * unit);
    const Words normal = (magnitude << kDropped) + (static_cast<std::uint32_t>(127 - kBias) << 23);
    Words wide = magnitude < (1u << kMantissaBits) ? small : normal;
    if constexpr (Format::kHasInfinity) {
      const Words payload = (magnitude - kInfinity) << kDropped;
      wide = magnitude > kInfinity ? payload | 0x7fc00000u : magnitude == kInfinity ? Words{} + 0x7f800000u : wide;
    } else {
      wide = magnitude == kMost ? Words{} + 0x7fc00000u : wide;
    }
    return reinterpret_cast<Vector>(wide | sign);
  }

  [[gnu::always_inline]] static void store(std::byte* at, Vector x) {
    const Words word = reinterpret_cast<Words>(x);
    const Words magnitude = word & 0x7fffffffu;
    const Words sign = (word & 0x80000000u) >> (32 - kWidth);
    // Below the normal numbers the adder rounds: the addend puts the last bit of the format at the last bit of the sum.
    constexpr std::uint32_t kMagic = static_cast<std::uint32_t>(128 - kBias + kDropped) << 23;
    constexpr std::uint32_t kSmallestNormal = static_cast<std::uint32_t>(128 - kBias) << 23;
    const Vector sum = reinterpret_cast<Vector>(magnitude) + reinterpret_cast<Vector>(Words{} + kMagic);
    const Words small = reinterpret_cast<Words>(sum) - kMagic;
    const Words rebased = magnitude - (static_cast<std::uint32_t>(127 - kBias) << 23);
    const Words normal = (rebased + ((1u << (kDropped - 1)) - 1) + (magnitude >> kDropped & 1u)) >> kDropped;
    Words narrow = magnitude < kSmallestNormal ? small : normal;
    narrow = magnitude >= Format::kOverflow ? Words{} + (Format::kHasInfinity ? kInfinity : kNan) : narrow;
    narrow = magnitude > 0x7f800000u ? Words{} + kNan : narrow;
    store_vector(at, convert<Stored>(convert<Halves>(narrow | sign)));
  }
};

}  // namespace
}  // namespace resilin::dist
