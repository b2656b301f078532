// src/resilin/plan/group.h -- Internal: partitions the nodes of a graph into regions, each one kernel, contraction, alias or Extern.
#pragma once

#include <vector>

#include "resilin/ir/graph.h"
#include "resilin/ir/op.h"

namespace resilin {

enum class GroupKind : std::uint8_t { Loops, Alias, Contract, Extern };

/// Nodes that run as one step, in topological order.
struct Group {
  GroupKind kind;
  std::vector<int> nodes;
};

/// Groups in an order in which they can run. Fusion is by the form of the nodes, never by their names:
/// Pointwise, View and Reduce nodes join the groups of their producers while all share one iteration space; a Scan or Update ends a group.
std::vector<Group> group_nodes(const ir::Graph& graph);

/// The strides and offset of a View's output as an alias of its input, when the map is affine with strides >= 0, always valid and the layouts compose.
struct Alias {
  Dim offset;
  Strides strides;
};
/// `input` is the type of the node's first input with the strides that it really has.
std::optional<Alias> view_as_alias(const ir::Graph& graph, const ir::Node& node, const ir::Type& input);

}  // namespace resilin
