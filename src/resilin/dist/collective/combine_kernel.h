// src/resilin/dist/collective/combine_kernel.h -- Internal: the functions that an instruction set gives to the arithmetic of reductions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "resilin/dist/collective/kind.h"
#include "resilin/tensor/dtype.h"

namespace resilin::dist {

struct CombineCall {
  std::byte* into;
  const std::byte* const* from;
  int sources;
  i64 count;    // elements
  i64 divisor;  // of floats, at most 2^24; 1: no division
};
using CombineKernel = void (*)(const CombineCall& call);

/// How one instruction set combines. All give the same bits.
struct CombineIsa {
  const char* name;
  bool (*runs_here)();
  /// For Sum, Product, Min and Max of numbers that are not complex, and Band, Bor and Bxor of integers; else null.
  CombineKernel (*find)(ReduceOp op, DType dtype);
};

CombineKernel find_combine_portable(ReduceOp op, DType dtype);
CombineKernel find_combine_avx2(ReduceOp op, DType dtype);
CombineKernel find_combine_avx512(ReduceOp op, DType dtype);

inline constexpr int kCombineIsas = 3;
/// The best first; the last runs everywhere.
extern const CombineIsa kCombineIsa[kCombineIsas];

}  // namespace resilin::dist
