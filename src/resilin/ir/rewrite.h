// src/resilin/ir/rewrite.h -- making a graph from a graph: replacement of nodes, dead code, common subexpressions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "resilin/ir/graph.h"

namespace resilin::ir {

/// What stands for the outputs of a node in the new graph: operands of it, perhaps made by nodes appended to `out`; monostate for an output that
/// nobody uses. Nothing: the node is copied. `inputs` are the node's operands in the new graph.
using Replace = std::function<std::optional<std::vector<Operand>>(Graph& out, const Node& node, std::span<const Operand> inputs)>;

/// Copies a graph node by node, replacing what `replace` says. Inputs, symbols, numbers, facts and checks stay.
/// InternalError when a value that has become a number or nothing is an output or a destination.
Graph rewrite(const Graph& graph, const Replace& replace);

/// Without the nodes whose results nobody needs. Nodes with a destination and Externs, which may have effects, stay.
Graph dead_code_eliminate(const Graph& graph);

/// Equal applications (op, attributes, operands, types) become one. Nodes with a destination, regions or an Extern stay, and nothing is
/// merged across a destination or an Extern, which may change what a value shows.
Graph eliminate_common(const Graph& graph);

}  // namespace resilin::ir
