// src/resilin/codegen/llvm/emit_lanes.cpp -- memory whose elements are not neighbours: strides, gather and scatter, one lane at a time.
#include "resilin/codegen/llvm/emit.h"

namespace resilin::codegen {

Value Emitter::load_strided(const Instruction& in) {
  llvm::Type* const lane = memory_type(in.type, 1);
  llvm::Value* const base = element_address(in.a, in.b, in.type);
  llvm::Value* const stride = scalar(in.c);
  const auto element = [&](llvm::Value* l) {
    return b_.CreateAlignedLoad(lane, lane_pointer(base, lane, b_.CreateMul(l, stride)),
                                llvm::Align(static_cast<std::uint64_t>(size_bytes(in.type))));
  };
  if (in.d < 0) return collect(in.type, in.lanes, [&](unsigned l) { return element(b_.getInt64(l)); });
  llvm::Value* const copy = buffer(lane, in.lanes, 0);
  b_.CreateAlignedStore(llvm::Constant::getNullValue(memory_type(in.type, in.lanes)), copy, llvm::Align(64));
  for_lanes(clamp_count(scalar(in.d), in.lanes), [&](llvm::Value* l) { b_.CreateStore(element(l), lane_pointer(copy, lane, l)); });
  return load_whole(copy, in.type, in.lanes);
}

void Emitter::store_strided(const Instruction& in) {
  Value value = operand(in.c);
  if (value.lanes != in.lanes || value.type != in.type) {
    fail("the stored value has another dtype or other lanes");
    return;
  }
  llvm::Type* const lane = memory_type(in.type, 1);
  llvm::Value* const base = element_address(in.a, in.b, in.type);
  llvm::Value* const stride = scalar(in.d);
  const auto put = [&](llvm::Value* element, llvm::Value* l) {
    b_.CreateAlignedStore(element, lane_pointer(base, lane, b_.CreateMul(l, stride)),
                          llvm::Align(static_cast<std::uint64_t>(size_bytes(in.type))));
  };
  if (in.e < 0) {
    for (unsigned l = 0; l < in.lanes; ++l) put(to_memory(extract_lane(value, l), in.type), b_.getInt64(l));
    return;
  }
  llvm::Value* const copy = buffer(lane, in.lanes, 0);
  spill(value, copy);
  for_lanes(clamp_count(scalar(in.e), in.lanes), [&](llvm::Value* l) { put(b_.CreateLoad(lane, lane_pointer(copy, lane, l)), l); });
}

Value Emitter::collect(DType type, unsigned lanes, const std::function<llvm::Value*(unsigned)>& element) {
  Value value;
  const unsigned width = part_lanes(lanes);
  for (unsigned p = 0; p < part_count(lanes); ++p) {
    llvm::Value* part = lanes == 1 ? element(0) : llvm::PoisonValue::get(memory_type(type, width));
    for (unsigned l = 0; l < width && lanes > 1; ++l) part = b_.CreateInsertElement(part, element(p * width + l), std::uint64_t{l});
    value.parts.push_back(from_memory(part, type));
  }
  return value;
}

// Lanes that are off get the address of `instead`, so that moving all lanes needs no branch and touches nothing of the buffer there.
Value Emitter::addresses(const Instruction& in, std::int32_t mask, llvm::Value* instead) {
  const Value& elements = operand(in.b);
  if (elements.lanes != in.lanes || elements.type != DType::I64)
    return one(fail("element numbers are i64 in as many lanes as the value"), DType::I64);
  if (mask >= 0 && (operand(mask).lanes != in.lanes || operand(mask).type != DType::Bool)) {
    return one(fail("a mask has as many lanes as the value"), DType::I64);
  }
  llvm::Value* const base = b_.CreatePtrToInt(scalar(in.a), b_.getInt64Ty());
  llvm::Value* const nowhere = b_.CreatePtrToInt(instead, b_.getInt64Ty());
  const unsigned width = part_lanes(in.lanes);
  const auto all = [&](llvm::Value* x) { return in.lanes == 1 ? x : splat_part(x, width); };
  Value value;
  value.type = DType::I64;
  value.lanes = in.lanes;
  for (std::size_t p = 0; p < elements.parts.size(); ++p) {
    llvm::Value* const element = elements.parts[p];
    llvm::Value* const address = b_.CreateAdd(all(base), b_.CreateMul(element, number(element->getType(), size_bytes(in.type))));
    value.parts.push_back(mask < 0 ? address : choose(operand(mask).parts[p], address, all(nowhere)));
  }
  return value;
}

Value Emitter::gather(const Instruction& in) {
  llvm::Type* const lane = memory_type(in.type, 1);
  llvm::Value* const nothing = buffer(lane, 1, 2);
  if (in.c >= 0) b_.CreateStore(llvm::Constant::getNullValue(lane), nothing);
  const Value where = addresses(in, in.c, nothing);
  if (!error_.empty()) return where;
  const auto element = [&](llvm::Value* address) {
    return b_.CreateAlignedLoad(lane, b_.CreateIntToPtr(address, b_.getPtrTy()),
                                llvm::Align(static_cast<std::uint64_t>(size_bytes(in.type))));
  };
  return collect(in.type, in.lanes, [&](unsigned l) { return element(extract_lane(where, l)); });
}

void Emitter::scatter(const Instruction& in) {
  Value value = operand(in.c);
  if (value.lanes != in.lanes || value.type != in.type) {
    fail("the stored value has another dtype or other lanes");
    return;
  }
  llvm::Type* const lane = memory_type(in.type, 1);
  const Value where = addresses(in, in.d, buffer(lane, 1, 2));
  if (!error_.empty()) return;
  const auto put = [&](llvm::Value* element, llvm::Value* address) {
    b_.CreateAlignedStore(element, b_.CreateIntToPtr(address, b_.getPtrTy()), llvm::Align(static_cast<std::uint64_t>(size_bytes(in.type))));
  };
  for (unsigned l = 0; l < in.lanes; ++l) put(to_memory(extract_lane(value, l), in.type), extract_lane(where, l));
}

}  // namespace resilin::codegen
