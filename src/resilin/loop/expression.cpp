// src/resilin/loop/expression.cpp -- structural numbering of expressions, equality, substitution and cost.
#include "resilin/loop/expression.h"

#include <unordered_map>
#include <unordered_set>

#include "resilin/base/hash.h"

namespace resilin::loop {
namespace {

// A shared node is copied once: the memo is keyed by its address.
using Memo = std::unordered_map<const void*, Scalar>;

Scalar rebuild(const Scalar& a, std::span<const Scalar> args) {
  switch (args.size()) {
    case 1: return Scalar::make(a.code(), a.dtype(), {args[0]});
    case 2: return Scalar::make(a.code(), a.dtype(), {args[0], args[1]});
    default: return Scalar::make(a.code(), a.dtype(), {args[0], args[1], args[2]});
  }
}

Scalar substitute(const Scalar& a, const std::function<Scalar(const Scalar&)>& with, Memo& memo) {
  if (a.code() == Code::Constant) return a;
  const Memo::iterator known = memo.find(a.identity());
  if (known != memo.end()) return known->second;
  Scalar result;
  if (a.args().empty()) {
    result = with(a);
  } else {
    SmallVector<Scalar, 3> args;
    bool changed = false;
    for (const Scalar& arg : a.args()) {
      args.push_back(substitute(arg, with, memo));
      changed = changed || args.back().identity() != arg.identity();
    }
    result = changed ? rebuild(a, args) : a;
  }
  memo.emplace(a.identity(), result);
  return result;
}

std::size_t hash(const Expression& e) {
  std::uint64_t seed = hash_mix(static_cast<std::uint64_t>(e.code) << 8 | static_cast<std::uint64_t>(e.dtype), e.bits);
  seed = hash_mix(seed, static_cast<std::uint64_t>(e.index) << 32 ^ e.offset.word());
  const std::uint64_t first = static_cast<std::uint64_t>(e.argument[0]) << 32 ^ static_cast<std::uint64_t>(e.argument[1]);
  return hash_mix(hash_mix(seed, first), static_cast<std::uint64_t>(e.argument[2]));
}

int count_operations(const Scalar& a, std::unordered_set<const void*>& seen) {
  if (a.args().empty() || !seen.insert(a.identity()).second) return 0;
  int count = 1;
  for (const Scalar& arg : a.args()) count += count_operations(arg, seen);
  return count;
}

}  // namespace

std::size_t ExpressionTable::find_node(const void* node) const {
  const std::size_t mask = by_node_.size() - 1;
  std::size_t place = (reinterpret_cast<std::uintptr_t>(node) >> 4) * 0x9e3779b97f4a7c15ull >> 20 & mask;
  while (by_node_[place].id >= 0 && by_node_[place].node != node) place = (place + 1) & mask;
  return place;
}

std::size_t ExpressionTable::find_structure(const Expression& e) const {
  const std::size_t mask = by_structure_.size() - 1;
  std::size_t place = hash(e) & mask;
  while (by_structure_[place] >= 0 && !(entries_[static_cast<std::size_t>(by_structure_[place])] == e)) place = (place + 1) & mask;
  return place;
}

void ExpressionTable::remember(const void* node, int id) {
  if (2 * ++node_count_ > by_node_.size()) {
    const std::vector<NodePlace> before = std::exchange(by_node_, std::vector<NodePlace>(by_node_.size() * 2, NodePlace{nullptr, -1}));
    for (const NodePlace& old : before) {
      if (old.id >= 0) by_node_[find_node(old.node)] = old;
    }
  }
  by_node_[find_node(node)] = {node, id};
}

int ExpressionTable::insert(const Expression& e) {
  const std::size_t place = find_structure(e);
  if (by_structure_[place] >= 0) return by_structure_[place];
  entries_.push_back(e);
  by_structure_[place] = size() - 1;
  if (2 * entries_.size() > by_structure_.size()) {
    by_structure_.assign(by_structure_.size() * 2, -1);
    for (int id = 0; id < size(); ++id) by_structure_[find_structure((*this)[id])] = id;
  }
  return size() - 1;
}

Expression ExpressionTable::describe(const Scalar& a) {
  Expression e{a.code(), a.dtype(), a.index(), a.bits(), a.offset(), {-1, -1, -1}, 0};
  if (!a.args().empty()) {
    for (const Scalar& arg : a.args()) e.argument[e.argument_count++] = id(arg);
  } else if (rename_ && a.code() != Code::Constant) {
    const Leaf leaf = rename_(a);
    e.index = leaf.index;
    e.offset = leaf.offset;
  }
  return e;
}

int ExpressionTable::id(const Scalar& a) {
  const NodePlace& known = by_node_[find_node(a.identity())];
  if (known.id >= 0) return known.id;
  const int id = insert(describe(a));
  remember(a.identity(), id);
  return id;
}

bool same_expression(const Scalar& a, const Scalar& b) {
  if (a.identity() == b.identity()) return true;
  if (!a.defined() || !b.defined()) return false;
  ExpressionTable table;
  return table.id(a) == table.id(b);
}

Scalar substitute_leaves(const Scalar& a, const std::function<Scalar(const Scalar&)>& with) {
  Memo memo;
  return substitute(a, with, memo);
}

int operation_count(const Scalar& a) {
  std::unordered_set<const void*> seen;
  return count_operations(a, seen);
}

}  // namespace resilin::loop
