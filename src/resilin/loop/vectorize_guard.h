// src/resilin/loop/vectorize_guard.h -- Internal: under which conditions each part of an expression is evaluated.
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "resilin/loop/nest.h"

namespace resilin::loop {

/// What a nest does to memory.
class MemoryFacts {
 public:
  MemoryFacts() = default;
  explicit MemoryFacts(const Nest& nest);
  bool is_written(int buffer) const { return written_[static_cast<std::size_t>(buffer)]; }
  /// A load is in the expression (values named by Locals do not count).
  bool has_load(const Scalar& s) { return (flags_of(s) & kLoads) != 0; }
  /// So is a load from a buffer the nest writes.
  bool has_changing_load(const Scalar& s) { return (flags_of(s) & kLoadsWritten) != 0; }

 private:
  static constexpr std::uint8_t kLoads = 1, kLoadsWritten = 2;
  std::uint8_t flags_of(const Scalar& s);
  std::vector<bool> written_;
  struct Known {
    Scalar node;  // keeps the identity from being used again
    std::uint8_t flags;
  };
  std::unordered_map<const void*, Known> flags_;
};

/// A condition that holds, or one that does not.
struct Literal {
  Scalar condition;
  bool negated;
  friend bool operator==(const Literal& a, const Literal& b) {
    return a.condition.identity() == b.condition.identity() && a.negated == b.negated;
  }
};
/// All literals hold; the empty one always does.
using Conjunction = std::vector<Literal>;
/// One of the conjunctions holds.
using Guard = std::vector<Conjunction>;

/// An expression of a statement and the mask (undefined: none) outside of which its value is not needed.
struct GuardedRoot {
  Scalar value;
  Scalar mask;
};

/// The guards of those nodes of one statement that contain a load and are not evaluated in every lane: a load is only reached through the
/// sides of Selects. `values` holds what was emitted for them; it is not valid in another statement.
struct GuardedStatement {
  std::unordered_map<const void*, Guard> guards;
  std::unordered_map<const void*, std::int32_t> values;
  /// A guard asks for the value of a load that it guards, by way of others. Then nothing is shared between the ways to a node: each has its
  /// own mask.
  bool by_path = false;
  std::int32_t path = -1;  // the mask of the way that is being emitted
  std::map<std::pair<const void*, std::int32_t>, std::int32_t> path_values;
};
GuardedStatement find_guards(std::span<const GuardedRoot> roots, MemoryFacts& memory);

}  // namespace resilin::loop
