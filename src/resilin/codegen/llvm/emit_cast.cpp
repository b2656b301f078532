// src/resilin/codegen/llvm/emit_cast.cpp -- conversions between dtypes, each with one rounding and x86's rule for what does not fit.
#include <llvm/IR/IntrinsicsX86.h>

#include "resilin/codegen/llvm/emit.h"

namespace resilin::codegen {
namespace {

constexpr i64 kCurrentRounding = 4;  // "as MXCSR says", the last operand of AVX-512 conversions; truncating ones ignore the mode
constexpr i64 kHalfRounding = 4;     // the same for vcvtps2ph

unsigned lanes_of(llvm::Value* x) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  return vector == nullptr ? 1 : vector->getNumElements();
}

llvm::SmallVector<int, 64> consecutive(unsigned first, unsigned count) {
  llvm::SmallVector<int, 64> lanes;
  for (unsigned l = 0; l < count; ++l) lanes.push_back(static_cast<int>(first + l));
  return lanes;
}

}  // namespace

llvm::Value* Emitter::cast(llvm::Value* x, DType from, DType to) {
  if (from == to) return x;
  if (from == DType::Bool) return mask_to(x, to);
  if (to == DType::Bool) return nonzero(x, from);
  if (is_small_float(from)) return cast(widen(x, from), DType::F32, to);
  // f64 and integers reach the small floats through f32, as PyTorch's casts do.
  if (is_small_float(to)) return narrow(cast(x, from, DType::F32), to);
  if (!is_floating(from)) return is_floating(to) ? integer_to_float(x, from, to) : cast_integer(x, from, to);
  if (!is_floating(to)) return float_to_integer(x, to);
  llvm::Type* const type = with_lanes_of(x, lane_type(to));
  return to == DType::F64 ? b_.CreateFPExt(x, type) : b_.CreateFPTrunc(x, type);
}

llvm::Value* Emitter::cast_integer(llvm::Value* x, DType from, DType to) {
  llvm::Type* const type = with_lanes_of(x, lane_type(to));
  return from == DType::U8 ? b_.CreateZExtOrTrunc(x, type) : b_.CreateSExtOrTrunc(x, type);
}

llvm::Value* Emitter::mask_to(llvm::Value* mask, DType to) {
  if (is_small_float(to)) return narrow(mask_to(mask, DType::F32), to);
  llvm::Type* const type = with_lanes_of(mask, lane_type(to));
  return choose(mask, is_floating(to) ? real(type, 1.0) : number(type, 1), llvm::Constant::getNullValue(type));
}

llvm::Value* Emitter::nonzero(llvm::Value* x, DType from) {
  llvm::Value* const zero = llvm::Constant::getNullValue(x->getType());
  if (from == DType::F32 || from == DType::F64) return to_mask(b_.CreateFCmpUNE(x, zero), static_cast<unsigned>(size_bytes(from)) * 8);
  const unsigned width = static_cast<unsigned>(size_bytes(from)) * 8;
  llvm::Value* const bits = is_floating(from) ? b_.CreateShl(x, number(x->getType(), 1)) : x;  // the sign of a zero does not count
  return to_mask(b_.CreateICmpNE(bits, zero), width);
}

llvm::Value* Emitter::by_pieces(llvm::Value* x, unsigned lanes, const std::function<llvm::Value*(llvm::Value*)>& convert) {
  const unsigned count = lanes_of(x);
  if (count == lanes && x->getType()->isVectorTy()) return convert(x);
  if (!x->getType()->isVectorTy()) {
    llvm::Value* const none = llvm::PoisonValue::get(llvm::FixedVectorType::get(x->getType(), lanes));
    llvm::Value* const zeros = llvm::Constant::getNullValue(none->getType());
    return b_.CreateExtractElement(convert(b_.CreateInsertElement(zeros, x, std::uint64_t{0})), std::uint64_t{0});
  }
  if (count < lanes) {
    llvm::Value* const zeros = llvm::Constant::getNullValue(x->getType());
    llvm::SmallVector<int, 64> order = consecutive(0, count);
    order.resize(lanes, static_cast<int>(count));
    return b_.CreateShuffleVector(convert(b_.CreateShuffleVector(x, zeros, order)), consecutive(0, count));
  }
  llvm::Value* const low = by_pieces(b_.CreateShuffleVector(x, consecutive(0, count / 2)), lanes, convert);
  llvm::Value* const high = by_pieces(b_.CreateShuffleVector(x, consecutive(count / 2, count / 2)), lanes, convert);
  return b_.CreateShuffleVector(low, high, consecutive(0, count));
}

// LLVM's fptosi is undefined for what does not fit, so the instructions themselves are named: they give the lowest value.
llvm::Value* Emitter::float_to_integer(llvm::Value* x, DType to) {
  if (to == DType::I64) return float_to_i64(x);
  llvm::Value* const number = float_to_i32(x);
  return to == DType::I32 ? number : cast_integer(number, DType::I32, to);
}

llvm::Value* Emitter::float_to_i32(llvm::Value* x) {
  const bool is_double = x->getType()->getScalarType()->isDoubleTy();
  if (lanes_of(x) == 1) {
    const unsigned id = is_double ? llvm::Intrinsic::x86_sse2_cvttsd2si : llvm::Intrinsic::x86_sse_cvttss2si;
    llvm::Value* const zeros = llvm::Constant::getNullValue(llvm::FixedVectorType::get(x->getType(), is_double ? 2 : 4));
    return b_.CreateIntrinsic(id, {}, {b_.CreateInsertElement(zeros, x, std::uint64_t{0})});
  }
  const unsigned native = static_cast<unsigned>(target_.vector_bytes) / (is_double ? 8 : 4);
  const unsigned lanes = has_avx512() && lanes_of(x) >= native ? native : is_double || lanes_of(x) < 8 ? 4 : 8;
  return by_pieces(x, lanes, [&](llvm::Value* piece) -> llvm::Value* {
    if (lanes == 4 && !is_double) return b_.CreateIntrinsic(llvm::Intrinsic::x86_sse2_cvttps2dq, {}, {piece});
    if (!has_avx512() || lanes != native) {
      return b_.CreateIntrinsic(is_double ? llvm::Intrinsic::x86_avx_cvtt_pd2dq_256 : llvm::Intrinsic::x86_avx_cvtt_ps2dq_256, {}, {piece});
    }
    const unsigned id = is_double ? llvm::Intrinsic::x86_avx512_mask_cvttpd2dq_512 : llvm::Intrinsic::x86_avx512_mask_cvttps2dq_512;
    llvm::Value* const other = llvm::Constant::getNullValue(ints_like(piece, 32));
    return b_.CreateIntrinsic(id, {}, {piece, other, number(int_type(lanes), -1), b_.getInt32(kCurrentRounding)});
  });
}

llvm::Value* Emitter::float_to_i64(llvm::Value* x) {
  const bool is_double = x->getType()->getScalarType()->isDoubleTy();
  if (lanes_of(x) == 1) {
    const unsigned id = is_double ? llvm::Intrinsic::x86_sse2_cvttsd2si64 : llvm::Intrinsic::x86_sse_cvttss2si64;
    llvm::Value* const zeros = llvm::Constant::getNullValue(llvm::FixedVectorType::get(x->getType(), is_double ? 2 : 4));
    return b_.CreateIntrinsic(id, {}, {b_.CreateInsertElement(zeros, x, std::uint64_t{0})});
  }
  if (!has_avx512()) return double_to_i64_lanes(is_double ? x : b_.CreateFPExt(x, with_lanes_of(x, b_.getDoubleTy())));
  return by_pieces(x, 8, [&](llvm::Value* piece) -> llvm::Value* {
    const unsigned id = is_double ? llvm::Intrinsic::x86_avx512_mask_cvttpd2qq_512 : llvm::Intrinsic::x86_avx512_mask_cvttps2qq_512;
    llvm::Value* const other = llvm::Constant::getNullValue(ints_like(piece, 64));
    return b_.CreateIntrinsic(id, {}, {piece, other, b_.getInt8(0xff), b_.getInt32(kCurrentRounding)});
  });
}

// AVX2 has no such instruction. The whole number t is cut at bit 32 into high and low, both exact doubles; adding 1.5 * 2^52 (2^52 for the unsigned
// low part) leaves each as an integer in the low bits of the sum.
llvm::Value* Emitter::double_to_i64_lanes(llvm::Value* x) {
  llvm::Type* const doubles = x->getType();
  llvm::Type* const ints = ints_like(x, 64);
  llvm::Value* const whole = b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, x);
  llvm::Value* const high = b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFMul(whole, real(doubles, 0x1p-32)));
  llvm::Value* const low = b_.CreateIntrinsic(llvm::Intrinsic::fma, {doubles}, {high, real(doubles, -0x1p32), whole});
  llvm::Value* const high_bits = b_.CreateShl(b_.CreateBitCast(b_.CreateFAdd(high, real(doubles, 0x1.8p52)), ints), number(ints, 32));
  llvm::Value* const low_bits = b_.CreateAnd(b_.CreateBitCast(b_.CreateFAdd(low, real(doubles, 0x1p52)), ints), number(ints, 0xffffffff));
  llvm::Value* const not_low = b_.CreateFCmpOGE(whole, real(doubles, -0x1p63));
  llvm::Value* const not_high = b_.CreateFCmpOLT(whole, real(doubles, 0x1p63));
  llvm::Value* const fits = b_.CreateAnd(to_mask(not_low, 64), to_mask(not_high, 64));
  return choose(fits, b_.CreateOr(high_bits, low_bits), number(ints, INT64_MIN));
}

llvm::Value* Emitter::integer_to_float(llvm::Value* x, DType from, DType to) {
  llvm::Type* const type = with_lanes_of(x, lane_type(to));
  if (from != DType::I64) return b_.CreateSIToFP(cast_integer(x, from, DType::I32), type);
  if (has_avx512() || !x->getType()->isVectorTy()) return b_.CreateSIToFP(x, type);
  return to == DType::F64 ? i64_to_double(x) : i64_to_float(x);
}

// The halves of x become the low bits of 2^52 + low and of 2^84 + (high + 2^31) 2^32; taking off 2^84 + 2^63 + 2^52 is exact, the last sum rounds once.
llvm::Value* Emitter::i64_to_double(llvm::Value* x) {
  llvm::Type* const ints = x->getType();
  llvm::Type* const doubles = with_lanes_of(x, b_.getDoubleTy());
  llvm::Value* const low = b_.CreateOr(b_.CreateAnd(x, number(ints, 0xffffffff)), number(ints, 0x4330000000000000));
  llvm::Value* const high = b_.CreateXor(b_.CreateLShr(x, number(ints, 32)), number(ints, 0x4530000080000000));
  llvm::Value* const high_value = b_.CreateFSub(b_.CreateBitCast(high, doubles), real(doubles, 0x1.00000801p84));
  return b_.CreateFAdd(high_value, b_.CreateBitCast(low, doubles));
}

// Rounding to f64 and then to f32 would round twice. Beyond 2^53 the 11 low bits lie far below f32's last place: they become one sticky bit, and then
// the f64 is exact.
llvm::Value* Emitter::i64_to_float(llvm::Value* x) {
  llvm::Type* const ints = x->getType();
  llvm::Value* const carried = b_.CreateAdd(b_.CreateAnd(x, number(ints, 0x7ff)), number(ints, 0x7ff));
  llvm::Value* const sticky = b_.CreateAnd(b_.CreateOr(carried, x), number(ints, ~i64{0x7ff}));
  llvm::Value* const beyond = b_.CreateAnd(b_.CreateAdd(x, number(ints, i64{1} << 53)), number(ints, ~((i64{1} << 54) - 1)));
  llvm::Value* const fits = to_mask(b_.CreateICmpEQ(beyond, number(ints, 0)), 64);
  return b_.CreateFPTrunc(i64_to_double(choose(fits, x, sticky)), with_lanes_of(x, b_.getFloatTy()));
}

llvm::Value* Emitter::widen(llvm::Value* x, DType from) {
  llvm::Type* const floats = with_lanes_of(x, b_.getFloatTy());
  if (from == DType::F16) return b_.CreateFPExt(b_.CreateBitCast(x, with_lanes_of(x, b_.getHalfTy())), floats);
  if (from != DType::BF16) return float8_to_float(x, from);
  llvm::Type* const ints = ints_like(x, 32);
  return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(x, ints), number(ints, 16)), floats);
}

llvm::Value* Emitter::narrow(llvm::Value* x, DType to) {
  if (to == DType::F16) return float_to_half(x);
  return to == DType::BF16 ? float_to_bfloat(x) : float_to_float8(x, to);
}

llvm::Value* Emitter::float_to_half(llvm::Value* x) {
  if (lanes_of(x) == 16 && has_avx512()) {
    llvm::Value* const other = llvm::Constant::getNullValue(ints_like(x, 16));
    const unsigned id = llvm::Intrinsic::x86_avx512_mask_vcvtps2ph_512;
    return b_.CreateIntrinsic(id, {}, {x, b_.getInt32(kHalfRounding), other, b_.getInt16(0xffff)});
  }
  return by_pieces(x, 8, [&](llvm::Value* piece) -> llvm::Value* {
    return b_.CreateIntrinsic(llvm::Intrinsic::x86_vcvtps2ph_256, {}, {piece, b_.getInt32(kHalfRounding)});
  });
}

// Half of the last place, less one where it is even already, is added to the bits; a NaN keeps its sign and becomes quiet.
llvm::Value* Emitter::float_to_bfloat(llvm::Value* x) {
  llvm::Type* const ints = ints_like(x, 32);
  llvm::Value* const bits = b_.CreateBitCast(x, ints);
  llvm::Value* const top = b_.CreateLShr(bits, number(ints, 16));
  llvm::Value* const bias = b_.CreateAdd(b_.CreateAnd(top, number(ints, 1)), number(ints, 0x7fff));
  llvm::Value* const rounded = b_.CreateLShr(b_.CreateAdd(bits, bias), number(ints, 16));
  llvm::Value* const quiet = b_.CreateOr(b_.CreateAnd(top, number(ints, 0x8000)), number(ints, 0x7fc0));
  llvm::Value* const is_nan = to_mask(b_.CreateFCmpUNO(x, x), 32);
  return b_.CreateTrunc(choose(is_nan, quiet, rounded), ints_like(x, 16));
}

}  // namespace resilin::codegen
