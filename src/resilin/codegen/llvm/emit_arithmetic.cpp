// src/resilin/codegen/llvm/emit_arithmetic.cpp -- elementwise instructions with the semantics of loop::Code.
#include <llvm/IR/Intrinsics.h>

#include "resilin/codegen/llvm/emit.h"

namespace resilin::codegen {
namespace {

bool is_comparison(Operation operation) { return operation >= Operation::Eq && operation <= Operation::Ge; }

/// Bool and U8 order as unsigned numbers.
bool is_unsigned(DType type) { return type == DType::U8 || type == DType::Bool; }

llvm::CmpInst::Predicate integer_predicate(Operation operation, bool is_unsigned) {
  switch (operation) {
    case Operation::Eq: return llvm::CmpInst::ICMP_EQ;
    case Operation::Ne: return llvm::CmpInst::ICMP_NE;
    case Operation::Lt: return is_unsigned ? llvm::CmpInst::ICMP_ULT : llvm::CmpInst::ICMP_SLT;
    case Operation::Le: return is_unsigned ? llvm::CmpInst::ICMP_ULE : llvm::CmpInst::ICMP_SLE;
    case Operation::Gt: return is_unsigned ? llvm::CmpInst::ICMP_UGT : llvm::CmpInst::ICMP_SGT;
    default: return is_unsigned ? llvm::CmpInst::ICMP_UGE : llvm::CmpInst::ICMP_SGE;
  }
}

/// False with NaN, except Ne.
llvm::CmpInst::Predicate float_predicate(Operation operation) {
  switch (operation) {
    case Operation::Eq: return llvm::CmpInst::FCMP_OEQ;
    case Operation::Ne: return llvm::CmpInst::FCMP_UNE;
    case Operation::Lt: return llvm::CmpInst::FCMP_OLT;
    case Operation::Le: return llvm::CmpInst::FCMP_OLE;
    case Operation::Gt: return llvm::CmpInst::FCMP_OGT;
    default: return llvm::CmpInst::FCMP_OGE;
  }
}

}  // namespace

Value Emitter::arithmetic(const Instruction& in) {
  if (in.operation == Operation::Select) return select(in);
  const Value& a = operand(in.a);
  const bool has_b = in.operation >= Operation::Add;
  const bool has_c = in.operation == Operation::Fma;
  const Value& b = has_b ? operand(in.b) : a;
  const Value& c = has_c ? operand(in.c) : a;
  if (a.lanes != in.lanes || b.lanes != in.lanes || c.lanes != in.lanes) return one(fail("operands and result differ in lanes"), in.type);
  if (a.type != b.type || a.type != c.type) return one(fail("operands differ in dtype"), in.type);
  Value result;
  for (std::size_t p = 0; p < a.parts.size(); ++p) {
    if (in.operation == Operation::Cast) {
      result.parts.push_back(cast(a.parts[p], a.type, in.type));
    } else if (in.operation == Operation::Bitcast) {
      result.parts.push_back(b_.CreateBitCast(a.parts[p], with_lanes_of(a.parts[p], lane_type(in.type))));
    } else if (is_comparison(in.operation)) {
      result.parts.push_back(compare(in.operation, a.type, a.parts[p], b.parts[p]));
    } else if (has_c) {
      if (a.type != DType::F32 && a.type != DType::F64) return one(fail("fma is for f32 and f64"), in.type);
      result.parts.push_back(b_.CreateIntrinsic(llvm::Intrinsic::fma, {a.parts[p]->getType()}, {a.parts[p], b.parts[p], c.parts[p]}));
    } else if (has_b) {
      result.parts.push_back(binary(in, a.type, a.parts[p], b.parts[p]));
    } else {
      result.parts.push_back(unary(in, a.parts[p]));
    }
  }
  return result;
}

llvm::Value* Emitter::unary(const Instruction& in, llvm::Value* x) {
  const DType type = in.type;
  if (is_small_float(type)) {
    Instruction wide = in;
    wide.type = DType::F32;
    return narrow(unary(wide, widen(x, type)), type);
  }
  const bool is_float = is_floating(type);
  const auto intrinsic = [&](llvm::Intrinsic::ID id) { return b_.CreateUnaryIntrinsic(id, x); };
  switch (in.operation) {
    case Operation::Neg: return is_float ? b_.CreateFNeg(x) : type == DType::Bool ? x : b_.CreateNeg(x);
    case Operation::Abs:
      if (is_float) return intrinsic(llvm::Intrinsic::fabs);
      return is_unsigned(type) ? x : b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b_.getFalse());
    case Operation::Not: return is_float ? fail("not is for integers and bool") : b_.CreateNot(x);
    case Operation::Sqrt: return is_float ? intrinsic(llvm::Intrinsic::sqrt) : fail("sqrt is for floats");
    case Operation::Floor: return is_float ? intrinsic(llvm::Intrinsic::floor) : x;
    case Operation::Ceil: return is_float ? intrinsic(llvm::Intrinsic::ceil) : x;
    case Operation::Trunc: return is_float ? intrinsic(llvm::Intrinsic::trunc) : x;
    case Operation::RoundEven: return is_float ? intrinsic(llvm::Intrinsic::roundeven) : x;
    default: return fail("not an operation of one operand");
  }
}

llvm::Value* Emitter::binary(const Instruction& in, DType type, llvm::Value* x, llvm::Value* y) {
  if (is_small_float(type)) return narrow(binary_float(in.operation, widen(x, type), widen(y, type)), type);
  if (is_floating(type)) return binary_float(in.operation, x, y);
  if (type == DType::Bool) return binary_mask(in.operation, x, y);
  return binary_integer(in, type, x, y);
}

llvm::Value* Emitter::binary_float(Operation operation, llvm::Value* x, llvm::Value* y) {
  switch (operation) {
    case Operation::Add: return b_.CreateFAdd(x, y);
    case Operation::Sub: return b_.CreateFSub(x, y);
    case Operation::Mul: return b_.CreateFMul(x, y);
    case Operation::Div: return b_.CreateFDiv(x, y);
    case Operation::Min: return minimum(x, y);
    case Operation::Max: return maximum(x, y);
    default: return fail("not an operation of floats");
  }
}

llvm::Value* Emitter::binary_integer(const Instruction& in, DType type, llvm::Value* x, llvm::Value* y) {
  switch (in.operation) {
    case Operation::Add: return b_.CreateAdd(x, y);
    case Operation::Sub: return b_.CreateSub(x, y);
    case Operation::Mul: return b_.CreateMul(x, y);
    case Operation::DivInt:
    case Operation::ModInt: return divide(in.operation, type, x, y);
    case Operation::Min: return b_.CreateBinaryIntrinsic(is_unsigned(type) ? llvm::Intrinsic::umin : llvm::Intrinsic::smin, x, y);
    case Operation::Max: return b_.CreateBinaryIntrinsic(is_unsigned(type) ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, x, y);
    case Operation::And: return b_.CreateAnd(x, y);
    case Operation::Or: return b_.CreateOr(x, y);
    case Operation::Xor: return b_.CreateXor(x, y);
    case Operation::ShiftLeft:
    case Operation::ShiftRight:
    case Operation::ShiftRightLogical: return shift(in.operation, type, x, y);
    case Operation::MulHigh32: return type == DType::I32 ? multiply_high(x, y) : fail("mul_high32 is for i32");
    default: return fail("not an operation of integers");
  }
}

llvm::Value* Emitter::binary_mask(Operation operation, llvm::Value* x, llvm::Value* y) {
  const auto [a, b] = same_width(x, y);
  switch (operation) {
    case Operation::And:
    case Operation::Mul:
    case Operation::Min: return b_.CreateAnd(a, b);
    case Operation::Or:
    case Operation::Max: return b_.CreateOr(a, b);
    case Operation::Xor: return b_.CreateXor(a, b);
    default: return fail("not an operation of bool");
  }
}

// x86's min(a, b) is a < b ? a : b, so it gives b for NaN and for two zeros. Of both orders, one has the NaN, and the sign bits joined by `or` give -0.
llvm::Value* Emitter::minimum(llvm::Value* x, llvm::Value* y) {
  llvm::Type* const bits = ints_like(x, x->getType()->getScalarSizeInBits());
  llvm::Value* const forward = b_.CreateBitCast(b_.CreateSelect(b_.CreateFCmpOLT(x, y), x, y), bits);
  llvm::Value* const backward = b_.CreateBitCast(b_.CreateSelect(b_.CreateFCmpOLT(y, x), y, x), bits);
  return b_.CreateBitCast(b_.CreateOr(forward, backward), x->getType());
}

// As above with `and`, which gives +0 but may turn a NaN into a number: where the operands do not compare, all bits are set.
llvm::Value* Emitter::maximum(llvm::Value* x, llvm::Value* y) {
  llvm::Type* const bits = ints_like(x, x->getType()->getScalarSizeInBits());
  llvm::Value* const forward = b_.CreateBitCast(b_.CreateSelect(b_.CreateFCmpOGT(x, y), x, y), bits);
  llvm::Value* const backward = b_.CreateBitCast(b_.CreateSelect(b_.CreateFCmpOGT(y, x), y, x), bits);
  llvm::Value* const unordered = b_.CreateSExt(b_.CreateFCmpUNO(x, y), bits);
  return b_.CreateBitCast(b_.CreateOr(b_.CreateAnd(forward, backward), unordered), x->getType());
}

llvm::Value* Emitter::shift(Operation operation, DType type, llvm::Value* x, llvm::Value* y) {
  llvm::Value* const count = b_.CreateAnd(y, number(y->getType(), size_bytes(type) * 8 - 1));
  if (operation == Operation::ShiftLeft) return b_.CreateShl(x, count);
  if (operation == Operation::ShiftRightLogical || is_unsigned(type)) return b_.CreateLShr(x, count);
  return b_.CreateAShr(x, count);
}

llvm::Value* Emitter::multiply_high(llvm::Value* x, llvm::Value* y) {
  llvm::Type* const wide = ints_like(x, 64);
  llvm::Value* const product = b_.CreateMul(b_.CreateZExt(x, wide), b_.CreateZExt(y, wide));
  return b_.CreateTrunc(b_.CreateLShr(product, number(wide, 32)), x->getType());
}

llvm::Value* Emitter::compare(Operation operation, DType type, llvm::Value* x, llvm::Value* y) {
  if (is_small_float(type)) return compare(operation, DType::F32, widen(x, type), widen(y, type));
  const unsigned width = static_cast<unsigned>(size_bytes(type)) * 8;
  if (is_floating(type)) return to_mask(b_.CreateFCmp(float_predicate(operation), x, y), width);
  if (type != DType::Bool) return to_mask(b_.CreateICmp(integer_predicate(operation, is_unsigned(type)), x, y), width);
  const auto [a, b] = same_width(x, y);
  switch (operation) {
    case Operation::Eq: return b_.CreateNot(b_.CreateXor(a, b));
    case Operation::Ne: return b_.CreateXor(a, b);
    case Operation::Lt: return b_.CreateAnd(b_.CreateNot(a), b);
    case Operation::Le: return b_.CreateOr(b_.CreateNot(a), b);
    case Operation::Gt: return b_.CreateAnd(a, b_.CreateNot(b));
    default: return b_.CreateOr(a, b_.CreateNot(b));
  }
}

Value Emitter::select(const Instruction& in) {
  const Value& mask = operand(in.a);
  const Value& yes = operand(in.b);
  const Value& no = operand(in.c);
  if (mask.type != DType::Bool || yes.type != no.type || mask.lanes != in.lanes || yes.lanes != in.lanes || no.lanes != in.lanes) {
    return one(fail("select needs a bool and two values of one dtype, all of the same lanes"), in.type);
  }
  Value result;
  for (std::size_t p = 0; p < yes.parts.size(); ++p) {
    const bool of_masks = yes.type == DType::Bool && !yes.is_pointer;
    result.parts.push_back(of_masks ? choose_mask(mask.parts[p], yes.parts[p], no.parts[p])
                                    : choose(mask.parts[p], yes.parts[p], no.parts[p]));
  }
  return result;
}

}  // namespace resilin::codegen
