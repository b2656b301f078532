// src/resilin/codegen/lower.h -- lower(): from a region (a graph with one iteration space) to the loop nest of one kernel.
#pragma once

#include <span>
#include <vector>

#include "resilin/ir/graph.h"
#include "resilin/loop/nest.h"

namespace resilin {

/// What the size of the data decides about the shape of the loops. Part of every eager key; a variant of a plan exists per value.
struct SizeClass {
  bool long_rows = false;  // more reduced elements than kRowElements: no Row buffers; a full reduction is cut into chunks
  bool streaming = false;  // large outputs: stores bypass the caches
  friend bool operator==(const SizeClass&, const SizeClass&) = default;
};
inline constexpr i64 kRowElements = 32768;
inline constexpr i64 kStreamingBytes = i64{16} << 20;
/// Elements a chunk of a long full reduction has; a constant, so that the result does not depend on the machine.
inline constexpr i64 kChunkElements = 8192;

/// The nest of a region and how its parameters follow from the region's values and symbols.
struct Lowered {
  loop::Nest nest;
  /// Per nest buffer: the region value behind it; undefined for Partial, Row and Entry buffers.
  std::vector<ir::ValueId> buffers;
  std::vector<Dim> integers;      // s<k> of the nest, over the region's symbols
  std::vector<Number> arguments;  // value argument k: a number of the region
  /// Long expressions over the region's symbols that lowering computes with under a name: named(k) stands for named_dims[k]. None is left in the result.
  std::vector<Dim> named_dims;
  static constexpr int kFirstName = 1 << 30;
  static Dim named(std::size_t k) { return Dim::symbol('s', kFirstName + static_cast<int>(k)); }
  struct TableRow {
    ir::ValueId value;         // behind the Entry buffer
    std::vector<Dim> columns;  // over the region's symbols
  };
  std::vector<TableRow> table;
  /// What Check::operand numbers: the op and input at fault, and for an index the range [low, high) it left.
  struct CheckSite {
    const ir::OpDef* op;
    int input;
    Dim low, high;
  };
  std::vector<CheckSite> check_sites;
  /// When `count` > 0 then the range of this site must not be empty, else every index is out of range.
  struct NonEmpty {
    int site;
    Dim count;
  };
  std::vector<NonEmpty> non_empty;
};

/// Lowers a region made by plan/fuse: every output is a row-major (or strided by its type) store; nodes are Pointwise and View, with either any number of
/// Reduces over the same axes of the same shape, or one Scan, or one Update as the last node. InternalError for anything else.
Lowered lower(const ir::Graph& region, const SizeClass& size_class);

}  // namespace resilin
