// src/resilin/loop/builder.cpp -- placing, sharing and flattening instructions.
#include "resilin/loop/builder.h"

#include <algorithm>
#include <tuple>

#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/base/text.h"

namespace resilin::loop {

namespace {

auto key_of(const Instruction& i) { return std::tuple(i.operation, i.is_pointer, i.type, i.lanes, i.a, i.b, i.c, i.d, i.e, i.immediate); }

/// Must stay although nobody uses its result.
bool has_effect(Operation operation) {
  switch (operation) {
    case Operation::Store:
    case Operation::StoreStrided:
    case Operation::Scatter:
    case Operation::Prefetch:
    case Operation::LoopBegin:
    case Operation::LoopEnd:
    case Operation::IfBegin:
    case Operation::IfEnd:
    case Operation::Report:
    case Operation::Fence: return true;
    default: return false;
  }
}

}  // namespace

std::size_t Builder::Hash::operator()(const Instruction& i) const {
  std::uint64_t seed = hash_mix(static_cast<std::uint64_t>(i.operation), static_cast<std::uint64_t>(i.type) << 16 | i.lanes);
  for (const std::int32_t operand : operands(i)) seed = hash_mix(seed, static_cast<std::uint64_t>(operand));
  return hash_mix(seed, static_cast<std::uint64_t>(i.immediate));
}

bool Builder::Equal::operator()(const Instruction& a, const Instruction& b) const { return key_of(a) == key_of(b); }

Builder::Builder() : blocks_(1) {}

std::optional<i64> Builder::known(Value v) const {
  const Instruction& instruction = entry(v).instruction;
  if (instruction.operation != Operation::Constant || instruction.type != DType::I64) return std::nullopt;
  return instruction.immediate;
}

bool Builder::is_open(int index) const {
  int b = current_;
  while (b > index) b = block(b).parent;  // a block is numbered after its parents
  return b == index;
}

int Builder::outermost_block(const Instruction& instruction) const {
  int deepest = 0;
  for (const std::int32_t operand : operands(instruction)) {
    if (operand == kNone) continue;
    const int b = entry(operand).block;
    RESILIN_ASSERT(is_open(b), cat("operand %", operand, " is used outside its block"));
    if (block(b).depth > block(deepest).depth) deepest = b;
  }
  return deepest;
}

Value Builder::append(const Instruction& instruction, int where) {
  const Value value = static_cast<Value>(entries_.size());
  entries_.push_back({instruction, where, {}});
  Block& b = block(where);
  if (where == current_) {
    b.items.push_back({value, -1});
  } else {
    b.items.insert(b.items.begin() + b.opened_at++, {value, -1});
  }
  return value;
}

Value Builder::pure(Instruction instruction) {
  const auto found = values_.find(instruction);
  if (found != values_.end() && is_open(entry(found->second).block)) return found->second;
  int where = outermost_block(instruction);
  if (block(current_).cold && instruction.operation != Operation::Constant) where = current_;
  const Value value = append(instruction, where);
  values_[instruction] = value;
  return value;
}

Value Builder::load(Instruction instruction, bool constant_memory) {
  const auto found = loads_.find(instruction);
  if (found != loads_.end()) {
    const int home = entry(found->second.value).block;
    const bool same_memory = constant_memory || (found->second.version == memory_version_ && home == current_);
    if (same_memory && is_open(home)) return found->second.value;
  }
  int where = current_;
  if (constant_memory) {
    const int outermost = outermost_block(instruction);
    while (where != outermost && block(where).runs) where = block(where).parent;
  }
  const Value value = append(instruction, where);
  loads_[instruction] = {value, memory_version_};
  return value;
}

void Builder::effect(Instruction instruction) {
  outermost_block(instruction);  // checks the operands
  append(instruction, current_);
  if (instruction.operation != Operation::Prefetch) ++memory_version_;
}

void Builder::open_block(Value opener, bool runs, bool cold) {
  const int index = static_cast<int>(blocks_.size());
  const int parent = current_;
  block(parent).opened_at = static_cast<int>(block(parent).items.size()) - 1;
  block(parent).items.push_back({kNone, index});
  blocks_.push_back({parent, block(parent).depth + 1, runs, cold, -1, {}});
  entries_[static_cast<std::size_t>(opener)].block = index;
  current_ = index;
  ++memory_version_;
}

void Builder::close_block() {
  current_ = block(current_).parent;
  block(current_).opened_at = -1;
  ++memory_version_;
}

Value Builder::begin_loop(Value begin, Value end, i64 step, std::span<const Value> initial, bool runs) {
  const Value loop = append({.operation = Operation::LoopBegin, .a = begin, .b = end, .immediate = step}, current_);
  entries_[static_cast<std::size_t>(loop)].extra.assign(initial.begin(), initial.end());
  open_block(loop, runs, false);
  int index = 0;
  for (const Value v : initial) {
    append({.operation = Operation::LoopCarried, .type = type(v), .lanes = entry(v).instruction.lanes, .a = loop, .immediate = index++},
           current_);
  }
  return loop;
}

Value Builder::carried(Value loop, int index) { return loop + 1 + index; }

std::vector<Value> Builder::end_loop(Value loop, std::span<const Value> next) {
  RESILIN_ASSERT(entry(loop).block == current_ && entry(loop).extra.size() == next.size(), "loops close in order, with all their values");
  close_block();
  const Value end = append({.operation = Operation::LoopEnd, .a = loop}, current_);
  entries_[static_cast<std::size_t>(end)].extra.assign(next.begin(), next.end());
  std::vector<Value> results;
  for (std::size_t k = 0; k < next.size(); ++k) {
    const Instruction& initial = entry(entry(loop).extra[k]).instruction;
    RESILIN_ASSERT(type(next[k]) == initial.type && lanes(next[k]) == initial.lanes, "a carried value keeps its type");
    results.push_back(append(
        {.operation = Operation::LoopResult, .type = initial.type, .lanes = initial.lanes, .a = loop, .immediate = static_cast<i64>(k)},
        current_));
  }
  return results;
}

Value Builder::begin_if(Value condition, bool cold) {
  const Value opener = append({.operation = Operation::IfBegin, .a = condition}, current_);
  open_block(opener, false, cold);
  return opener;
}

void Builder::end_if(Value condition) {
  RESILIN_ASSERT(entry(condition).block == current_, "ifs close in order");
  close_block();
  append({.operation = Operation::IfEnd, .a = condition}, current_);
}

void Builder::flatten(int index, std::vector<Value>& order) const {
  for (const Item& item : block(index).items) {
    if (item.value == kNone) {
      flatten(item.block, order);
    } else {
      order.push_back(item.value);
    }
  }
}

std::vector<bool> Builder::find_live(std::span<const Value> order) const {
  std::vector<bool> live(entries_.size());
  for (std::size_t at = order.size(); at-- > 0;) {
    const Entry& e = entry(order[at]);
    const std::size_t index = static_cast<std::size_t>(order[at]);
    live[index] = live[index] || has_effect(e.instruction.operation);
    if (!live[index]) continue;
    for (const std::int32_t operand : operands(e.instruction)) {
      if (operand != kNone) live[static_cast<std::size_t>(operand)] = true;
    }
    for (const Value v : e.extra) live[static_cast<std::size_t>(v)] = true;
  }
  return live;
}

PhaseProgram Builder::finish() {
  RESILIN_ASSERT(current_ == 0, "a block is still open");
  std::vector<Value> order;
  flatten(0, order);
  const std::vector<bool> live = find_live(order);
  std::vector<std::int32_t> renamed(entries_.size(), kNone);
  PhaseProgram program;
  for (const Value v : order) {
    if (!live[static_cast<std::size_t>(v)]) continue;
    renamed[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(program.code.size());
    Instruction instruction = entry(v).instruction;
    for (std::int32_t* operand : {&instruction.a, &instruction.b, &instruction.c, &instruction.d, &instruction.e}) {
      if (*operand != kNone) *operand = renamed[static_cast<std::size_t>(*operand)];
    }
    instruction.extra_begin = static_cast<std::int32_t>(program.extra.size());
    instruction.extra_count = static_cast<std::int32_t>(entry(v).extra.size());
    for (const Value x : entry(v).extra) program.extra.push_back(renamed[static_cast<std::size_t>(x)]);
    program.code.push_back(instruction);
  }
  return program;
}

}  // namespace resilin::loop
