// src/resilin/codegen/axes.h -- Internal: the loop variables of a region: merging, splitting an index over several, loop construction.
#pragma once

#include <span>
#include <vector>

#include "resilin/loop/nest.h"
#include "resilin/sym/facts.h"

namespace resilin {

/// One loop: its variable and number of iterations.
struct Axis {
  Symbol variable;
  Dim size;
};

/// Tells the facts that 0 <= variable < size. Of a size that is 0 nothing is told: no iteration runs.
void assume_index(Facts& facts, Symbol variable, Dim size);

/// Merges neighbouring axes (outer, inner) into one wherever every Dim of the blocks uses them only as outer*size(inner) + inner; rewrites the blocks.
void merge_axes(std::vector<Axis>& axes, std::span<loop::Block* const> blocks, const Facts& facts);

Dim product_of_sizes(std::span<const Axis> axes);

/// Makes `block` run for each value of `linear` in [0, product of sizes): the variables of the axes are replaced by its row-major digits.
void split_index(loop::Block& block, std::span<const Axis> axes, Symbol linear);

/// Wraps `body` in serial loops over the axes, outermost first; the last loop has kind `innermost`.
loop::Block wrap_loops(loop::Block body, std::span<const Axis> axes, loop::LoopKind innermost);

/// The phase that runs `body` for every position on the axes. With `vectorize_last` the last axis is the vector axis: the phase's own one when it is
/// alone, else an inner Vector loop. The other axes share one parallel variable, `linear`.
loop::Phase parallel_phase(loop::Block body, std::vector<Axis> axes, bool vectorize_last, Symbol linear);

/// Operations and memory accesses of one run of the block (a memory access counts 2), as a Dim over s<k>; extents that depend on loop variables count as `inner`.
Dim cost_of(const loop::Block& block, i64 inner);

}  // namespace resilin
