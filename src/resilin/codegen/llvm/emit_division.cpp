// src/resilin/codegen/llvm/emit_division.cpp -- integer division and remainder that never trap.
#include "resilin/codegen/llvm/emit.h"

namespace resilin::codegen {

// A zero divisor gives 0, lowest / -1 wraps. x86 traps on both, so such lanes divide by 1, which is right for the second.
llvm::Value* Emitter::divide(Operation operation, DType type, llvm::Value* x, llvm::Value* y) {
  const unsigned width = static_cast<unsigned>(size_bytes(type)) * 8;
  llvm::Type* const ints = x->getType();
  llvm::Value* const zero = to_mask(b_.CreateICmpEQ(y, number(ints, 0)), width);
  llvm::Value* bad = zero;
  if (type != DType::U8) {
    llvm::Value* const lowest = to_mask(b_.CreateICmpEQ(x, number(ints, static_cast<i64>(~std::uint64_t{0} << (width - 1)))), width);
    bad = b_.CreateOr(bad, b_.CreateAnd(lowest, to_mask(b_.CreateICmpEQ(y, number(ints, -1)), width)));
  }
  llvm::Value* const divisor = choose(bad, number(ints, 1), y);
  llvm::Value* result = nullptr;
  if (type == DType::I64 && ints->isVectorTy()) {
    result = divide_lanes(operation, x, divisor);
  } else {
    result = quotient(type, x, divisor);
    if (operation == Operation::ModInt) result = b_.CreateSub(x, b_.CreateMul(result, divisor));
  }
  return choose(zero, number(ints, 0), result);
}

// There is no vector division of integers. A quotient of integers that a float holds exactly never rounds across a whole number, since the nearest one
// is 1/|y| away and the error is less: f32 serves up to 16 bits, f64 serves 32.
llvm::Value* Emitter::quotient(DType type, llvm::Value* x, llvm::Value* y) {
  if (!x->getType()->isVectorTy()) return type == DType::U8 ? b_.CreateUDiv(x, y) : b_.CreateSDiv(x, y);
  llvm::Type* const floats = with_lanes_of(x, type == DType::I32 ? b_.getDoubleTy() : b_.getFloatTy());
  const auto number_of = [&](llvm::Value* v) { return b_.CreateSIToFP(cast_integer(v, type, DType::I32), floats); };
  return cast_integer(float_to_i32(b_.CreateFDiv(number_of(x), number_of(y))), DType::I32, type);
}

llvm::Value* Emitter::divide_lanes(Operation operation, llvm::Value* x, llvm::Value* y) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  llvm::Value* const left = buffer(b_.getInt64Ty(), lanes, 0);
  llvm::Value* const right = buffer(b_.getInt64Ty(), lanes, 1);
  b_.CreateAlignedStore(x, left, llvm::Align(64));
  b_.CreateAlignedStore(y, right, llvm::Align(64));
  for_lanes(b_.getInt64(lanes), [&](llvm::Value* lane) {
    llvm::Value* const slot = lane_pointer(left, b_.getInt64Ty(), lane);
    llvm::Value* const a = b_.CreateLoad(b_.getInt64Ty(), slot);
    llvm::Value* const b = b_.CreateLoad(b_.getInt64Ty(), lane_pointer(right, b_.getInt64Ty(), lane));
    b_.CreateStore(operation == Operation::DivInt ? b_.CreateSDiv(a, b) : b_.CreateSRem(a, b), slot);
  });
  return b_.CreateAlignedLoad(x->getType(), left, llvm::Align(64));
}

}  // namespace resilin::codegen
