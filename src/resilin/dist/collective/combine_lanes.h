// src/resilin/dist/collective/combine_lanes.h -- Internal: the arithmetic of reductions as a template over the bytes of a vector.
// Included by combine_<isa>.cpp only.
//
// Everything stands in an unnamed namespace on purpose, and no inline function of another header is called: the same template is compiled for
// several instruction sets, and one merged copy of them would run where it must not.
#pragma once

#include <cstdint>

#include "resilin/dist/collective/combine_elements.h"
#include "resilin/dist/collective/combine_kernel.h"

namespace resilin::dist {
namespace {

// ---- ops: a (the sum so far) and b

struct Add {
  template <class E>
  [[gnu::always_inline]] static typename E::Vector apply(typename E::Vector a, typename E::Vector b) {
    using Bits = typename E::BitsVector;  // unsigned, so that integers wrap
    if constexpr (E::kIsFloat) return a + b;
    return reinterpret_cast<typename E::Vector>(reinterpret_cast<Bits>(a) + reinterpret_cast<Bits>(b));
  }
};

struct Multiply {
  template <class E>
  [[gnu::always_inline]] static typename E::Vector apply(typename E::Vector a, typename E::Vector b) {
    using Bits = typename E::BitsVector;
    if constexpr (E::kIsFloat) return a * b;
    return reinterpret_cast<typename E::Vector>(reinterpret_cast<Bits>(a) * reinterpret_cast<Bits>(b));
  }
};

/// Equal floats differ in bits only as zeros do; a NaN in a stays, one in b compares false.
struct Greater {
  template <class E>
  [[gnu::always_inline]] static typename E::Vector apply(typename E::Vector a, typename E::Vector b) {
    using Bits = typename E::BitsVector;
    if constexpr (!E::kIsFloat) return a > b ? a : b;
    const typename E::Vector both = reinterpret_cast<typename E::Vector>(reinterpret_cast<Bits>(a) & reinterpret_cast<Bits>(b));
    const typename E::Vector greater = a > b ? a : b;
    const typename E::Vector ordered = a == b ? both : greater;
    return a == a ? ordered : a;
  }
};

struct Less {
  template <class E>
  [[gnu::always_inline]] static typename E::Vector apply(typename E::Vector a, typename E::Vector b) {
    using Bits = typename E::BitsVector;
    if constexpr (!E::kIsFloat) return a < b ? a : b;
    const typename E::Vector either = reinterpret_cast<typename E::Vector>(reinterpret_cast<Bits>(a) | reinterpret_cast<Bits>(b));
    const typename E::Vector less = a < b ? a : b;
    const typename E::Vector ordered = a == b ? either : less;
    return a == a ? ordered : a;
  }
};

struct And {
  template <class E>
  [[gnu::always_inline]] static typename E::Vector apply(typename E::Vector a, typename E::Vector b) {
    return a & b;
  }
};

struct Or {
  template <class E>
  [[gnu::always_inline]] static typename E::Vector apply(typename E::Vector a, typename E::Vector b) {
    return a | b;
  }
};

struct Xor {
  template <class E>
  [[gnu::always_inline]] static typename E::Vector apply(typename E::Vector a, typename E::Vector b) {
    return a ^ b;
  }
};

// ---- kernels

/// What becomes of a float when all sources are combined.
template <class E>
[[gnu::always_inline]] inline typename E::Vector finish(typename E::Vector x, i64 divisor) {
  if constexpr (E::kIsFloat) {
    using Compute = typename E::Compute;
    const typename E::Vector nan = typename E::Vector{} + static_cast<Compute>(__builtin_nan(""));
    x = x == x ? x : nan;
    if (divisor != 1) x = E::divide(x, static_cast<Compute>(divisor));
  }
  return x;
}

/// kVectors vectors at byte `at`. All sources are read before anything is written.
template <class E, class Op, int kVectors>
[[gnu::always_inline]] inline void combine_strip(const CombineCall& call, i64 at) {
  constexpr i64 kStep = static_cast<i64>(E::kCount) * E::kBytes;
  typename E::Vector sum[kVectors];
  for (int v = 0; v < kVectors; ++v) sum[v] = E::load(call.from[0] + at + v * kStep);
  for (int s = 1; s < call.sources; ++s) {
    const std::byte* const source = call.from[s] + at;
    for (int v = 0; v < kVectors; ++v) sum[v] = Op::template apply<E>(sum[v], E::load(source + v * kStep));
  }
  for (int v = 0; v < kVectors; ++v) E::store(call.into + at + v * kStep, finish<E>(sum[v], call.divisor));
}

/// The elements behind the last whole vector.
template <class E, class Op>
void combine_rest(const CombineCall& call, i64 at, i64 bytes) {
  alignas(64) std::byte item[E::kCount * E::kBytes] = {};
  __builtin_memcpy(item, call.from[0] + at, static_cast<std::size_t>(bytes));
  typename E::Vector sum = E::load(item);
  for (int s = 1; s < call.sources; ++s) {
    __builtin_memcpy(item, call.from[s] + at, static_cast<std::size_t>(bytes));
    sum = Op::template apply<E>(sum, E::load(item));
  }
  E::store(item, finish<E>(sum, call.divisor));
  __builtin_memcpy(call.into + at, item, static_cast<std::size_t>(bytes));
}

template <class E, class Op>
void combine_all(const CombineCall& call) {
  constexpr i64 kStep = static_cast<i64>(E::kCount) * E::kBytes;
  constexpr int kVectors = E::kAtOnce;
  const i64 end = call.count * E::kBytes;
  i64 at = 0;
  for (; at + kVectors * kStep <= end; at += kVectors * kStep) combine_strip<E, Op, kVectors>(call, at);
  for (; at + kStep <= end; at += kStep) combine_strip<E, Op, 1>(call, at);
  if (at < end) combine_rest<E, Op>(call, at, end - at);
}

template <class E>
CombineKernel find_for(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum: return combine_all<E, Add>;
    case ReduceOp::Product: return combine_all<E, Multiply>;
    case ReduceOp::Min: return combine_all<E, Less>;
    case ReduceOp::Max: return combine_all<E, Greater>;
    default: break;
  }
  if constexpr (!E::kIsFloat) {
    switch (op) {
      case ReduceOp::Band: return combine_all<E, And>;
      case ReduceOp::Bor: return combine_all<E, Or>;
      case ReduceOp::Bxor: return combine_all<E, Xor>;
      default: break;
    }
  }
  return nullptr;
}

/// F16 is the element type of f16, for which some instruction sets have conversions.
template <int kVectorBytes, class F16>
CombineKernel find_kernel(ReduceOp op, DType dtype) {
  switch (dtype) {
    case DType::U8: return find_for<Plain<std::uint8_t, kVectorBytes>>(op);
    case DType::I8: return find_for<Plain<std::int8_t, kVectorBytes>>(op);
    case DType::I16: return find_for<Plain<std::int16_t, kVectorBytes>>(op);
    case DType::I32: return find_for<Plain<std::int32_t, kVectorBytes>>(op);
    case DType::I64: return find_for<Plain<std::int64_t, kVectorBytes>>(op);
    case DType::F16: return find_for<F16>(op);
    case DType::BF16: return find_for<Bf16<kVectorBytes>>(op);
    case DType::F32: return find_for<Plain<float, kVectorBytes>>(op);
    case DType::F64: return find_for<Plain<double, kVectorBytes>>(op);
    case DType::F8E4M3FN: return find_for<Small<F8E4M3FNFormat, kVectorBytes>>(op);
    case DType::F8E5M2: return find_for<Small<F8E5M2Format, kVectorBytes>>(op);
    default: return nullptr;
  }
}

}  // namespace
}  // namespace resilin::dist
