// src/resilin/codegen/llvm/emit.h -- Internal: Emitter, which turns the instructions of one phase into LLVM IR, one to one.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/NoFolder.h>

#include "resilin/codegen/llvm/plugin.h"

namespace resilin::codegen {

using loop::Instruction;
using loop::Operation;

/// A value of a Program in IR. A scalar is one part. A vector is cut into parts of part_lanes() lanes, the same for every dtype of a phase, so that
/// values of different element sizes meet lane by lane in legal registers and LLVM's legaliser never shuffles between widths.
///
/// IR types of the lanes: integers and f32, f64 as they are; F16, BF16 and the 8-bit floats as their bits; scalar Bool i1. A Bool vector is a mask:
/// <n x i1> for AVX-512; for AVX2 integers 0 or -1 whose width is that of the operands compared (see Emitter::resize_mask).
struct Value {
  llvm::SmallVector<llvm::Value*, 8> parts;
  DType type = DType::I64;
  unsigned lanes = 1;
  bool is_pointer = false;
  llvm::Value* only() const { return parts[0]; }
};

/// A loop that is open, or closed with its results known.
struct OpenLoop {
  llvm::BasicBlock* entry = nullptr;
  llvm::BasicBlock* body = nullptr;
  llvm::BasicBlock* exit = nullptr;
  llvm::PHINode* variable = nullptr;
  llvm::Value* end = nullptr;
  i64 step = 1;
  bool closed = false;
  std::vector<Value> initial, carried, results;
};

class Emitter {
 public:
  Emitter(llvm::Module& module, const ProgramView& program, const TargetView& target);

  /// Adds the function phase<index> to the module. False when the program breaks a rule; error() says which.
  bool emit_phase(i64 index);
  const std::string& error() const { return error_; }

 private:
  using Part = llvm::Value*;
  using Builder = llvm::IRBuilder<llvm::NoFolder>;

  // emit.cpp: the function, values, making vectors
  void begin_function(i64 index);
  void emit(std::size_t position);
  Value emit_value(const Instruction& in);
  Value make_vector(const Instruction& in);
  Value constant(const Instruction& in);
  Value iota(const Instruction& in);
  Value half(const Instruction& in);
  Value shift_lanes(const Instruction& in);
  Part extract_lane(const Value& vector, unsigned lane);
  Value splat(Part scalar, DType type, unsigned lanes);
  Part splat_part(Part scalar, unsigned lanes) { return b_.CreateVectorSplat(lanes, scalar); }
  Part join(const Value& value);
  Value cut(Part whole, DType type, unsigned lanes);
  const Value& operand(std::int32_t index);
  Part scalar(std::int32_t index) { return operand(index).only(); }
  Value one(Part part, DType type);
  Value zero(DType type, unsigned lanes);
  Part fail(const std::string& what);
  void choose_part_lanes(const PhaseView& phase);
  unsigned part_lanes(unsigned lanes) const { return std::min(lanes, part_lanes_); }
  unsigned part_count(unsigned lanes) const { return lanes / part_lanes(lanes); }

  // types
  llvm::Type* lane_type(DType type);
  llvm::Type* part_type(DType type, unsigned lanes);
  llvm::Type* int_type(unsigned bits) { return llvm::Type::getIntNTy(context_, bits); }
  llvm::Type* with_lanes_of(Part like, llvm::Type* lane);
  llvm::Type* ints_like(Part like, unsigned bits) { return with_lanes_of(like, int_type(bits)); }
  Part number(llvm::Type* type, i64 value);   // the integer in every lane
  Part real(llvm::Type* type, double value);  // the float in every lane

  // masks
  bool has_avx512() const { return target_.vector_bytes == 64; }
  bool is_wide_mask(Part part) const;
  Part to_mask(Part bits, unsigned width);      // <n x i1> to a mask
  Part condition(Part mask);                    // a mask to <n x i1>
  Part resize_mask(Part mask, unsigned width);  // to lanes of `width` bits (AVX2)
  unsigned natural_mask_bits() const { return static_cast<unsigned>(target_.vector_bytes) * 8 / part_lanes_; }
  Part choose(Part mask, Part yes, Part no);  // select lane by lane
  Part choose_mask(Part mask, Part yes, Part no);
  std::pair<Part, Part> same_width(Part a, Part b);

  // emit_arithmetic.cpp
  Value arithmetic(const Instruction& in);
  Part unary(const Instruction& in, Part x);
  Part binary(const Instruction& in, DType type, Part x, Part y);
  Part binary_float(Operation operation, Part x, Part y);
  Part binary_integer(const Instruction& in, DType type, Part x, Part y);
  Part binary_mask(Operation operation, Part x, Part y);
  Part minimum(Part x, Part y);
  Part maximum(Part x, Part y);
  Part shift(Operation operation, DType type, Part x, Part y);
  Part multiply_high(Part x, Part y);
  Part compare(Operation operation, DType type, Part x, Part y);
  Value select(const Instruction& in);
  bool is_small_float(DType type) const { return compute_dtype(type) != type; }

  // emit_division.cpp
  Part divide(Operation operation, DType type, Part x, Part y);
  Part quotient(DType type, Part x, Part y);
  Part divide_lanes(Operation operation, Part x, Part y);

  // emit_cast.cpp, emit_float8.cpp
  Part cast(Part x, DType from, DType to);
  Part cast_integer(Part x, DType from, DType to);
  Part mask_to(Part mask, DType to);
  Part nonzero(Part x, DType from);
  Part float_to_integer(Part x, DType to);
  Part float_to_i32(Part x);
  Part float_to_i64(Part x);
  Part double_to_i64_lanes(Part x);
  Part integer_to_float(Part x, DType from, DType to);
  Part i64_to_double(Part x);
  Part i64_to_float(Part x);
  Part widen(Part x, DType from);  // a 16- or 8-bit float to f32
  Part narrow(Part x, DType to);   // f32 to a 16- or 8-bit float
  Part float_to_half(Part x);
  Part float_to_bfloat(Part x);
  Part float8_to_float(Part x, DType from);
  Part float_to_float8(Part x, DType to);
  Part by_pieces(Part x, unsigned lanes, const std::function<Part(Part)>& convert);  // pads or cuts x to vectors of `lanes`

  // emit_memory.cpp, emit_lanes.cpp
  void emit_memory(const Instruction& in, Value& result);
  Value load(const Instruction& in);
  void prefetch(const Instruction& in);
  void store(const Instruction& in);
  Value load_whole(Part address, DType type, unsigned lanes);
  Value load_counted(Part address, Part count, DType type, unsigned lanes);
  void store_whole(const Value& value, Part address, bool bypass);
  void store_counted(const Value& value, Part address, Part count);
  Value load_strided(const Instruction& in);
  void store_strided(const Instruction& in);
  Value gather(const Instruction& in);
  void scatter(const Instruction& in);
  Part element_address(std::int32_t pointer, std::int32_t element, DType type);
  llvm::Type* memory_type(DType type, unsigned lanes);  // Bool is a byte
  Part to_memory(Part value, DType type);
  Part from_memory(Part value, DType type);
  Part lane_mask(Part count, unsigned first, unsigned lanes, unsigned bits);  // <lanes x i1>: first + l < count
  Part clamp_count(Part count, unsigned lanes);
  unsigned count_bits(i64 bytes) const { return has_avx512() ? natural_mask_bits() : static_cast<unsigned>(bytes) * 8; }
  Part buffer(llvm::Type* lane, unsigned lanes, unsigned slot);  // stack memory, aligned to 64 bytes, free again after the instruction
  Part lane_pointer(Part base, llvm::Type* lane, Part index) { return b_.CreateInBoundsGEP(lane, base, index); }
  void for_lanes(Part count, const std::function<void(Part lane)>& body);
  void spill(const Value& value, Part into);  // memory form, lane after lane
  Value addresses(const Instruction& in, std::int32_t mask, Part instead);
  Value collect(DType type, unsigned lanes, const std::function<Part(unsigned lane)>& element);
  Part lanes_of_whole(Part whole, unsigned first, unsigned count);

  // emit_control.cpp
  void emit_control(const Instruction& in, std::size_t position, Value& result);
  Value parameter(const Instruction& in);
  llvm::Value* to_aligned(const Instruction& in);
  Part launch_field(unsigned index);
  Part word(unsigned field, Part index, llvm::Type* type);  // of the list that a field of Launch points to
  void loop_begin(const Instruction& in, std::size_t position, Value& result);
  void loop_end(const Instruction& in);
  void if_begin(const Instruction& in, std::size_t position);
  void report(const Instruction& in);
  Part any_false(const Value& mask);
  bool holds_report(std::size_t position) const;
  Value as_carried(const Value& value);
  std::vector<Value> carried_operands(const Instruction& in);
  std::vector<Value> make_phis(const std::vector<Value>& like, llvm::BasicBlock* from);
  std::span<const std::int32_t> extra(const Instruction& in);
  llvm::BasicBlock* new_block(const char* name);
  llvm::Instruction* invariant(llvm::Instruction* load);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const ProgramView& program_;
  const TargetView& target_;
  Builder b_;
  llvm::Function* function_ = nullptr;
  const PhaseView* phase_ = nullptr;
  std::vector<Value> values_;
  std::vector<OpenLoop> loops_;              // by position of their LoopBegin
  std::vector<std::size_t> loop_of_;         // position -> index into loops_
  std::vector<llvm::BasicBlock*> if_exits_;  // position -> block after the If
  std::map<unsigned, llvm::AllocaInst*> buffers_;
  unsigned part_lanes_ = 8;
  std::string error_;
};

}  // namespace resilin::codegen
