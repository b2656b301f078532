// src/resilin/codegen/cpu.cpp -- CPUID and XGETBV, and the choice of an instruction set.
#include "resilin/codegen/cpu.h"

#include <cpuid.h>

#include "resilin/base/config.h"

namespace resilin {
namespace {

struct Registers {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);  // leaves r zero when the leaf does not exist
  return r;
}

bool bit(std::uint32_t word, int position) { return ((word >> position) & 1u) != 0; }

/// The register states the operating system saves (XCR0).
std::uint64_t saved_states() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

/// Data and unified caches, from the deterministic cache leaf of Intel (4) or AMD (0x8000001d), which have one format.
void read_caches(std::uint32_t leaf, CpuFeatures& features) {
  for (std::uint32_t index = 0; index < 16; ++index) {
    const Registers r = cpuid(leaf, index);
    const std::uint32_t type = r.a & 31u;
    if (type == 0) return;
    if (type == 2) continue;  // instructions only
    const i64 ways = (r.b >> 22) + 1;
    const i64 partitions = ((r.b >> 12) & 1023u) + 1;
    const i64 line = (r.b & 4095u) + 1;
    const i64 size_bytes = ways * partitions * line * (static_cast<i64>(r.c) + 1);
    const std::uint32_t level = (r.a >> 5) & 7u;
    if (level == 2) features.l2_bytes = size_bytes;
    if (level == 3) features.l3_bytes = size_bytes;
  }
}

CpuFeatures detect() {
  CpuFeatures features;
  const Registers basic = cpuid(1, 0);
  const Registers extended = cpuid(7, 0);
  const Registers extended1 = cpuid(7, 1);
  const std::uint64_t states = bit(basic.c, 27) ? saved_states() : 0;
  const bool ymm = (states & 0x6) == 0x6;
  const bool zmm = (states & 0xe6) == 0xe6;
  const bool tiles = (states & 0x60000) == 0x60000;
  features.fma = ymm && bit(basic.c, 12);
  features.f16c = ymm && bit(basic.c, 29);
  features.avx2 = ymm && bit(extended.b, 5);
  features.avx512f = zmm && bit(extended.b, 16);
  features.avx512dq = zmm && bit(extended.b, 17);
  features.avx512bw = zmm && bit(extended.b, 30);
  features.avx512vl = zmm && bit(extended.b, 31);
  features.avx512_fp16 = zmm && bit(extended.d, 23);
  features.avx512_bf16 = zmm && bit(extended1.a, 5);
  features.amx_bf16 = tiles && bit(extended.d, 22);
  features.amx_tile = tiles && bit(extended.d, 24);
  read_caches(4, features);
  if (features.l2_bytes == 0) read_caches(0x8000001d, features);
  if (features.l2_bytes == 0) features.l2_bytes = 256 << 10;
  if (features.l3_bytes == 0) features.l3_bytes = 4 << 20;
  return features;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

Isa choose_isa(const CpuFeatures& features, TargetChoice choice) {
  if (!features.avx2 || !features.fma || !features.f16c) {
    throw UnsupportedError("codegen.target: this processor lacks AVX2, FMA or F16C; all three are needed");
  }
  const bool has_avx512 = features.avx512f && features.avx512bw && features.avx512dq && features.avx512vl;
  if (choice == TargetChoice::Avx512 && !has_avx512) {
    throw UnsupportedError("codegen.target: avx512 is asked for and this processor lacks AVX-512 F, BW, DQ or VL; auto and avx2 run here");
  }
  return has_avx512 && choice != TargetChoice::Avx2 ? Isa::Avx512 : Isa::Avx2;
}

Isa target_isa() {
  static const config::Knob& target = config::knob("codegen.target");
  return choose_isa(cpu_features(), static_cast<TargetChoice>(target.integer()));
}

}  // namespace resilin
