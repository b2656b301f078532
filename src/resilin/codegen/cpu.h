// src/resilin/codegen/cpu.h -- what the processor can do, read from CPUID, and the instruction set that code is made for.
#pragma once

#include <cstdint>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin {

/// Feature bits of the processor; a vector feature counts only when the operating system saves its registers too.
struct CpuFeatures {
  bool avx2 = false, fma = false, f16c = false;
  bool avx512f = false, avx512bw = false, avx512dq = false, avx512vl = false;
  bool avx512_bf16 = false, avx512_fp16 = false;
  bool amx_tile = false, amx_bf16 = false;
  i64 l2_bytes = 0, l3_bytes = 0;  // per core; shared
};

/// The features of this machine, read once. They come from CPUID bits and XGETBV, never from a model name (hypervisors mask those).
RESILIN_API const CpuFeatures& cpu_features();

/// The instruction sets code is made for: Avx2 means AVX2 + FMA + F16C, Avx512 means F + BW + DQ + VL on top.
enum class Isa : std::uint8_t { Avx2, Avx512 };

/// What the knob `codegen.target` says, in the order of its words.
enum class TargetChoice : std::uint8_t { Auto, Avx2, Avx512 };

/// The instruction set that a machine with `features` gets.
///
/// Errors   UnsupportedError without AVX2, FMA and F16C, and when AVX-512 is asked for where it is not
RESILIN_API Isa choose_isa(const CpuFeatures& features, TargetChoice choice);

/// The best instruction set of this machine, or the one that `codegen.target` forces; errors as for choose_isa.
RESILIN_API Isa target_isa();

}  // namespace resilin
