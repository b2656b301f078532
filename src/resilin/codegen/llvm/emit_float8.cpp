// src/resilin/codegen/llvm/emit_float8.cpp -- conversions of the 8-bit floats, by integer arithmetic on f32 bits.
#include "resilin/codegen/llvm/emit.h"

namespace resilin::codegen {
namespace {

/// The numbers that tell one 8-bit float from another.
struct Float8 {
  int mantissa_bits;
  int bias;
  i64 overflow;     // what rounds beyond the largest finite value becomes
  i64 nan;          // the least pattern of a quiet NaN
  i64 nan_payload;  // bits of it that come from the f32
};

constexpr Float8 kE4M3FN{3, 7, 0x7f, 0x7f, 0};
constexpr Float8 kE5M2{2, 15, 0x7c, 0x7e, 1};

}  // namespace

// The exponent and mantissa placed into an f32 are the value times 2^(bias - 127), denormals included.
llvm::Value* Emitter::float8_to_float(llvm::Value* x, DType from) {
  llvm::Type* const ints = ints_like(x, 32);
  llvm::Type* const floats = with_lanes_of(x, b_.getFloatTy());
  llvm::Value* const bits = b_.CreateZExt(x, ints);
  if (from == DType::F8E5M2) {  // the upper byte of an f16
    return widen(b_.CreateTrunc(b_.CreateShl(bits, number(ints, 8)), ints_like(x, 16)), DType::F16);
  }
  llvm::Value* const magnitude = b_.CreateAnd(bits, number(ints, 0x7f));
  llvm::Value* const placed = b_.CreateBitCast(b_.CreateShl(magnitude, number(ints, 23 - kE4M3FN.mantissa_bits)), floats);
  llvm::Value* const value = b_.CreateBitCast(b_.CreateFMul(placed, real(floats, 0x1p120)), ints);
  llvm::Value* const is_nan = to_mask(b_.CreateICmpEQ(magnitude, number(ints, kE4M3FN.nan)), 32);
  llvm::Value* const sign = b_.CreateShl(b_.CreateAnd(bits, number(ints, 0x80)), number(ints, 24));
  return b_.CreateBitCast(b_.CreateOr(choose(is_nan, number(ints, 0x7fc00000), value), sign), floats);
}

llvm::Value* Emitter::float_to_float8(llvm::Value* x, DType to) {
  const Float8& format = to == DType::F8E5M2 ? kE5M2 : kE4M3FN;
  llvm::Type* const ints = ints_like(x, 32);
  llvm::Type* const floats = x->getType();
  const int drop = 23 - format.mantissa_bits;
  llvm::Value* const bits = b_.CreateBitCast(x, ints);
  llvm::Value* const magnitude = b_.CreateAnd(bits, number(ints, 0x7fffffff));
  // Normal numbers: round the bits to nearest even, then rebase the exponent.
  llvm::Value* const odd = b_.CreateAnd(b_.CreateLShr(magnitude, number(ints, drop)), number(ints, 1));
  llvm::Value* const raised = b_.CreateAdd(b_.CreateAdd(magnitude, number(ints, (i64{1} << (drop - 1)) - 1)), odd);
  llvm::Value* const rebased =
      b_.CreateSub(b_.CreateLShr(raised, number(ints, drop)), number(ints, i64{127 - format.bias} << format.mantissa_bits));
  // Denormals: adding a power of two whose last place is the smallest denormal rounds and leaves the number in the low bits.
  const i64 anchor_bits = i64{127 + 1 - format.bias + drop} << 23;
  llvm::Value* const anchor = b_.CreateBitCast(number(ints, anchor_bits), floats);
  llvm::Value* const anchored = b_.CreateFAdd(b_.CreateBitCast(magnitude, floats), anchor);
  llvm::Value* const denormal = b_.CreateSub(b_.CreateBitCast(anchored, ints), number(ints, anchor_bits));
  const auto below = [&](llvm::Value* a, i64 limit) { return to_mask(b_.CreateICmpSLT(a, number(ints, limit)), 32); };
  llvm::Value* const finite = choose(below(magnitude, i64{128 - format.bias} << 23), denormal, rebased);
  llvm::Value* const bounded = choose(below(finite, format.overflow), finite, number(ints, format.overflow));
  llvm::Value* const payload = b_.CreateAnd(b_.CreateLShr(magnitude, number(ints, drop)), number(ints, format.nan_payload));
  llvm::Value* const nan = b_.CreateOr(payload, number(ints, format.nan));
  llvm::Value* const result = choose(below(magnitude, 0x7f800001), bounded, nan);
  llvm::Value* const sign = b_.CreateAnd(b_.CreateLShr(bits, number(ints, 24)), number(ints, 0x80));
  return b_.CreateTrunc(b_.CreateOr(result, sign), ints_like(x, 8));
}

}  // namespace resilin::codegen
