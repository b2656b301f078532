// tests/loop/primitive_test.cpp -- the edges of every primitive operation.
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "resilin/loop/scalar.h"

namespace resilin::loop {
namespace {

using Bits = std::uint64_t;

Bits f32(float v) { return std::bit_cast<std::uint32_t>(v); }
Bits f64(double v) { return std::bit_cast<Bits>(v); }
Bits integer(i64 v) { return static_cast<Bits>(v); }
float as_f32(Bits b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b)); }

Bits run(Code code, DType dtype, DType from, std::initializer_list<Bits> args) {
  return evaluate_primitive(code, dtype, from, {args.begin(), args.size()});
}
i64 binary(Code code, DType dtype, i64 a, i64 b) { return static_cast<i64>(run(code, dtype, dtype, {integer(a), integer(b)})); }
i64 cast_to(DType to, float v) { return static_cast<i64>(run(Code::Cast, to, DType::F32, {f32(v)})); }

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

TEST_CASE("integer arithmetic wraps and keeps narrow values extended") {
  CHECK(binary(Code::Add, DType::I32, 0x7fffffff, 1) == -0x80000000LL);
  CHECK(binary(Code::Mul, DType::I64, i64{1} << 62, 4) == 0);
  CHECK(binary(Code::Sub, DType::U8, 3, 5) == 254);
  CHECK(binary(Code::Add, DType::I8, 127, 1) == -128);
  CHECK(static_cast<i64>(run(Code::Neg, DType::I32, DType::I32, {integer(-0x80000000LL)})) == -0x80000000LL);
  CHECK(static_cast<i64>(run(Code::Neg, DType::U8, DType::U8, {1})) == 255);
  CHECK(static_cast<i64>(run(Code::Not, DType::U8, DType::U8, {1})) == 254);
  CHECK(static_cast<i64>(run(Code::Abs, DType::I16, DType::I16, {integer(-5)})) == 5);
}

TEST_CASE("integer division truncates, and has a result where C has none") {
  CHECK(binary(Code::DivInt, DType::I64, -7, 2) == -3);
  CHECK(binary(Code::ModInt, DType::I64, -7, 2) == -1);
  for (const Code code : {Code::DivInt, Code::ModInt}) {
    CHECK(binary(code, DType::I32, 5, 0) == 0);
    CHECK(binary(code, DType::U8, 5, 0) == 0);
  }
  constexpr i64 kLowest = std::numeric_limits<i64>::lowest();
  CHECK(binary(Code::DivInt, DType::I32, -0x80000000LL, -1) == -0x80000000LL);
  CHECK(binary(Code::DivInt, DType::I64, kLowest, -1) == kLowest);
  CHECK(binary(Code::ModInt, DType::I32, -0x80000000LL, -1) == 0);
  CHECK(binary(Code::ModInt, DType::I64, kLowest, -1) == 0);
  CHECK(binary(Code::DivInt, DType::U8, 255, 16) == 15);
}

TEST_CASE("shifts mask their count") {
  CHECK(binary(Code::ShiftLeft, DType::I32, 1, 33) == 2);
  CHECK(binary(Code::ShiftLeft, DType::I32, 1, 31) == -0x80000000LL);
  CHECK(binary(Code::ShiftRight, DType::I32, -8, 1) == -4);
  CHECK(binary(Code::ShiftRightLogical, DType::I32, -1, 4) == 0x0fffffff);
  CHECK(binary(Code::ShiftRightLogical, DType::I32, -1, 0) == -1);
  CHECK(binary(Code::ShiftRight, DType::U8, 0x80, 9) == 0x40);
  CHECK(binary(Code::ShiftRightLogical, DType::I64, -1, 63) == 1);
  CHECK(binary(Code::MulHigh32, DType::I32, -1, -1) == static_cast<std::int32_t>(0xfffffffe));
}

TEST_CASE("minimum and maximum let NaN win and order the zeros") {
  for (const DType t : {DType::F32, DType::F64}) {
    const auto bits = [t](double v) { return t == DType::F32 ? f32(static_cast<float>(v)) : f64(v); };
    CHECK(run(Code::Min, t, t, {bits(0.0), bits(-0.0)}) == bits(-0.0));
    CHECK(run(Code::Min, t, t, {bits(-0.0), bits(0.0)}) == bits(-0.0));
    CHECK(run(Code::Max, t, t, {bits(0.0), bits(-0.0)}) == bits(0.0));
    CHECK(run(Code::Max, t, t, {bits(-0.0), bits(0.0)}) == bits(0.0));
    CHECK(run(Code::Max, t, t, {bits(2), bits(3)}) == bits(3));
    for (const Code code : {Code::Min, Code::Max}) {
      CHECK(run(code, t, t, {bits(std::nan("")), bits(1)}) == bits(std::nan("")));
      CHECK(run(code, t, t, {bits(1), bits(std::nan(""))}) == bits(std::nan("")));
    }
  }
  CHECK(binary(Code::Min, DType::I32, -1, 1) == -1);
  CHECK(binary(Code::Max, DType::U8, 255, 1) == 255);
}

TEST_CASE("comparisons with NaN are false, only ne is true") {
  for (const Code code : {Code::Eq, Code::Lt, Code::Le, Code::Gt, Code::Ge}) {
    CHECK(run(code, DType::Bool, DType::F32, {f32(kNan), f32(kNan)}) == 0);
    CHECK(run(code, DType::Bool, DType::F32, {f32(kNan), f32(1)}) == 0);
  }
  CHECK(run(Code::Ne, DType::Bool, DType::F32, {f32(kNan), f32(kNan)}) == 1);
  CHECK(run(Code::Eq, DType::Bool, DType::F32, {f32(0.0F), f32(-0.0F)}) == 1);
  CHECK(run(Code::Lt, DType::Bool, DType::Bool, {0, 1}) == 1);
  CHECK(run(Code::Gt, DType::Bool, DType::U8, {255, 1}) == 1);
  CHECK(run(Code::Gt, DType::Bool, DType::I8, {integer(-1), 1}) == 0);
}

TEST_CASE("casts of floats to integers truncate and saturate as x86 does") {
  CHECK(cast_to(DType::I32, -2.9F) == -2);
  for (const float v : {kNan, kInf, -kInf, 3e9F, 2147483648.0F}) CHECK(cast_to(DType::I32, v) == -0x80000000LL);
  CHECK(cast_to(DType::I32, -2147483648.0F) == -0x80000000LL);
  CHECK(static_cast<i64>(run(Code::Cast, DType::I32, DType::F64, {f64(2147483647.9)})) == 2147483647);
  CHECK(static_cast<i64>(run(Code::Cast, DType::I32, DType::F64, {f64(-2147483648.9)})) == -0x80000000LL);
  for (const float v : {kNan, kInf, -kInf, 1e19F}) CHECK(cast_to(DType::I64, v) == std::numeric_limits<i64>::lowest());
  CHECK(cast_to(DType::U8, 300.0F) == 44);
  CHECK(cast_to(DType::U8, -1.0F) == 255);
  CHECK(cast_to(DType::I8, 200.0F) == -56);
  CHECK(cast_to(DType::U8, kNan) == 0);
  CHECK(cast_to(DType::Bool, kNan) == 1);
  CHECK(cast_to(DType::Bool, -0.0F) == 0);
}

TEST_CASE("casts of integers round to nearest even") {
  CHECK(as_f32(run(Code::Cast, DType::F32, DType::I64, {integer((i64{1} << 24) + 1)})) == 16777216.0F);
  CHECK(as_f32(run(Code::Cast, DType::F32, DType::I32, {integer(-3)})) == -3.0F);
  CHECK(as_f32(run(Code::Cast, DType::F32, DType::U8, {255})) == 255.0F);
  CHECK(static_cast<i64>(run(Code::Cast, DType::I8, DType::I64, {integer(0x180)})) == -128);
  CHECK(static_cast<i64>(run(Code::Cast, DType::I64, DType::I32, {integer(-1)})) == -1);
  CHECK(run(Code::Cast, DType::Bool, DType::I64, {integer(256)}) == 1);
  CHECK(run(Code::Cast, DType::F64, DType::Bool, {1}) == f64(1));
}

TEST_CASE("casts between floats go through f32") {
  CHECK(run(Code::Cast, DType::BF16, DType::F32, {f32(1.0F + 0x1p-8F)}) == 0x3f80);
  CHECK(run(Code::Cast, DType::F16, DType::F32, {f32(65520.0F)}) == 0x7c00);
  CHECK(as_f32(run(Code::Cast, DType::F32, DType::F16, {0xc000})) == -2.0F);
  CHECK(as_f32(run(Code::Cast, DType::F32, DType::BF16, {0x3fc0})) == 1.5F);
  // 1 + 2^-11 + 2^-40 is above the tie in f64, on it in f32.
  CHECK(run(Code::Cast, DType::F16, DType::F64, {f64(1 + 0x1p-11 + 0x1p-40)}) == 0x3c00);
  CHECK(run(Code::Cast, DType::BF16, DType::F16, {0x3c00}) == 0x3f80);
}

TEST_CASE("bitcasts keep every bit and the form of their dtype") {
  CHECK(static_cast<i64>(run(Code::Bitcast, DType::I32, DType::F32, {f32(-0.0F)})) == -0x80000000LL);
  CHECK(run(Code::Bitcast, DType::F32, DType::I32, {integer(-1)}) == 0xffffffff);
  CHECK(run(Code::Bitcast, DType::I64, DType::F64, {f64(-1.5)}) == f64(-1.5));
}

TEST_CASE("logic acts on Bool by truth and on integers by bits") {
  CHECK(run(Code::Not, DType::Bool, DType::Bool, {1}) == 0);
  CHECK(run(Code::And, DType::Bool, DType::Bool, {1, 0}) == 0);
  CHECK(run(Code::Or, DType::Bool, DType::Bool, {1, 0}) == 1);
  CHECK(run(Code::Xor, DType::Bool, DType::Bool, {1, 1}) == 0);
  CHECK(binary(Code::Xor, DType::I32, -1, 1) == -2);
}

TEST_CASE("fma rounds once, round_even rounds ties to even") {
  const float a = 1.0F + 0x1p-23F;
  CHECK(as_f32(run(Code::Fma, DType::F32, DType::F32, {f32(a), f32(a), f32(-1.0F - 0x1p-22F)})) == 0x1p-46F);
  CHECK(as_f32(run(Code::RoundEven, DType::F32, DType::F32, {f32(2.5F)})) == 2.0F);
  CHECK(run(Code::RoundEven, DType::F32, DType::F32, {f32(-0.4F)}) == f32(-0.0F));
  CHECK(run(Code::Trunc, DType::F64, DType::F64, {f64(-1.9)}) == f64(-1));
  CHECK(run(Code::Floor, DType::F64, DType::F64, {f64(-1.1)}) == f64(-2));
  CHECK(run(Code::Ceil, DType::F64, DType::F64, {f64(-1.9)}) == f64(-1));
}

TEST_CASE("select takes the side its condition names") {
  CHECK(run(Code::Select, DType::F32, DType::F32, {1, f32(2), f32(kNan)}) == f32(2));
  CHECK(run(Code::Select, DType::F32, DType::F32, {0, f32(2), f32(3)}) == f32(3));
}

TEST_CASE("a primitive that a dtype does not have is an internal error") {
  CHECK_THROWS_AS(run(Code::Add, DType::F16, DType::F16, {0, 0}), InternalError);
  CHECK_THROWS_AS(run(Code::Add, DType::Bool, DType::Bool, {0, 0}), InternalError);
  CHECK_THROWS_AS(run(Code::DivInt, DType::F32, DType::F32, {0, 0}), InternalError);
}

}  // namespace
}  // namespace resilin::loop
