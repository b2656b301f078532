// tests/codegen/program_kit.h -- builds small Programs by hand and runs their code.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "resilin/codegen/compile.h"
#include "resilin/codegen/generate.h"
#include "resilin/codegen/image.h"

namespace resilin::kit {

using loop::Instruction;
using loop::Operation;

/// One phase, instruction by instruction. Each call gives back the index of the instruction.
class Phase {
 public:
  int add(Instruction instruction) {
    program_.code.push_back(instruction);
    return static_cast<int>(program_.code.size()) - 1;
  }
  int integer(i64 value) { return add({.operation = Operation::Constant, .immediate = value}); }
  int constant(DType type, std::uint64_t bits, int lanes) {
    return add({.operation = Operation::Constant, .type = type, .lanes = width(lanes), .immediate = static_cast<i64>(bits)});
  }
  int number(float value, int lanes) { return constant(DType::F32, std::bit_cast<std::uint32_t>(value), lanes); }
  int pointer(int slot) { return add({.operation = Operation::Pointer, .is_pointer = true, .immediate = slot}); }
  int begin() { return add({.operation = Operation::RangeBegin}); }
  int end() { return add({.operation = Operation::RangeEnd}); }
  int op(Operation operation, DType type, int lanes, int a, int b = -1, int c = -1, i64 immediate = 0) {
    return add({.operation = operation, .type = type, .lanes = width(lanes), .a = a, .b = b, .c = c, .immediate = immediate});
  }
  int load(DType type, int lanes, int pointer, int element, int count = -1) {
    return op(Operation::Load, type, lanes, pointer, element, count);
  }
  void store(DType type, int lanes, int pointer, int element, int value, int count = -1, i64 bypass = 0) {
    add({.operation = Operation::Store,
         .type = type,
         .lanes = width(lanes),
         .a = pointer,
         .b = element,
         .c = value,
         .d = count,
         .immediate = bypass});
  }
  int extra(Instruction instruction, const std::vector<int>& operands) {
    instruction.extra_begin = static_cast<std::int32_t>(program_.extra.size());
    instruction.extra_count = static_cast<std::int32_t>(operands.size());
    program_.extra.insert(program_.extra.end(), operands.begin(), operands.end());
    return add(instruction);
  }
  int loop(int begin, int end, i64 step, const std::vector<int>& initial = {}) {
    return extra({.operation = Operation::LoopBegin, .a = begin, .b = end, .immediate = step}, initial);
  }
  void end_loop(int loop, const std::vector<int>& next = {}) { extra({.operation = Operation::LoopEnd, .a = loop}, next); }
  loop::Program program() const { return {{program_}}; }

 private:
  static std::uint16_t width(int lanes) { return static_cast<std::uint16_t>(lanes); }
  loop::PhaseProgram program_;
};

/// The key of a test's kernel.
inline KernelKey test_key(const std::string& text, Isa isa = Isa::Avx2) { return {isa, describe_target(isa).features, text}; }

/// The forms of code that an AVX2 machine can run: its own, and that for 64-byte vectors (masks are bits, 16 lanes a register), which LLVM then cuts in
/// two. The second shows that the emission for AVX-512 means the same, except where it names instructions of AVX-512.
enum class Form { Avx2, Wide };
inline Target target_of(Form form) {
  Target target = describe_target(Isa::Avx2);
  if (form == Form::Wide) target.vector = describe_target(Isa::Avx512).vector;
  return target;
}

/// Code of a program, ready to run.
class Kernel {
 public:
  explicit Kernel(const loop::Program& program, i64 table_words = 0, Form form = Form::Avx2) {
    const std::string name = "test";
    const LinkedCode linked = generate(program, table_words, target_of(form), name);
    code_bytes_ = linked.bytes.size();
    code_ = map_image(make_image(test_key(name), linked), Origin::Compiled);
  }

  /// Runs phase 0 over [begin, end).
  void run(const std::vector<void*>& pointers, i64 begin, i64 end) const { run_phase(0, pointers, begin, end); }
  void run_phase(int phase, const std::vector<void*>& pointers, i64 begin, i64 end) const {
    const Launch launch = {&kAbi, pointers.data(), integers.data(), values.data(), table.data(), table_entries, &status};
    code_->phase(phase)(&launch, begin, end, row);
  }
  std::size_t code_bytes() const { return code_bytes_; }
  PhaseFunction function() const { return code_->phase(0); }

  std::vector<i64> integers;
  std::vector<std::uint64_t> values;
  std::vector<i64> table;
  i64 table_entries = 0;
  std::byte* row = nullptr;
  mutable Status status;

 private:
  std::shared_ptr<const Code> code_;
  std::size_t code_bytes_ = 0;
};

}  // namespace resilin::kit
