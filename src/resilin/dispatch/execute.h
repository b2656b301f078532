// src/resilin/dispatch/execute.h -- Internal: the interpreter that runs an applied op now, through a cache of plans by layout class.
#pragma once

#include "resilin/dispatch/apply.h"

namespace resilin {

/// Plans the op once for each key (op, structural attributes, dtypes, layout classes) and size class, then only binds sizes and launches.
Outputs execute(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination);

/// The one-node graph (declared sizes, before Composites are expanded) that eager plans for this call, and the texts of the kernels it launches:
/// what a fresh process must plan again from the printed graph.
struct EagerRecord {
  ir::Graph graph;
  SizeClass size_class;
  std::vector<std::string> kernel_texts;
};
EagerRecord eager_record(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination = nullptr);

/// The graph alone: nothing is compiled, and the elements of the inputs are not looked at.
ir::Graph eager_graph(const ir::OpDef& op, std::span<const Input> inputs, ir::AttrsRef attrs, const Tensor* destination = nullptr);

}  // namespace resilin
