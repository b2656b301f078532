// src/resilin/plan/region.h -- Internal: cuts the nodes of a group out of a graph as a region of its own.
#pragma once

#include <optional>
#include <vector>

#include "resilin/plan/group.h"

namespace resilin {

/// A region shares the symbols and numbers of its graph. Value k of the region is value `outer[k]` of the graph.
struct Region {
  ir::Graph graph;
  std::vector<ir::ValueId> outer;
};

/// Outputs are the values that other nodes or the graph's outputs need. `types` holds the type, with the final strides, of every value made so far;
/// the region's outputs get theirs here: a destination's, else the common dense order of the full-shape inputs, else row-major.
Region cut_region(const ir::Graph& graph, const Group& group, std::vector<ir::Type>& types);

/// For a region that is one View which keeps the row-major order of elements (a reshape that is no alias): the same memory written as a copy of the
/// input in the input's own shape, whose loops need no division. Nothing for any other region.
std::optional<ir::Graph> as_copy(const ir::Graph& region);

}  // namespace resilin
