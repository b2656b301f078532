// src/resilin/codegen/llvm/emit_control.cpp -- parameters, loops, conditions and failure reports.
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include "resilin/codegen/llvm/emit.h"

namespace resilin::codegen {
namespace {

/// Words of Launch (codegen/kernel.h).
enum LaunchWord : unsigned { kAbi, kPointers, kIntegers, kValues, kTable, kTableEntries, kStatus };
constexpr unsigned kReportWord = 1;  // Abi::report

constexpr unsigned kRareWeight = 1;
constexpr unsigned kUsualWeight = 2000;

}  // namespace

void Emitter::emit_control(const Instruction& in, std::size_t position, Value& result) {
  const auto loop = [&]() -> OpenLoop& { return loops_[loop_of_[static_cast<std::size_t>(in.a)]]; };
  switch (in.operation) {
    case Operation::LoopBegin: return loop_begin(in, position, result);
    case Operation::LoopEnd: return loop_end(in);
    case Operation::LoopCarried:
    case Operation::LoopResult: {
      if (in.a < 0 || loop_of_[static_cast<std::size_t>(in.a)] == SIZE_MAX) return void(fail("a loop value without a loop"));
      const std::vector<Value>& values = in.operation == Operation::LoopCarried ? loop().carried : loop().results;
      if (in.immediate < 0 || in.immediate >= static_cast<i64>(values.size()))
        return void(fail("a loop value that the loop does not have"));
      result = values[static_cast<std::size_t>(in.immediate)];
      if (result.type != in.type || result.lanes != in.lanes) fail("a loop value has another dtype or other lanes");
      return;
    }
    case Operation::IfBegin: return if_begin(in, position);
    case Operation::IfEnd: {
      llvm::BasicBlock* const exit = in.a < 0 ? nullptr : if_exits_[static_cast<std::size_t>(in.a)];
      if (exit == nullptr) return void(fail("an end of an if that did not begin"));
      b_.CreateBr(exit);
      b_.SetInsertPoint(exit);
      return;
    }
    case Operation::AnyFalse: result = one(any_false(operand(in.a)), DType::Bool); return;
    case Operation::Report: return report(in);
    case Operation::Fence: b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {}); return;
    default: result = parameter(in); return;
  }
}

llvm::BasicBlock* Emitter::new_block(const char* name) { return llvm::BasicBlock::Create(context_, name, function_); }

/// Parameters stay the same for the whole launch, so loops need not read them again.
llvm::Instruction* Emitter::invariant(llvm::Instruction* load) {
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

llvm::Value* Emitter::launch_field(unsigned index) {
  llvm::Type* const type = index == kTableEntries ? b_.getInt64Ty() : static_cast<llvm::Type*>(b_.getPtrTy());
  return invariant(b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(0), index)));
}

llvm::Value* Emitter::word(unsigned field, llvm::Value* index, llvm::Type* type) {
  return invariant(b_.CreateLoad(type, b_.CreateInBoundsGEP(b_.getInt64Ty(), launch_field(field), index)));
}

Value Emitter::parameter(const Instruction& in) {
  llvm::Type* const pointer = b_.getPtrTy();
  llvm::Value* const index = b_.getInt64(static_cast<std::uint64_t>(in.immediate));
  const auto row_word = [&] {
    return b_.CreateAdd(b_.CreateMul(scalar(in.a), b_.getInt64(static_cast<std::uint64_t>(program_.table_words))), index);
  };
  switch (in.operation) {
    case Operation::Integer: return one(word(kIntegers, index, b_.getInt64Ty()), in.type);
    case Operation::Pointer: return one(word(kPointers, index, pointer), in.type);
    case Operation::Argument: {
      llvm::Type* const type = in.type == DType::Bool ? b_.getInt8Ty() : lane_type(in.type);
      return one(from_memory(word(kValues, index, type), in.type), in.type);
    }
    case Operation::RowPointer: return one(b_.CreateInBoundsGEP(b_.getInt8Ty(), function_->getArg(3), scalar(in.a)), in.type);
    case Operation::RangeBegin: return one(function_->getArg(1), in.type);
    case Operation::RangeEnd: return one(function_->getArg(2), in.type);
    case Operation::TableEntries: return one(launch_field(kTableEntries), in.type);
    case Operation::TableInteger: return one(word(kTable, row_word(), b_.getInt64Ty()), in.type);
    case Operation::TablePointer: return one(word(kTable, row_word(), pointer), in.type);
    case Operation::ToAligned: return one(to_aligned(in), in.type);
    default: return one(fail("an unknown operation"), in.type);
  }
}

llvm::Value* Emitter::to_aligned(const Instruction& in) {
  const DType type = operand(in.a).type;
  const std::uint64_t size = static_cast<std::uint64_t>(size_bytes(type));
  llvm::Value* const address = b_.CreatePtrToInt(element_address(in.a, in.b, type), b_.getInt64Ty());
  llvm::Value* const missing = b_.CreateAnd(b_.CreateNeg(address), b_.getInt64(63));
  llvm::Value* const never = b_.CreateICmpNE(b_.CreateURem(missing, b_.getInt64(size)), b_.getInt64(0));
  return b_.CreateSelect(never, b_.getInt64(loop::kNeverAligned), b_.CreateUDiv(missing, b_.getInt64(size)));
}

std::span<const std::int32_t> Emitter::extra(const Instruction& in) {
  if (in.extra_begin < 0 || in.extra_count < 0 || i64{in.extra_begin} + in.extra_count > phase_->extra_count) {
    fail("extra operands lie outside the list");
    return {};
  }
  return {phase_->extra + in.extra_begin, static_cast<std::size_t>(in.extra_count)};
}

/// Masks of any width are carried in one.
Value Emitter::as_carried(const Value& value) {
  Value carried = value;
  if (value.type == DType::Bool && !value.is_pointer) {
    for (llvm::Value*& part : carried.parts) part = resize_mask(part, natural_mask_bits());
  }
  return carried;
}

std::vector<Value> Emitter::carried_operands(const Instruction& in) {
  std::vector<Value> values;
  for (const std::int32_t index : extra(in)) values.push_back(as_carried(operand(index)));
  return values;
}

std::vector<Value> Emitter::make_phis(const std::vector<Value>& like, llvm::BasicBlock* from) {
  std::vector<Value> values = like;
  for (Value& value : values) {
    for (llvm::Value*& part : value.parts) {
      llvm::PHINode* const phi = b_.CreatePHI(part->getType(), 2);
      phi->addIncoming(part, from);
      part = phi;
    }
  }
  return values;
}

// The test stands at the end; one more before the loop skips it when it has no iteration.
void Emitter::loop_begin(const Instruction& in, std::size_t position, Value& result) {
  OpenLoop loop;
  loop.initial = carried_operands(in);
  loop.end = scalar(in.b);
  loop.step = in.immediate;
  llvm::Value* const begin = scalar(in.a);
  if (in.immediate <= 0) fail("a loop steps forward");
  if (!error_.empty()) return;
  loop.entry = b_.GetInsertBlock();
  loop.body = new_block("loop");
  loop.exit = new_block("done");
  b_.CreateCondBr(b_.CreateICmpSLT(begin, loop.end), loop.body, loop.exit);
  b_.SetInsertPoint(loop.body);
  loop.variable = b_.CreatePHI(b_.getInt64Ty(), 2);
  loop.variable->addIncoming(begin, loop.entry);
  loop.carried = make_phis(loop.initial, loop.entry);
  result = one(loop.variable, DType::I64);
  loop_of_[position] = loops_.size();
  loops_.push_back(std::move(loop));
}

void Emitter::loop_end(const Instruction& in) {
  const std::size_t index = in.a < 0 ? SIZE_MAX : loop_of_[static_cast<std::size_t>(in.a)];
  if (index == SIZE_MAX || loops_[index].closed) return void(fail("an end of a loop that is not open"));
  const std::vector<Value> next = carried_operands(in);
  OpenLoop& loop = loops_[index];
  if (next.size() != loop.initial.size()) return void(fail("a loop carries another number of values at its end"));
  llvm::BasicBlock* const last = b_.GetInsertBlock();
  llvm::Value* const step = b_.CreateNSWAdd(loop.variable, b_.getInt64(static_cast<std::uint64_t>(loop.step)));
  loop.variable->addIncoming(step, last);
  b_.CreateCondBr(b_.CreateICmpSLT(step, loop.end), loop.body, loop.exit);
  b_.SetInsertPoint(loop.exit);
  loop.closed = true;
  loop.results = make_phis(loop.initial, loop.entry);
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (next[i].type != loop.initial[i].type || next[i].lanes != loop.initial[i].lanes)
      return void(fail("a carried value changes its dtype or lanes"));
    for (std::size_t p = 0; p < next[i].parts.size(); ++p) {
      llvm::cast<llvm::PHINode>(loop.carried[i].parts[p])->addIncoming(next[i].parts[p], last);
      llvm::cast<llvm::PHINode>(loop.results[i].parts[p])->addIncoming(next[i].parts[p], last);
    }
  }
}

/// Conditions around a report are failures: their code is moved out of the way.
bool Emitter::holds_report(std::size_t position) const {
  for (i64 i = static_cast<i64>(position) + 1; i < phase_->code_count; ++i) {
    const Instruction& in = phase_->code[i];
    if (in.operation == Operation::Report) return true;
    if (in.operation == Operation::IfEnd && in.a == static_cast<std::int32_t>(position)) return false;
  }
  return false;
}

void Emitter::if_begin(const Instruction& in, std::size_t position) {
  llvm::BasicBlock* const then = new_block("then");
  llvm::BasicBlock* const exit = new_block("fi");
  llvm::MDNode* const rare = holds_report(position) ? llvm::MDBuilder(context_).createBranchWeights(kRareWeight, kUsualWeight) : nullptr;
  b_.CreateCondBr(scalar(in.a), then, exit, rare);
  b_.SetInsertPoint(then);
  if_exits_[position] = exit;
}

llvm::Value* Emitter::any_false(const Value& mask) {
  if (mask.type != DType::Bool) return fail("any_false is for a mask");
  llvm::Value* all = mask.parts[0];
  for (std::size_t p = 1; p < mask.parts.size(); ++p) all = b_.CreateAnd(all, same_width(all, mask.parts[p]).second);
  if (mask.lanes == 1) return b_.CreateNot(all);
  llvm::Value* const bits = b_.CreateBitCast(condition(all), int_type(part_lanes(mask.lanes)));
  return b_.CreateICmpNE(bits, number(bits->getType(), -1));
}

void Emitter::report(const Instruction& in) {
  const Value& ok = operand(in.a);
  const Value& elements = operand(in.b);
  const Value& values = operand(in.c);
  if (ok.type != DType::Bool || elements.type != DType::I64 || values.type != DType::I64 || ok.lanes != elements.lanes ||
      ok.lanes != values.lanes) {
    return void(fail("a report has a mask and i64 elements and values, of the same lanes"));
  }
  const auto call = [&](llvm::Value* element, llvm::Value* value) {
    llvm::Type* const pointer = b_.getPtrTy();
    llvm::Type* const i64_type = b_.getInt64Ty();
    llvm::FunctionType* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, i64_type, i64_type, i64_type}, false);
    llvm::Value* const function = b_.CreateLoad(pointer, b_.CreateConstInBoundsGEP1_64(i64_type, launch_field(kAbi), kReportWord));
    llvm::Value* const code_operand = b_.getInt64(static_cast<std::uint64_t>(in.immediate));
    b_.CreateCall(type, function, {launch_field(kStatus), code_operand, element, value})->setDoesNotThrow();
  };
  const auto unless = [&](llvm::Value* fine, const std::function<void()>& body) {
    llvm::BasicBlock* const then = new_block("failed");
    llvm::BasicBlock* const exit = new_block("reported");
    b_.CreateCondBr(fine, exit, then);
    b_.SetInsertPoint(then);
    body();
    b_.CreateBr(exit);
    b_.SetInsertPoint(exit);
  };
  if (ok.lanes == 1) return unless(ok.only(), [&] { call(elements.only(), values.only()); });
  llvm::Value* const flags = buffer(b_.getInt8Ty(), ok.lanes, 0);
  llvm::Value* const where = buffer(b_.getInt64Ty(), ok.lanes, 1);
  llvm::Value* const what = buffer(b_.getInt64Ty(), ok.lanes, 2);
  spill(ok, flags);
  spill(elements, where);
  spill(values, what);
  for_lanes(b_.getInt64(ok.lanes), [&](llvm::Value* l) {
    const auto at = [&](llvm::Value* list, llvm::Type* type) { return b_.CreateLoad(type, lane_pointer(list, type, l)); };
    unless(b_.CreateICmpNE(at(flags, b_.getInt8Ty()), b_.getInt8(0)), [&] { call(at(where, b_.getInt64Ty()), at(what, b_.getInt64Ty())); });
  });
}

}  // namespace resilin::codegen
