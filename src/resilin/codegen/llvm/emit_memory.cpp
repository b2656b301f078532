// src/resilin/codegen/llvm/emit_memory.cpp -- loads and stores of consecutive elements; lanes that are off touch no memory.
#include "resilin/codegen/llvm/emit.h"

namespace resilin::codegen {

void Emitter::emit_memory(const Instruction& in, Value& result) {
  if (!operand(in.a).is_pointer) fail("memory is reached through a pointer");
  if (!error_.empty()) return;
  switch (in.operation) {
    case Operation::Load: result = load(in); return;
    case Operation::Store: return store(in);
    case Operation::LoadStrided: result = load_strided(in); return;
    case Operation::StoreStrided: return store_strided(in);
    case Operation::Gather: result = gather(in); return;
    case Operation::Prefetch: return prefetch(in);
    default: return scatter(in);
  }
}

llvm::Type* Emitter::memory_type(DType type, unsigned lanes) {
  llvm::Type* const lane = type == DType::Bool ? b_.getInt8Ty() : lane_type(type);
  return lanes == 1 ? lane : llvm::FixedVectorType::get(lane, lanes);
}

llvm::Value* Emitter::to_memory(llvm::Value* value, DType type) {
  if (type != DType::Bool) return value;
  llvm::Type* const bytes = ints_like(value, 8);
  if (!is_wide_mask(value)) return b_.CreateZExt(value, bytes);
  return b_.CreateAnd(resize_mask(value, 8), number(bytes, 1));
}

llvm::Value* Emitter::from_memory(llvm::Value* value, DType type) {
  if (type != DType::Bool) return value;
  return to_mask(b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType())), natural_mask_bits());
}

llvm::Value* Emitter::element_address(std::int32_t pointer, std::int32_t element, DType type) {
  return b_.CreateInBoundsGEP(memory_type(type, 1), scalar(pointer), scalar(element));
}

llvm::Value* Emitter::clamp_count(llvm::Value* count, unsigned lanes) {
  llvm::Value* const positive = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, b_.getInt64(0));
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, positive, b_.getInt64(lanes));
}

llvm::Value* Emitter::lane_mask(llvm::Value* count, unsigned first, unsigned lanes, unsigned bits) {
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (unsigned l = 0; l < lanes; ++l) numbers.push_back(llvm::ConstantInt::get(int_type(bits), first + l));
  llvm::Value* const limit = splat_part(b_.CreateZExtOrTrunc(count, int_type(bits)), lanes);
  return b_.CreateICmpSGT(limit, llvm::ConstantVector::get(numbers));
}

llvm::Value* Emitter::buffer(llvm::Type* lane, unsigned lanes, unsigned slot) {
  const std::uint64_t bytes = std::uint64_t{lanes} * lane->getScalarSizeInBits() / 8;
  llvm::AllocaInst*& memory = buffers_[slot];
  if (memory == nullptr || memory->getAllocatedType()->getArrayNumElements() < bytes) {
    Builder entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    memory = entry.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), std::max<std::uint64_t>(bytes, 512)));
    memory->setAlignment(llvm::Align(64));
  }
  return memory;
}

void Emitter::for_lanes(llvm::Value* count, const std::function<void(llvm::Value*)>& body) {
  llvm::BasicBlock* const before = b_.GetInsertBlock();
  llvm::BasicBlock* const loop = new_block("lane");
  llvm::BasicBlock* const after = new_block("lanes_done");
  b_.CreateCondBr(b_.CreateICmpSGT(count, b_.getInt64(0)), loop, after);
  b_.SetInsertPoint(loop);
  llvm::PHINode* const lane = b_.CreatePHI(b_.getInt64Ty(), 2);
  lane->addIncoming(b_.getInt64(0), before);
  body(lane);
  llvm::Value* const next = b_.CreateAdd(lane, b_.getInt64(1));
  lane->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, count), loop, after);
  b_.SetInsertPoint(after);
}

void Emitter::spill(const Value& value, llvm::Value* into) {
  const unsigned lanes = part_lanes(value.lanes);
  for (std::size_t p = 0; p < value.parts.size(); ++p) {
    llvm::Value* const address = b_.CreateConstInBoundsGEP1_64(memory_type(value.type, 1), into, p * lanes);
    b_.CreateAlignedStore(to_memory(value.parts[p], value.type), address, llvm::Align(static_cast<std::uint64_t>(size_bytes(value.type))));
  }
}

Value Emitter::load(const Instruction& in) {
  llvm::Value* const address = element_address(in.a, in.b, in.type);
  if (in.c < 0) return load_whole(address, in.type, in.lanes);
  return load_counted(address, scalar(in.c), in.type, in.lanes);
}

Value Emitter::load_whole(llvm::Value* address, DType type, unsigned lanes) {
  Value value;
  const unsigned count = part_lanes(lanes);
  const llvm::Align align(static_cast<std::uint64_t>(size_bytes(type)));
  for (unsigned p = 0; p < part_count(lanes); ++p) {
    llvm::Value* const place = b_.CreateConstInBoundsGEP1_64(memory_type(type, 1), address, p * count);
    value.parts.push_back(from_memory(b_.CreateAlignedLoad(memory_type(type, count), place, align), type));
  }
  return value;
}

// AVX2 masks loads of 4 and 8 bytes only; smaller elements are copied one by one into a cleared buffer on the stack.
Value Emitter::load_counted(llvm::Value* address, llvm::Value* count, DType type, unsigned lanes) {
  llvm::Value* const limit = clamp_count(count, lanes);
  llvm::Type* const lane = memory_type(type, 1);
  const unsigned bytes = static_cast<unsigned>(size_bytes(type));
  if (lanes == 1 || (bytes < 4 && !has_avx512())) {
    llvm::Value* const copy = buffer(lane, lanes, 0);
    b_.CreateAlignedStore(llvm::Constant::getNullValue(memory_type(type, lanes)), copy, llvm::Align(64));
    for_lanes(limit,
              [&](llvm::Value* l) { b_.CreateStore(b_.CreateLoad(lane, lane_pointer(address, lane, l)), lane_pointer(copy, lane, l)); });
    return load_whole(copy, type, lanes);
  }
  Value value;
  const unsigned width = part_lanes(lanes);
  for (unsigned p = 0; p < part_count(lanes); ++p) {
    llvm::Value* const place = b_.CreateConstInBoundsGEP1_64(lane, address, p * width);
    llvm::Value* const mask = lane_mask(limit, p * width, width, count_bits(bytes));
    llvm::Type* const whole = memory_type(type, width);
    llvm::Value* const part = b_.CreateMaskedLoad(whole, place, llvm::Align(bytes), mask, llvm::Constant::getNullValue(whole));
    value.parts.push_back(from_memory(part, type));
  }
  return value;
}

void Emitter::prefetch(const Instruction& in) {
  constexpr unsigned kRead = 0, kAllCaches = 3, kData = 1;
  llvm::Value* const address = element_address(in.a, in.b, in.type);
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {address->getType()},
                     {address, b_.getInt32(kRead), b_.getInt32(kAllCaches), b_.getInt32(kData)});
}

void Emitter::store(const Instruction& in) {
  Value value = operand(in.c);
  if (value.lanes != in.lanes || value.type != in.type) {
    fail("the stored value has another dtype or other lanes");
    return;
  }
  llvm::Value* const address = element_address(in.a, in.b, in.type);
  if (in.d < 0) return store_whole(value, address, in.immediate == 1);
  store_counted(value, address, scalar(in.d));
}

void Emitter::store_whole(const Value& value, llvm::Value* address, bool bypass) {
  const i64 bytes = size_bytes(value.type);
  Value memory = value;
  for (llvm::Value*& part : memory.parts) part = to_memory(part, value.type);
  unsigned width = part_lanes(value.lanes);
  if (bypass) {  // whole registers: a piece of one would pass through the caches
    const Value whole = one(join(memory), value.type);
    width = std::min<unsigned>(value.lanes, static_cast<unsigned>(target_.vector_bytes / bytes));
    memory.parts.clear();
    for (unsigned first = 0; first < value.lanes; first += width) memory.parts.push_back(lanes_of_whole(whole.only(), first, width));
  }
  for (std::size_t p = 0; p < memory.parts.size(); ++p) {
    llvm::Value* const place = b_.CreateConstInBoundsGEP1_64(memory_type(value.type, 1), address, p * width);
    const std::uint64_t align = static_cast<std::uint64_t>(bypass ? width * bytes : bytes);
    llvm::StoreInst* const store = b_.CreateAlignedStore(memory.parts[p], place, llvm::Align(align));
    if (bypass)
      store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
  }
}

llvm::Value* Emitter::lanes_of_whole(llvm::Value* whole, unsigned first, unsigned count) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(whole->getType());
  if (type == nullptr || type->getNumElements() == count) return whole;
  llvm::SmallVector<int, 64> lanes;
  for (unsigned l = 0; l < count; ++l) lanes.push_back(static_cast<int>(first + l));
  return b_.CreateShuffleVector(whole, lanes);
}

void Emitter::store_counted(const Value& value, llvm::Value* address, llvm::Value* count) {
  llvm::Value* const limit = clamp_count(count, value.lanes);
  llvm::Type* const lane = memory_type(value.type, 1);
  const unsigned bytes = static_cast<unsigned>(size_bytes(value.type));
  if (value.lanes == 1 || (bytes < 4 && !has_avx512())) {
    llvm::Value* const copy = buffer(lane, value.lanes, 0);
    spill(value, copy);
    for_lanes(limit,
              [&](llvm::Value* l) { b_.CreateStore(b_.CreateLoad(lane, lane_pointer(copy, lane, l)), lane_pointer(address, lane, l)); });
    return;
  }
  const unsigned width = part_lanes(value.lanes);
  for (unsigned p = 0; p < value.parts.size(); ++p) {
    llvm::Value* const place = b_.CreateConstInBoundsGEP1_64(lane, address, p * width);
    llvm::Value* const mask = lane_mask(limit, p * width, width, count_bits(bytes));
    b_.CreateMaskedStore(to_memory(value.parts[p], value.type), place, llvm::Align(bytes), mask);
  }
}

}  // namespace resilin::codegen
