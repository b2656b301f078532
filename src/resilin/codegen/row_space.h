// src/resilin/codegen/row_space.h -- Internal: the iteration space of a region of Pointwise, View and Reduce nodes.
#pragma once

#include <vector>

#include "resilin/codegen/axes.h"
#include "resilin/codegen/evaluate.h"

namespace resilin {

/// The shape of the region's full values, which of its axes are reduced, and the loop variable of each axis.
struct RowSpace {
  /// Reads the space off the first Reduce node, or off the first output when there is none; tells the evaluator's facts the variables' ranges.
  RowSpace(const ir::Graph& region, Evaluator& evaluator);

  /// True when the value has the reduced axes (or there are none).
  bool is_full(ir::ValueId id) const;
  /// The index of a value that has the full shape or the shape of rows, with or without the reduced axes.
  Shape index_of(ir::ValueId id) const;

  Shape shape;
  std::vector<bool> is_reduced;  // per axis of shape
  Shape index;                   // the variable of each axis, 0 for axes of size 1
  std::vector<Axis> outer;       // axes that are not reduced, in the order of loops
  std::vector<Axis> reduced;     // with a reduction never empty
  bool has_reduction = false;
  bool rows_are_vectors = false;  // the vector axis is the last reduced one; else it is the last outer one

 private:
  void sort_outer_by_output(Evaluator& evaluator);
  std::vector<bool> read_by_reductions() const;
  bool columns_are_contiguous(Evaluator& evaluator) const;
  const ir::Graph& region_;
};

}  // namespace resilin
