// src/resilin/sym/dim_node.h -- Internal: the interned expression behind a Dim that is not a constant.
#pragma once

#include <cstdint>
#include <span>

#include "resilin/sym/dim.h"

namespace resilin {

/// Immutable and never freed; its factors (Sum only) and arguments follow it in memory.
struct DimNode {
  const DimNode* next;  // in its bucket of the table
  std::uint64_t hash;   // of the structure, the same in every process
  i64 constant;         // Sum: its constant part
  Symbol symbol;
  std::uint32_t argument_count;
  std::uint32_t size;  // operations and leaves, counted as a tree
  std::uint32_t depth;
  DimKind kind;

  std::span<const Dim> arguments() const { return {reinterpret_cast<const Dim*>(this + 1), argument_count}; }
  std::span<const i64> factors() const {
    return {reinterpret_cast<const i64*>(arguments().data() + argument_count), kind == DimKind::Sum ? argument_count : 0};
  }
};

struct DimAccess {
  /// Requires a Dim that is not a constant.
  static const DimNode& node(Dim e) { return *reinterpret_cast<const DimNode*>(e.word_); }
  static Dim dim(const DimNode* node) { return Dim::from_word(static_cast<i64>(reinterpret_cast<std::uintptr_t>(node))); }
};

/// Bounds of every expression; beyond them arithmetic throws and queries do not know.
inline constexpr std::uint32_t kMaxDimSize = 4096;
inline constexpr std::uint32_t kMaxDimDepth = 96;

/// The one node of these parts, which the caller has brought into canonical form. Takes no lock: nodes are only ever added.
Dim intern(const DimView& parts, Symbol symbol = {});

DimKind kind_of(Dim e);
std::uint32_t size_of(Dim e);
/// The factors of a Product, or e alone; valid as long as e is in place.
inline std::span<const Dim> atoms_of_term(const Dim& e) {
  return kind_of(e) == DimKind::Product ? view(e).arguments : std::span<const Dim>(&e, 1);
}
/// The same operation on other arguments, brought into canonical form again.
Dim with_arguments(Dim e, std::span<const Dim> arguments);
/// A total order by structure alone (kind, then symbol space and index, then the arguments), so the same in every process: < 0, 0 or > 0.
int compare_dims(Dim a, Dim b);

}  // namespace resilin
