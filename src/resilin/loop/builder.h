// src/resilin/loop/builder.h -- Internal: builds one PhaseProgram; shares equal values and hoists invariants.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "resilin/loop/program.h"

namespace resilin::loop {

/// The result of an instruction under construction.
using Value = std::int32_t;
inline constexpr Value kNone = -1;

/// Blocks (the phase itself, bodies of loops and ifs) nest; instructions are added to the open one. A pure instruction equal to an earlier
/// one gives the earlier one, and goes as far out as its operands allow, which takes loop invariants out of loops. Loads move only where
/// they surely happen anyway.
class Builder {
 public:
  Builder();

  DType type(Value v) const { return entry(v).instruction.type; }
  int lanes(Value v) const { return entry(v).instruction.lanes; }
  /// How many blocks are around the value: 0 for one that is made once per call.
  int depth(Value v) const { return block(entry(v).block).depth; }
  /// The number of an I64 constant.
  std::optional<i64> known(Value v) const;

  Value constant(DType type, std::uint64_t bits, int lanes = 1);
  Value integer(i64 value) { return constant(DType::I64, static_cast<std::uint64_t>(value)); }
  /// Any instruction without effect that reads no memory.
  Value pure(Instruction instruction);
  /// An elementwise operation; the operands have equal lanes.
  Value compute(Operation operation, DType type, Value a, Value b = kNone, Value c = kNone);
  /// v in `lanes` lanes: itself, or the splat of a scalar.
  Value widen(Value v, int lanes);

  // I64 arithmetic, folded where operands are known; a scalar operand is widened to the other's lanes.
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value minimum(Value a, Value b);
  Value maximum(Value a, Value b);
  /// a rounded down to a multiple of n, a power of two.
  Value round_down(Value a, i64 n);

  /// A load. `constant_memory`: nothing in the nest writes there, so it may be shared and moved.
  Value load(Instruction instruction, bool constant_memory);
  /// An instruction with an effect: stays where it is. A store ends the sharing of loads from memory that is not constant.
  void effect(Instruction instruction);

  /// for index in [begin, end), step > 0. `runs`: control reaches the loop only if the elements its body loads are loaded by the nest
  /// anyway.
  Value begin_loop(Value begin, Value end, i64 step, std::span<const Value> initial, bool runs);
  Value carried(Value loop, int index);
  /// Closes the innermost loop; gives back the carried values after it.
  std::vector<Value> end_loop(Value loop, std::span<const Value> next);
  /// `cold`: what is only needed inside is computed inside.
  Value begin_if(Value condition, bool cold);
  void end_if(Value condition);

  /// The flat program without instructions nobody needs.
  PhaseProgram finish();

 private:
  struct Entry {
    Instruction instruction;
    int block;  // where its users may go
    std::vector<Value> extra;
  };
  struct Item {
    Value value;
    int block;  // a nested block instead when value is kNone
  };
  struct Block {
    int parent = -1;
    int depth = 0;
    bool runs = false;
    bool cold = false;
    int opened_at = -1;  // item that opened the nested block that is open now
    std::vector<Item> items;
  };
  struct Hash {
    std::size_t operator()(const Instruction& instruction) const;
  };
  struct Equal {
    bool operator()(const Instruction& a, const Instruction& b) const;
  };
  struct Loaded {
    Value value;
    i64 version;
  };

  const Entry& entry(Value v) const { return entries_[static_cast<std::size_t>(v)]; }
  Block& block(int index) { return blocks_[static_cast<std::size_t>(index)]; }
  const Block& block(int index) const { return blocks_[static_cast<std::size_t>(index)]; }
  bool is_open(int index) const;
  int outermost_block(const Instruction& instruction) const;
  Value append(const Instruction& instruction, int where);
  void open_block(Value opener, bool runs, bool cold);
  void close_block();
  void flatten(int block, std::vector<Value>& order) const;
  std::vector<bool> find_live(std::span<const Value> order) const;

  std::vector<Entry> entries_;
  std::vector<Block> blocks_;
  int current_ = 0;
  i64 memory_version_ = 0;
  std::unordered_map<Instruction, Value, Hash, Equal> values_;
  std::unordered_map<Instruction, Loaded, Hash, Equal> loads_;
};

/// The operands a..e of an instruction, absent ones included.
inline std::span<const std::int32_t> operands(const Instruction& instruction) { return {&instruction.a, 5}; }
static_assert(offsetof(Instruction, e) - offsetof(Instruction, a) == 4 * sizeof(std::int32_t));

}  // namespace resilin::loop
