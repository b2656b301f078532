// tests/codegen/cpu_test.cpp -- the choice of an instruction set from feature bits and the knob.
#include "resilin/codegen/cpu.h"

#include <doctest/doctest.h>

#include "resilin/base/config.h"

namespace resilin {
namespace {

CpuFeatures features(bool avx2, bool avx512) {
  CpuFeatures f;
  f.avx2 = f.fma = f.f16c = avx2;
  f.avx512f = f.avx512bw = f.avx512dq = f.avx512vl = avx512;
  return f;
}

}  // namespace

TEST_CASE("auto takes AVX-512 where all of F, BW, DQ and VL are there, else AVX2") {
  CHECK(choose_isa(features(true, true), TargetChoice::Auto) == Isa::Avx512);
  CHECK(choose_isa(features(true, false), TargetChoice::Auto) == Isa::Avx2);
  CpuFeatures without_vl = features(true, true);
  without_vl.avx512vl = false;
  CHECK(choose_isa(without_vl, TargetChoice::Auto) == Isa::Avx2);
}

TEST_CASE("avx2 can be forced anywhere, avx512 only where it is, and nothing runs without AVX2") {
  CHECK(choose_isa(features(true, true), TargetChoice::Avx2) == Isa::Avx2);
  CHECK_THROWS_AS(choose_isa(features(true, false), TargetChoice::Avx512), UnsupportedError);
  CHECK_THROWS_AS(choose_isa(features(false, false), TargetChoice::Auto), UnsupportedError);
}

TEST_CASE("the knob codegen.target decides target_isa") {
  const config::ScopedConfig scope("codegen.target", "avx2");
  CHECK(target_isa() == Isa::Avx2);
}

TEST_CASE("this machine has caches of a plausible size") {
  CHECK(cpu_features().l2_bytes >= 128 << 10);
  CHECK(cpu_features().l3_bytes >= cpu_features().l2_bytes);
}

}  // namespace resilin
