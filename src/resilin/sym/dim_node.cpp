// src/resilin/sym/dim_node.cpp -- the table of interned expressions and their order.
#include "resilin/sym/dim_node.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>

#include "resilin/base/hash.h"

namespace resilin {
namespace {

// A chain only grows at its head and nodes are immortal, so readers need no lock and a fork in any moment leaves it whole.
constexpr std::size_t kBuckets = std::size_t{1} << 16;
constinit std::atomic<const DimNode*> g_buckets[kBuckets] = {};

struct Extent {
  std::uint32_t size = 1;
  std::uint32_t depth = 1;
};

Extent extent_of(const DimView& parts) {
  std::uint64_t size = 1;
  std::uint32_t depth = 0;
  for (const Dim argument : parts.arguments) {
    size += size_of(argument);
    if (!argument.is_constant()) depth = std::max(depth, DimAccess::node(argument).depth);
  }
  if (size > kMaxDimSize || depth >= kMaxDimDepth) {
    throw ArgumentError(cat("dim: an expression grows too large: ", size, " operations, ", depth + 1, " levels; at most ", kMaxDimSize,
                            " operations and ", kMaxDimDepth, " levels are kept"));
  }
  return {static_cast<std::uint32_t>(size), depth + 1};
}

std::uint64_t hash_of(const DimView& parts, Symbol symbol) {
  std::uint64_t hash = hash_mix(0x51d, static_cast<std::uint64_t>(parts.kind));
  hash = hash_mix(hash, static_cast<std::uint64_t>(parts.constant));
  hash = hash_mix(hash, static_cast<std::uint64_t>(symbol.space) << 32 | static_cast<std::uint32_t>(symbol.index));
  for (const i64 factor : parts.factors) hash = hash_mix(hash, static_cast<std::uint64_t>(factor));
  for (const Dim argument : parts.arguments) hash = hash_mix(hash, argument.hash());
  return hash;
}

bool same(const DimNode& node, const DimView& parts, Symbol symbol) {
  return node.kind == parts.kind && node.constant == parts.constant && node.symbol == symbol &&
         std::ranges::equal(node.arguments(), parts.arguments) && std::ranges::equal(node.factors(), parts.factors);
}

const DimNode* find(const DimNode* from, const DimNode* end, std::uint64_t hash, const DimView& parts, Symbol symbol) {
  for (const DimNode* node = from; node != end; node = node->next) {
    if (node->hash == hash && same(*node, parts, symbol)) return node;
  }
  return nullptr;
}

DimNode* allocate(std::uint64_t hash, const DimView& parts, Symbol symbol) {
  const Extent extent = extent_of(parts);
  void* memory = ::operator new(sizeof(DimNode) + parts.arguments.size() * sizeof(Dim) + parts.factors.size() * sizeof(i64));
  const std::uint32_t count = static_cast<std::uint32_t>(parts.arguments.size());
  DimNode* node = new (memory) DimNode{nullptr, hash, parts.constant, symbol, count, extent.size, extent.depth, parts.kind};
  Dim* arguments = reinterpret_cast<Dim*>(node + 1);
  std::uninitialized_copy(parts.arguments.begin(), parts.arguments.end(), arguments);
  std::uninitialized_copy(parts.factors.begin(), parts.factors.end(), reinterpret_cast<i64*>(arguments + count));
  return node;
}

int sign(i64 a, i64 b) { return a < b ? -1 : a > b ? 1 : 0; }

int rank(DimKind kind) {
  switch (kind) {
    case DimKind::Constant: return 0;
    case DimKind::Symbol: return 1;
    case DimKind::FloorDiv: return 2;
    case DimKind::Mod: return 3;
    case DimKind::Min: return 4;
    case DimKind::Max: return 5;
    case DimKind::Product: return 6;
    case DimKind::Sum: return 7;
  }
  return 8;
}

}  // namespace

Dim intern(const DimView& parts, Symbol symbol) {
  const std::uint64_t hash = hash_of(parts, symbol);
  std::atomic<const DimNode*>& bucket = g_buckets[hash % kBuckets];
  const DimNode* head = bucket.load(std::memory_order_acquire);
  if (const DimNode* known = find(head, nullptr, hash, parts, symbol)) return DimAccess::dim(known);
  DimNode* fresh = allocate(hash, parts, symbol);
  const DimNode* searched = head;
  for (;;) {
    fresh->next = head;
    if (bucket.compare_exchange_weak(head, fresh, std::memory_order_release, std::memory_order_acquire)) return DimAccess::dim(fresh);
    // Others were faster: only what they put before the part already searched can be the same expression.
    if (const DimNode* known = find(head, searched, hash, parts, symbol)) {
      ::operator delete(fresh);
      return DimAccess::dim(known);
    }
    searched = head;
  }
}

DimKind kind_of(Dim e) { return e.is_constant() ? DimKind::Constant : DimAccess::node(e).kind; }

std::uint32_t size_of(Dim e) { return e.is_constant() ? 1 : DimAccess::node(e).size; }

int compare_dims(Dim a, Dim b) {
  if (a == b) return 0;
  const DimKind kind = kind_of(a);
  if (kind != kind_of(b)) return sign(rank(kind), rank(kind_of(b)));
  if (kind == DimKind::Constant) return sign(a.value(), b.value());
  const DimNode& x = DimAccess::node(a);
  const DimNode& y = DimAccess::node(b);
  if (kind == DimKind::Symbol)
    return x.symbol.space != y.symbol.space ? sign(x.symbol.space, y.symbol.space) : sign(x.symbol.index, y.symbol.index);
  if (x.argument_count != y.argument_count) return sign(x.argument_count, y.argument_count);
  for (std::uint32_t i = 0; i < x.argument_count; ++i) {
    if (const int order = compare_dims(x.arguments()[i], y.arguments()[i]); order != 0) return order;
  }
  for (std::size_t i = 0; i < x.factors().size(); ++i) {
    if (const int order = sign(x.factors()[i], y.factors()[i]); order != 0) return order;
  }
  return sign(x.constant, y.constant);
}

DimView view(Dim e) {
  if (e.is_constant()) return {DimKind::Constant, e.value(), {}, {}};
  const DimNode& node = DimAccess::node(e);
  return {node.kind, node.constant, node.factors(), node.arguments()};
}

}  // namespace resilin
