// tests/support/program_interpreter.cpp -- lanes are arrays of bits; elementwise operations are those of loop::evaluate_primitive.
#include "tests/support/program_interpreter.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "resilin/loop/scalar.h"

namespace resilin::test {

namespace {

using loop::Instruction;
using loop::Operation;
using Bits = std::uint64_t;

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error(why); }
void require(bool condition, std::string_view why, std::size_t at) {
  if (!condition) refuse(cat(why, " at %", at));
}

bool is_elementwise(Operation operation) { return operation <= Operation::Select; }

/// Every operand is made earlier, in a block that is still open; elementwise operands have equal lanes.
void verify_structure(const loop::PhaseProgram& phase) {
  std::vector<int> home(phase.code.size());
  std::vector<int> open = {0};
  int blocks = 1;
  const auto check = [&](std::int32_t operand, std::size_t at) {
    require(operand >= 0 && static_cast<std::size_t>(operand) < at, "an operand is not made yet", at);
    const int block = home[static_cast<std::size_t>(operand)];
    require(std::find(open.begin(), open.end(), block) != open.end(), cat("operand %", operand, " is out of its block"), at);
  };
  for (std::size_t at = 0; at < phase.code.size(); ++at) {
    const Instruction& i = phase.code[at];
    const bool closes = i.operation == Operation::LoopEnd || i.operation == Operation::IfEnd;
    const auto check_all = [&] {
      for (const std::int32_t operand : {i.a, i.b, i.c, i.d, i.e}) {
        if (operand != -1 && i.operation != Operation::LoopResult) check(operand, at);
      }
      for (int k = 0; k < i.extra_count; ++k) check(phase.extra[static_cast<std::size_t>(i.extra_begin + k)], at);
    };
    check_all();
    if (is_elementwise(i.operation)) {
      for (const std::int32_t operand : {i.a, i.b, i.c}) {
        require(operand == -1 || phase.code[static_cast<std::size_t>(operand)].lanes == i.lanes, "lanes differ", at);
      }
    }
    if (closes) open.pop_back();
    home[at] = open.back();
    if (i.operation == Operation::LoopBegin || i.operation == Operation::IfBegin) {
      open.push_back(blocks++);
      home[at] = open.back();
    }
  }
  require(open.size() == 1, "a block is not closed", phase.code.size());
}

class Machine {
 public:
  Machine(const loop::PhaseProgram& phase, const loop::Arguments& arguments, std::span<const Region> regions)
      : phase_(phase),
        arguments_(arguments),
        regions_(regions),
        values_(phase.code.size()),
        carried_(phase.code.size()),
        ends_(phase.code.size()) {
    std::vector<std::size_t> open;
    for (std::size_t at = 0; at < phase.code.size(); ++at) {
      const Operation operation = phase.code[at].operation;
      if (operation == Operation::LoopBegin || operation == Operation::IfBegin) open.push_back(at);
      if (operation != Operation::LoopEnd && operation != Operation::IfEnd) continue;
      require(phase.code[at].a == static_cast<std::int32_t>(open.back()), "the end of another block", at);
      ends_[open.back()] = at;
      open.pop_back();
    }
  }

  void run(i64 begin, i64 end, std::byte* row, i64 row_bytes) {
    range_begin_ = begin;
    range_end_ = end;
    row_ = row;
    row_bytes_ = row_bytes;
    run_code(0, phase_.code.size());
  }
  std::optional<loop::Failure> failure;

 private:
  const Instruction& code(std::int32_t at) const { return phase_.code[static_cast<std::size_t>(at)]; }
  const std::vector<Bits>& value(std::int32_t at) const { return values_[static_cast<std::size_t>(at)]; }
  i64 scalar(std::int32_t at) const {
    if (value(at).size() != 1) refuse(cat("%", at, " is not a scalar"));
    return static_cast<i64>(value(at)[0]);
  }
  std::vector<std::vector<Bits>> extra_values(const Instruction& i) const {
    std::vector<std::vector<Bits>> values;
    for (int k = 0; k < i.extra_count; ++k) values.push_back(value(phase_.extra[static_cast<std::size_t>(i.extra_begin + k)]));
    return values;
  }

  void run_code(std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; ++at) {
      const Instruction& i = phase_.code[at];
      if (i.operation == Operation::LoopBegin) {
        run_loop(at);
        at = ends_[at];
      } else if (i.operation == Operation::IfBegin) {
        if (scalar(i.a) != 0) run_code(at + 1, ends_[at]);
        at = ends_[at];
      } else {
        run_one(i, at);
      }
    }
  }

  void run_loop(std::size_t at) {
    const Instruction& i = phase_.code[at];
    carried_[at] = extra_values(i);
    require(i.immediate > 0, "a loop goes backwards", at);
    const i64 end = scalar(i.b);
    for (i64 index = scalar(i.a); index < end; index += i.immediate) {
      values_[at] = {static_cast<Bits>(index)};
      run_code(at + 1, ends_[at]);
      carried_[at] = extra_values(phase_.code[ends_[at]]);
    }
  }

  void run_one(const Instruction& i, std::size_t at) {
    std::vector<Bits> result(i.lanes);
    if (is_elementwise(i.operation)) {
      const loop::Code primitive = static_cast<loop::Code>(static_cast<int>(i.operation) + static_cast<int>(loop::Code::Neg));
      for (std::size_t lane = 0; lane < i.lanes; ++lane) {
        std::vector<Bits> args;
        for (const std::int32_t operand : {i.a, i.b, i.c}) {
          if (operand != -1) args.push_back(value(operand)[lane]);
        }
        result[lane] = loop::evaluate_primitive(primitive, i.type, code(i.operation == Operation::Select ? i.b : i.a).type, args);
      }
      values_[at] = std::move(result);
      return;
    }
    if (!run_value(i, result) && !run_memory(i, result)) refuse(cat("unexpected instruction at %", at));
    values_[at] = std::move(result);
  }

  bool run_value(const Instruction& i, std::vector<Bits>& result) {
    const std::size_t lanes = i.lanes;
    const std::size_t immediate = static_cast<std::size_t>(i.immediate);
    switch (i.operation) {
      case Operation::Constant: std::fill(result.begin(), result.end(), static_cast<Bits>(i.immediate)); return true;
      case Operation::Iota:
        for (std::size_t l = 0; l < lanes; ++l) result[l] = l;
        return true;
      case Operation::Splat: std::fill(result.begin(), result.end(), static_cast<Bits>(scalar(i.a))); return true;
      case Operation::Half:
        if (value(i.a).size() != 2 * lanes) refuse("half of another width");
        std::copy_n(value(i.a).begin() + static_cast<std::ptrdiff_t>(immediate * lanes), lanes, result.begin());
        return true;
      case Operation::ShiftLanes:
        for (std::size_t l = 0; l < lanes; ++l) result[l] = l >= immediate ? value(i.a).at(l - immediate) : value(i.b).at(l);
        return true;
      case Operation::ExtractLane: result[0] = value(i.a).at(immediate); return true;
      case Operation::Integer: result[0] = static_cast<Bits>(arguments_.integers.at(immediate)); return true;
      case Operation::Argument: result[0] = arguments_.values.at(immediate); return true;
      case Operation::Pointer: result[0] = reinterpret_cast<Bits>(arguments_.pointers.at(immediate)); return true;
      case Operation::RowPointer: result[0] = reinterpret_cast<Bits>(row_) + static_cast<Bits>(scalar(i.a)); return true;
      case Operation::RangeBegin: result[0] = static_cast<Bits>(range_begin_); return true;
      case Operation::RangeEnd: result[0] = static_cast<Bits>(range_end_); return true;
      case Operation::TableEntries: result[0] = arguments_.table.size(); return true;
      case Operation::TableInteger: {
        const loop::TableEntry& entry = arguments_.table.at(static_cast<std::size_t>(scalar(i.a)));
        result[0] = static_cast<Bits>(entry.integers.at(immediate - entry.pointers.size()));
        return true;
      }
      case Operation::TablePointer:
        result[0] = reinterpret_cast<Bits>(arguments_.table.at(static_cast<std::size_t>(scalar(i.a))).pointers.at(immediate));
        return true;
      case Operation::ToAligned: {
        const Bits size = static_cast<Bits>(size_bytes(code(i.a).type));
        const Bits missing = (0 - (value(i.a)[0] + static_cast<Bits>(scalar(i.b)) * size)) % 64;
        result[0] = missing % size == 0 ? missing / size : static_cast<Bits>(loop::kNeverAligned);
        return true;
      }
      case Operation::LoopCarried:
      case Operation::LoopResult: result = carried_[static_cast<std::size_t>(i.a)].at(immediate); return true;
      case Operation::AnyFalse:
        for (const Bits bit : value(i.a)) result[0] |= bit == 0;
        return true;
      case Operation::Report: report(i); return true;
      case Operation::Prefetch:
      case Operation::Fence: return true;
      default: return false;
    }
  }

  void report(const Instruction& i) {
    for (std::size_t l = 0; l < i.lanes; ++l) {
      const i64 element = static_cast<i64>(value(i.b).at(l));
      if (value(i.a).at(l) != 0 || (failure && failure->element <= element)) continue;
      failure = {static_cast<int>(i.immediate / 256), static_cast<int>(i.immediate % 256), element, static_cast<i64>(value(i.c).at(l))};
    }
  }

  bool run_memory(const Instruction& i, std::vector<Bits>& result) {
    const auto counted = [&](std::int32_t count, std::size_t lane) { return count == -1 || static_cast<i64>(lane) < scalar(count); };
    const auto masked = [&](std::int32_t mask, std::size_t lane) { return mask == -1 || value(mask).at(lane) != 0; };
    for (std::size_t l = 0; l < i.lanes; ++l) {
      const i64 lane = static_cast<i64>(l);
      switch (i.operation) {
        case Operation::Load:
          if (counted(i.c, l)) result[l] = load(i, scalar(i.b) + lane);
          break;
        case Operation::LoadStrided:
          if (counted(i.d, l)) result[l] = load(i, scalar(i.b) + lane * scalar(i.c));
          break;
        case Operation::Gather:
          if (masked(i.c, l)) result[l] = load(i, static_cast<i64>(value(i.b).at(l)));
          break;
        case Operation::Store:
          if (counted(i.d, l)) store(i, scalar(i.b) + lane, value(i.c).at(l));
          break;
        case Operation::StoreStrided:
          if (counted(i.e, l)) store(i, scalar(i.b) + lane * scalar(i.d), value(i.c).at(l));
          break;
        case Operation::Scatter:
          if (masked(i.d, l)) store(i, static_cast<i64>(value(i.b).at(l)), value(i.c).at(l));
          break;
        default: return false;
      }
    }
    return true;
  }

  std::byte* locate(const Instruction& i, i64 element, bool writes) const {
    const i64 size = size_bytes(i.type);
    std::byte* const pointer = reinterpret_cast<std::byte*>(value(i.a)[0]);
    std::byte* const address = pointer + element * size;
    if (pointer >= row_ && pointer < row_ + row_bytes_ && address >= row_ && address + size <= row_ + row_bytes_) return address;
    for (const Region& region : regions_) {
      const bool inside = pointer == region.begin && element >= 0 && (element + 1) * size <= region.size_bytes;
      if (inside && (region.writable || !writes)) return address;
    }
    refuse(cat(writes ? "a store" : "a load", " outside of the buffers: element ", element, " of a ", i.type, " buffer"));
  }
  Bits load(const Instruction& i, i64 element) const {
    const std::byte* const address = locate(i, element, false);
    Bits bits = 0;
    std::memcpy(&bits, address, static_cast<std::size_t>(size_bytes(i.type)));
    if (i.type == DType::Bool) return bits != 0;
    const int shift = static_cast<int>(64 - 8 * size_bytes(i.type));
    const bool is_signed = is_integral(i.type) && i.type != DType::U8;
    return is_signed ? static_cast<Bits>(static_cast<i64>(bits << shift) >> shift) : bits;
  }
  void store(const Instruction& i, i64 element, Bits bits) {
    std::memcpy(locate(i, element, true), &bits, static_cast<std::size_t>(size_bytes(i.type)));
  }

  const loop::PhaseProgram& phase_;
  const loop::Arguments& arguments_;
  const std::span<const Region> regions_;
  std::vector<std::vector<Bits>> values_;
  std::vector<std::vector<std::vector<Bits>>> carried_;  // by LoopBegin
  std::vector<std::size_t> ends_;
  i64 range_begin_ = 0, range_end_ = 0;
  std::byte* row_ = nullptr;
  i64 row_bytes_ = 0;
};

}  // namespace

std::optional<loop::Failure> run_program(const loop::Program& program, const loop::Nest& nest, const loop::Arguments& arguments,
                                         std::span<const Region> regions, i64 grain) {
  const auto number = [&](Dim d) {
    return evaluate(d, [&](Symbol s) { return arguments.integers.at(static_cast<std::size_t>(s.index)); });
  };
  std::vector<std::byte> row(static_cast<std::size_t>(number(row_bytes(nest))));
  std::optional<loop::Failure> failure;
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    verify_structure(program.phases[p]);
    Machine machine(program.phases[p], arguments, regions);
    machine.failure = failure;
    const i64 extent = number(nest.phases[p].extent);
    const i64 step = nest.phases[p].vector ? 64 : grain;
    for (i64 begin = (std::max(extent, i64{1}) - 1) / step * step; begin >= 0; begin -= step) {
      std::fill(row.begin(), row.end(), std::byte{0xcd});
      machine.run(begin, std::min(begin + step, extent), row.data(), static_cast<i64>(row.size()));
    }
    failure = machine.failure;
  }
  return failure;
}

}  // namespace resilin::test
