// src/resilin/codegen/llvm/emit.cpp -- the function of a phase, and the instructions that make and rearrange vectors.
#include "resilin/codegen/llvm/emit.h"

#include <algorithm>

namespace resilin::codegen {
namespace {

constexpr unsigned kPointerBits = 64;
constexpr unsigned kMaxLanes = 64;

bool is_elementwise(Operation operation) { return operation <= Operation::Select; }
bool makes_vector(Operation operation) { return operation >= Operation::Constant && operation <= Operation::ExtractLane; }
bool is_memory(Operation operation) { return operation >= Operation::Load && operation <= Operation::Prefetch; }

/// Element sizes that decide how many lanes share a register.
struct Widths {
  i64 largest = 1;
  i64 smallest = 8;
  void see(i64 bytes) {
    largest = std::max(largest, bytes);
    smallest = std::min(smallest, bytes);
  }
};

}  // namespace

Emitter::Emitter(llvm::Module& module, const ProgramView& program, const TargetView& target)
    : module_(module), context_(module.getContext()), program_(program), target_(target), b_(context_) {}

llvm::Value* Emitter::fail(const std::string& what) {
  if (error_.empty()) error_ = what;
  return llvm::PoisonValue::get(b_.getInt64Ty());
}

// Lanes of a register are counted by the 4-byte values of a phase; only phases without any (bytes, i16, or all of 8 bytes) get more or fewer.
// Conversions and divisions of narrow values pass through 4-byte ones.
void Emitter::choose_part_lanes(const PhaseView& phase) {
  Widths widths;
  for (i64 i = 0; i < phase.code_count; ++i) {
    const Instruction& in = phase.code[i];
    if (in.lanes == 1 || in.is_pointer) continue;
    if (in.type != DType::Bool) widths.see(size_bytes(in.type));
    const bool narrow_moves = in.operation == Operation::Select || in.operation > Operation::Select;
    if (compute_dtype(in.type) != in.type && !narrow_moves) widths.see(4);
    if (in.operation == Operation::Cast || in.operation == Operation::DivInt || in.operation == Operation::ModInt) widths.see(4);
    if (in.operation == Operation::Gather || in.operation == Operation::Scatter || in.operation == Operation::Report) widths.see(8);
  }
  const i64 width = widths.largest <= 4 ? widths.largest : widths.smallest == 8 ? 8 : 4;
  part_lanes_ = static_cast<unsigned>(target_.vector_bytes / width);
}

void Emitter::begin_function(i64 index) {
  llvm::Type* const pointer = b_.getPtrTy();
  llvm::FunctionType* const type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, b_.getInt64Ty(), b_.getInt64Ty(), pointer}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "phase" + std::to_string(index), module_);
  function_->setDoesNotThrow();
  function_->addFnAttr("target-features", target_.features);
  function_->addFnAttr("tune-cpu", target_.tune);
  function_->addFnAttr("no-builtins");
  function_->addFnAttr("min-legal-vector-width", std::to_string(target_.vector_bytes * 8));
  b_.SetInsertPoint(new_block("entry"));
}

bool Emitter::emit_phase(i64 index) {
  phase_ = &program_.phases[index];
  const std::size_t count = static_cast<std::size_t>(phase_->code_count);
  values_.assign(count, {});
  loops_.clear();
  loop_of_.assign(count, SIZE_MAX);
  if_exits_.assign(count, nullptr);
  buffers_.clear();
  choose_part_lanes(*phase_);
  begin_function(index);
  for (std::size_t i = 0; i < count && error_.empty(); ++i) emit(i);
  if (!error_.empty()) return false;
  b_.CreateRet(b_.getInt32(0));
  return true;
}

void Emitter::emit(std::size_t position) {
  const Instruction& in = phase_->code[position];
  for (const std::int32_t index : {in.a, in.b, in.c, in.d, in.e}) {
    if (index < -1 || index >= static_cast<std::int32_t>(position)) fail("an operand is not an earlier instruction");
  }
  if (in.lanes == 0 || in.lanes > kMaxLanes || (in.lanes & (in.lanes - 1)) != 0) fail("the lanes are not a power of two up to 64");
  if (is_complex(in.type)) fail("complex elements do not exist in a program");
  if (error_.empty()) {
    Value& result = values_[position];
    if (is_elementwise(in.operation)) {
      result = arithmetic(in);
    } else if (makes_vector(in.operation)) {
      result = make_vector(in);
    } else if (is_memory(in.operation)) {
      emit_memory(in, result);
    } else {
      emit_control(in, position, result);
    }
    result.type = in.type;
    result.lanes = in.lanes;
    result.is_pointer = in.is_pointer;
  }
  if (!error_.empty()) error_ += " (instruction " + std::to_string(position) + ")";
}

Value Emitter::make_vector(const Instruction& in) {
  switch (in.operation) {
    case Operation::Constant: return constant(in);
    case Operation::Iota: return iota(in);
    case Operation::Splat: return splat(scalar(in.a), in.type, in.lanes);
    case Operation::Half: return half(in);
    case Operation::ShiftLanes: return shift_lanes(in);
    default: return one(extract_lane(operand(in.a), static_cast<unsigned>(in.immediate)), in.type);
  }
}

const Value& Emitter::operand(std::int32_t index) {
  if (index >= 0 && !values_[static_cast<std::size_t>(index)].parts.empty()) return values_[static_cast<std::size_t>(index)];
  fail("an operand is missing or has no value");
  static thread_local Value poison;
  poison = one(llvm::PoisonValue::get(b_.getInt64Ty()), DType::I64);
  return poison;
}

Value Emitter::one(llvm::Value* part, DType type) {
  Value value;
  value.parts.push_back(part);
  value.type = type;
  return value;
}

Value Emitter::zero(DType type, unsigned lanes) {
  Value value;
  value.parts.assign(part_count(lanes), llvm::Constant::getNullValue(part_type(type, part_lanes(lanes))));
  value.type = type;
  value.lanes = lanes;
  return value;
}

llvm::Type* Emitter::lane_type(DType type) {
  if (type == DType::F32) return b_.getFloatTy();
  if (type == DType::F64) return b_.getDoubleTy();
  if (type == DType::Bool) return b_.getInt1Ty();
  return int_type(static_cast<unsigned>(size_bytes(type)) * 8);
}

llvm::Type* Emitter::part_type(DType type, unsigned lanes) {
  if (lanes == 1) return lane_type(type);
  if (type == DType::Bool && !has_avx512()) return llvm::FixedVectorType::get(int_type(natural_mask_bits()), lanes);
  return llvm::FixedVectorType::get(lane_type(type), lanes);
}

llvm::Type* Emitter::with_lanes_of(llvm::Value* like, llvm::Type* lane) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return vector == nullptr ? lane : llvm::FixedVectorType::get(lane, vector->getNumElements());
}

llvm::Value* Emitter::number(llvm::Type* type, i64 value) { return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(value), true); }
llvm::Value* Emitter::real(llvm::Type* type, double value) { return llvm::ConstantFP::get(type, value); }

Value Emitter::constant(const Instruction& in) {
  llvm::Type* const type = part_type(in.type, part_lanes(in.lanes));
  const std::uint64_t bits = static_cast<std::uint64_t>(in.immediate);
  llvm::Constant* part = nullptr;
  if (in.is_pointer) {
    return one(fail("a pointer has no constants"), in.type);
  } else if (in.type == DType::Bool) {
    part = bits != 0 ? llvm::Constant::getAllOnesValue(type) : llvm::Constant::getNullValue(type);
  } else if (in.type == DType::F32) {
    part = llvm::ConstantFP::get(type, llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits & 0xffffffffu)));
  } else if (in.type == DType::F64) {
    part = llvm::ConstantFP::get(type, llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)));
  } else {
    part = llvm::ConstantInt::get(type, llvm::APInt(64, bits).trunc(type->getScalarSizeInBits()));
  }
  Value value;
  value.parts.assign(part_count(in.lanes), part);
  return value;
}

Value Emitter::iota(const Instruction& in) {
  if (in.type != DType::I64 && in.type != DType::I32) return one(fail("iota is made as i64 or i32"), in.type);
  Value value;
  const unsigned lanes = part_lanes(in.lanes);
  for (unsigned part = 0; part < part_count(in.lanes); ++part) {
    llvm::SmallVector<llvm::Constant*, 64> numbers;
    for (unsigned l = 0; l < lanes; ++l) numbers.push_back(llvm::ConstantInt::get(lane_type(in.type), part * lanes + l));
    value.parts.push_back(lanes == 1 ? numbers[0] : llvm::ConstantVector::get(numbers));
  }
  return value;
}

Value Emitter::splat(llvm::Value* scalar, DType type, unsigned lanes) {
  if (scalar->getType()->isVectorTy()) return one(fail("only a scalar can be splat"), type);
  llvm::Value* part = scalar;
  if (lanes > 1) {
    if (type == DType::Bool && !has_avx512()) part = b_.CreateSExt(part, int_type(natural_mask_bits()));
    part = splat_part(part, part_lanes(lanes));
  }
  Value value;
  value.parts.assign(part_count(lanes), part);
  return value;
}

Value Emitter::half(const Instruction& in) {
  const Value& source = operand(in.a);
  if (source.lanes != 2u * in.lanes || (in.immediate != 0 && in.immediate != 1)) return one(fail("half needs twice the lanes"), in.type);
  const unsigned count = static_cast<unsigned>(source.parts.size());
  Value value;
  if (count > 1) {
    const unsigned first = in.immediate != 0 ? count / 2 : 0;
    value.parts.append(source.parts.begin() + first, source.parts.begin() + first + count / 2);
    return value;
  }
  const unsigned first = in.immediate != 0 ? in.lanes : 0;
  if (in.lanes == 1) return one(extract_lane(source, first), in.type);
  llvm::SmallVector<int, 64> lanes;
  for (unsigned l = 0; l < in.lanes; ++l) lanes.push_back(static_cast<int>(first + l));
  return one(b_.CreateShuffleVector(source.only(), lanes), in.type);
}

Value Emitter::shift_lanes(const Instruction& in) {
  const Value& a = operand(in.a);
  const Value& b = operand(in.b);
  if (a.lanes != in.lanes || b.lanes != in.lanes || in.immediate < 0 || in.immediate > in.lanes) {
    return one(fail("shift_lanes needs equal lanes and a shift within them"), in.type);
  }
  const unsigned lanes = part_lanes(in.lanes);
  const unsigned parts = static_cast<unsigned>(in.immediate) / lanes;
  const unsigned rest = static_cast<unsigned>(in.immediate) % lanes;
  llvm::SmallVector<int, 64> order;
  for (unsigned l = 0; l < lanes; ++l) order.push_back(static_cast<int>(l < rest ? l : lanes + l - rest));
  Value value;
  for (unsigned p = 0; p < a.parts.size(); ++p) {
    if (p < parts) {
      value.parts.push_back(b.parts[p]);
    } else if (rest == 0) {
      value.parts.push_back(a.parts[p - parts]);
    } else {
      // The first `rest` lanes come from b in the part where a begins, else from the end of a's part before.
      llvm::SmallVector<int, 64> lane_order = order;
      const bool begins = p == parts;
      for (unsigned l = 0; l < rest && !begins; ++l) lane_order[l] = static_cast<int>(lanes - rest + l);
      const auto [left, right] = same_width(begins ? b.parts[p] : a.parts[p - parts - 1], a.parts[p - parts]);
      value.parts.push_back(b_.CreateShuffleVector(left, right, lane_order));
    }
  }
  return value;
}

llvm::Value* Emitter::extract_lane(const Value& vector, unsigned lane) {
  if (lane >= vector.lanes) return fail("a lane outside the vector");
  if (vector.lanes == 1) return vector.only();
  const unsigned lanes = part_lanes(vector.lanes);
  llvm::Value* const part = b_.CreateExtractElement(vector.parts[lane / lanes], lane % lanes);
  if (vector.type != DType::Bool || part->getType()->isIntegerTy(1)) return part;
  return b_.CreateICmpNE(part, number(part->getType(), 0));
}

llvm::Value* Emitter::join(const Value& value) {
  llvm::SmallVector<llvm::Value*, 8> parts = value.parts;
  while (parts.size() > 1) {
    llvm::SmallVector<int, 64> lanes;
    const unsigned count = 2 * llvm::cast<llvm::FixedVectorType>(parts[0]->getType())->getNumElements();
    for (unsigned l = 0; l < count; ++l) lanes.push_back(static_cast<int>(l));
    for (std::size_t i = 0; 2 * i < parts.size(); ++i) parts[i] = b_.CreateShuffleVector(parts[2 * i], parts[2 * i + 1], lanes);
    parts.resize(parts.size() / 2);
  }
  return parts[0];
}

bool Emitter::is_wide_mask(llvm::Value* part) const { return part->getType()->isVectorTy() && part->getType()->getScalarSizeInBits() > 1; }

llvm::Value* Emitter::to_mask(llvm::Value* bits, unsigned width) {
  if (has_avx512() || !bits->getType()->isVectorTy()) return bits;
  return b_.CreateSExt(bits, ints_like(bits, width));
}

llvm::Value* Emitter::condition(llvm::Value* mask) {
  return is_wide_mask(mask) ? b_.CreateICmpSLT(mask, llvm::Constant::getNullValue(mask->getType())) : mask;
}

llvm::Value* Emitter::resize_mask(llvm::Value* mask, unsigned width) {
  if (!is_wide_mask(mask) || mask->getType()->getScalarSizeInBits() == width) return mask;
  return b_.CreateSExtOrTrunc(mask, ints_like(mask, width));
}

std::pair<llvm::Value*, llvm::Value*> Emitter::same_width(llvm::Value* a, llvm::Value* b) {
  if (a->getType() == b->getType() || !is_wide_mask(a) || !is_wide_mask(b)) return {a, b};
  return {a, resize_mask(b, a->getType()->getScalarSizeInBits())};
}

llvm::Value* Emitter::choose(llvm::Value* mask, llvm::Value* yes, llvm::Value* no) {
  const unsigned width = yes->getType()->isPointerTy() ? kPointerBits : yes->getType()->getScalarSizeInBits();
  return b_.CreateSelect(condition(resize_mask(mask, width)), yes, no);
}

llvm::Value* Emitter::choose_mask(llvm::Value* mask, llvm::Value* yes, llvm::Value* no) {
  if (!is_wide_mask(mask)) return b_.CreateSelect(mask, yes, no);
  llvm::Value* const wide_yes = same_width(mask, yes).second;
  llvm::Value* const wide_no = same_width(mask, no).second;
  return b_.CreateOr(b_.CreateAnd(mask, wide_yes), b_.CreateAnd(b_.CreateNot(mask), wide_no));
}

}  // namespace resilin::codegen
