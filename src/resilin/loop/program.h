// src/resilin/loop/program.h -- Program: a nest after vectorising, as one flat list of typed vector instructions; what the code generator translates one to one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "resilin/tensor/dtype.h"

namespace resilin::loop {

/// One instruction of a Program. Operands are indices of earlier instructions (SSA); -1 means absent. `lanes` 1 is a plain scalar; Bool vectors are masks.
/// The first block mirrors loop::Code with the same meaning on every lane.
enum class Operation : std::uint8_t {
  // elementwise; operands a, b, c share lanes with the result
  Neg,
  Abs,
  Not,
  Sqrt,
  Floor,
  Ceil,
  Trunc,
  RoundEven,
  Cast,
  Bitcast,
  Add,
  Sub,
  Mul,
  Div,
  DivInt,
  ModInt,
  Min,
  Max,
  And,
  Or,
  Xor,
  ShiftLeft,
  ShiftRight,
  ShiftRightLogical,
  MulHigh32,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Fma,
  Select,
  // making vectors
  Constant,     // immediate: bits, in every lane
  Iota,         // 0, 1, 2 ... as I64 or I32
  Splat,        // a: scalar
  Half,         // a: vector of 2*lanes; immediate 0 low half, 1 high half
  ShiftLanes,   // a, b: vectors; result[l] = l >= immediate ? a[l - immediate] : b[l]
  ExtractLane,  // a: vector; immediate: lane
  // parameters (scalars)
  Integer,     // I64 parameter s<immediate>
  Argument,    // value argument `immediate` of dtype `type`
  Pointer,     // pointer of buffer slot `immediate`
  RowPointer,  // a: I64 byte offset into the private memory of the call
  RangeBegin,
  RangeEnd,      // I64: the part of the phase's range this call runs
  TableEntries,  // I64
  TableInteger,  // a: I64 entry; immediate: word of the entry
  TablePointer,  // a: I64 entry; immediate: word of the entry
  ToAligned,     // a: pointer, b: I64 element. I64: how many elements before its address is a multiple of 64; very many when it never is
  // memory: a pointer, b first element (I64 scalar) unless said otherwise
  Load,          // lanes l < c (I64 scalar; -1: all); other lanes are 0
  Store,         // c: value; lanes l < d (I64 scalar; -1: all); immediate 1: bypass the caches (aligned to the vector)
  LoadStrided,   // c: I64 stride in elements; lanes l < d
  StoreStrided,  // c: value, d: I64 stride; lanes l < e
  Gather,        // b: I64 vector of elements; c: mask or -1; other lanes are 0 and touch no memory
  Scatter,       // b: I64 vector of elements; c: value; d: mask or -1; in lane order
  Prefetch,      // asks for the cache line of the element early; never fails
  // control
  LoopBegin,    // a: begin, b: end (I64 scalars), immediate: step > 0; extra: initial carried values. Result: the I64 loop variable
  LoopCarried,  // a: LoopBegin; immediate: which. The carried value in this iteration
  LoopEnd,      // a: LoopBegin; extra: next carried values
  LoopResult,   // a: LoopBegin; immediate: which. The carried value after the loop (the initial one when it never ran)
  IfBegin,      // a: Bool scalar; no results leave an If
  IfEnd,        // a: IfBegin
  AnyFalse,     // a: mask. Bool scalar
  Report,       // a: mask (false lanes failed), b: I64 elements, c: I64 values, same lanes; immediate: code * 256 + operand
  Fence         // orders cache-bypassing stores
};

/// More than any tensor has elements.
inline constexpr std::int64_t kNeverAligned = std::int64_t{1} << 60;

struct Instruction {
  Operation operation;
  bool is_pointer = false;
  DType type = DType::I64;  // element type of the result (of the value, for stores)
  std::uint16_t lanes = 1;
  std::int32_t a = -1, b = -1, c = -1, d = -1, e = -1;
  std::int32_t extra_begin = 0, extra_count = 0;  // into Program::extra
  std::int64_t immediate = 0;
};

/// The code of one phase.
struct PhaseProgram {
  std::vector<Instruction> code;
  std::vector<std::int32_t> extra;
};

/// One kernel: phase p becomes the function phase<p>.
struct Program {
  std::vector<PhaseProgram> phases;
};

/// Text of a program, one instruction a line, for RESILIN_SHOW=program and tests.
std::string print(const Program& program);

}  // namespace resilin::loop
