// src/resilin/loop/program.cpp -- the text of a Program: one instruction a line, blocks indented.
#include "resilin/loop/program.h"

#include <array>

#include "resilin/base/text.h"

namespace resilin::loop {

namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Operation::Fence) + 1> kNames = {"neg",
                                                                                                 "abs",
                                                                                                 "not",
                                                                                                 "sqrt",
                                                                                                 "floor",
                                                                                                 "ceil",
                                                                                                 "trunc",
                                                                                                 "round_even",
                                                                                                 "cast",
                                                                                                 "bitcast",
                                                                                                 "add",
                                                                                                 "sub",
                                                                                                 "mul",
                                                                                                 "div",
                                                                                                 "div_int",
                                                                                                 "mod_int",
                                                                                                 "min",
                                                                                                 "max",
                                                                                                 "and",
                                                                                                 "or",
                                                                                                 "xor",
                                                                                                 "shift_left",
                                                                                                 "shift_right",
                                                                                                 "shift_right_logical",
                                                                                                 "mul_high32",
                                                                                                 "eq",
                                                                                                 "ne",
                                                                                                 "lt",
                                                                                                 "le",
                                                                                                 "gt",
                                                                                                 "ge",
                                                                                                 "fma",
                                                                                                 "select",
                                                                                                 "constant",
                                                                                                 "iota",
                                                                                                 "splat",
                                                                                                 "half",
                                                                                                 "shift_lanes",
                                                                                                 "extract_lane",
                                                                                                 "integer",
                                                                                                 "argument",
                                                                                                 "pointer",
                                                                                                 "row_pointer",
                                                                                                 "range_begin",
                                                                                                 "range_end",
                                                                                                 "table_entries",
                                                                                                 "table_integer",
                                                                                                 "table_pointer",
                                                                                                 "to_aligned",
                                                                                                 "load",
                                                                                                 "store",
                                                                                                 "load_strided",
                                                                                                 "store_strided",
                                                                                                 "gather",
                                                                                                 "scatter",
                                                                                                 "prefetch",
                                                                                                 "loop_begin",
                                                                                                 "loop_carried",
                                                                                                 "loop_end",
                                                                                                 "loop_result",
                                                                                                 "if_begin",
                                                                                                 "if_end",
                                                                                                 "any_false",
                                                                                                 "report",
                                                                                                 "fence"};
static_assert(kNames[static_cast<std::size_t>(Operation::Fence)] == "fence");
static_assert(kNames[static_cast<std::size_t>(Operation::Constant)] == "constant");
static_assert(kNames[static_cast<std::size_t>(Operation::Load)] == "load");

bool has_result(Operation operation) {
  switch (operation) {
    case Operation::Store:
    case Operation::StoreStrided:
    case Operation::Scatter:
    case Operation::Prefetch:
    case Operation::LoopEnd:
    case Operation::IfBegin:
    case Operation::IfEnd:
    case Operation::Report:
    case Operation::Fence: return false;
    default: return true;
  }
}

bool has_immediate(Operation operation) {
  switch (operation) {
    case Operation::Constant:
    case Operation::Half:
    case Operation::ShiftLanes:
    case Operation::ExtractLane:
    case Operation::Integer:
    case Operation::Argument:
    case Operation::Pointer:
    case Operation::TableInteger:
    case Operation::TablePointer:
    case Operation::Store:
    case Operation::LoopBegin:
    case Operation::LoopCarried:
    case Operation::LoopResult:
    case Operation::Report: return true;
    default: return false;
  }
}

void append_value(std::string& out, std::int32_t value) {
  if (value < 0) {
    out += '_';
  } else {
    out += '%';
    append_text(out, value);
  }
}

void append_instruction(std::string& out, const PhaseProgram& phase, std::size_t index) {
  const Instruction& i = phase.code[index];
  if (has_result(i.operation)) {
    append_value(out, static_cast<std::int32_t>(index));
    out += " = ";
  }
  out += kNames[static_cast<std::size_t>(i.operation)];
  out += ' ';
  out += i.is_pointer ? std::string_view("pointer") : name(i.type);
  if (i.lanes != 1) out += cat('x', i.lanes);
  const std::array<std::int32_t, 5> operands = {i.a, i.b, i.c, i.d, i.e};
  std::size_t count = operands.size();
  while (count > 0 && operands[count - 1] < 0) --count;
  for (std::size_t k = 0; k < count; ++k) {
    out += k == 0 ? " " : ", ";
    append_value(out, operands[k]);
  }
  if (has_immediate(i.operation)) out += cat(" #", i.immediate);
  for (std::int32_t k = 0; k < i.extra_count; ++k) {
    out += k == 0 ? " [" : ", ";
    append_value(out, phase.extra[static_cast<std::size_t>(i.extra_begin + k)]);
    if (k + 1 == i.extra_count) out += ']';
  }
}

}  // namespace

std::string print(const Program& program) {
  std::string out;
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    out += cat("phase ", p, "\n");
    std::size_t indent = 2;
    const PhaseProgram& phase = program.phases[p];
    for (std::size_t index = 0; index < phase.code.size(); ++index) {
      const Operation operation = phase.code[index].operation;
      if (operation == Operation::LoopEnd || operation == Operation::IfEnd) indent -= 2;
      out.append(indent, ' ');
      append_instruction(out, phase, index);
      out += '\n';
      if (operation == Operation::LoopBegin || operation == Operation::IfBegin) indent += 2;
    }
  }
  return out;
}

}  // namespace resilin::loop
