// src/resilin/codegen/row_space.cpp -- Internal: the iteration space of a region of Pointwise, View and Reduce nodes.
#include "resilin/codegen/row_space.h"

#include <algorithm>

namespace resilin {

RowSpace::RowSpace(const ir::Graph& region, Evaluator& evaluator) : region_(region) {
  SmallVector<i64, 5> axes;
  for (const ir::Node& node : region.nodes()) {
    const ir::Reduce* reduce = std::get_if<ir::Reduce>(&node.op->lower);
    if (reduce == nullptr || has_reduction) continue;
    has_reduction = true;
    shape = region.type(std::get<ir::ValueId>(node.inputs[0])).shape;
    axes = reduce->axes(node.attrs.ref(), static_cast<i64>(shape.size()));
  }
  if (!has_reduction) shape = region.type(region.outputs()[0]).shape;
  is_reduced.assign(shape.size(), false);
  for (const i64 axis : axes) is_reduced[static_cast<std::size_t>(axis)] = true;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (shape[a] == 1) {
      index.push_back(0);
      continue;
    }
    const Symbol variable = evaluator.new_variable();
    index.push_back(Dim::symbol(variable));
    assume_index(evaluator.facts(), variable, shape[a]);
    (is_reduced[a] ? reduced : outer).push_back({variable, shape[a]});
  }
  if (has_reduction && reduced.empty()) reduced.push_back({evaluator.new_variable(), 1});
  sort_outer_by_output(evaluator);
  rows_are_vectors = has_reduction && !columns_are_contiguous(evaluator);
}

// Pointwise outputs may have any dense order of axes: the loops follow it.
void RowSpace::sort_outer_by_output(Evaluator& evaluator) {
  const ir::Type& type = region_.type(region_.outputs()[0]);
  if (has_reduction || !type.strides) return;
  const auto stride_of = [&](const Axis& axis) {
    const Dim* const at = std::find(index.begin(), index.end(), Dim::symbol(axis.variable));
    return evaluator.simplify((*type.strides)[static_cast<std::size_t>(at - index.begin())]);
  };
  std::stable_sort(outer.begin(), outer.end(), [&](const Axis& a, const Axis& b) {
    const Dim of_a = stride_of(a);
    const Dim of_b = stride_of(b);
    return !(of_a == of_b) && !(of_b == 0) && evaluator.facts().proves_less_equal(of_b, of_a);
  });
}

// The inputs that reductions read: where results go must not decide in which order they are summed.
std::vector<bool> RowSpace::read_by_reductions() const {
  std::vector<bool> read(static_cast<std::size_t>(region_.value_count()), false);
  for (std::size_t n = region_.nodes().size(); n-- > 0;) {
    const ir::Node& node = region_.nodes()[n];
    bool needed = std::holds_alternative<ir::Reduce>(node.op->lower);
    for (const ir::ValueId id : node.outputs) needed = needed || read[static_cast<std::size_t>(id.index)];
    if (!needed) continue;
    for (const ir::Operand& operand : node.inputs) {
      if (const ir::ValueId* id = std::get_if<ir::ValueId>(&operand)) read[static_cast<std::size_t>(id->index)] = true;
    }
  }
  return read;
}

// Are more inputs contiguous along the last outer axis than along a reduced axis?
bool RowSpace::columns_are_contiguous(Evaluator& evaluator) const {
  int along_rows = 0;
  int along_columns = 0;
  const std::vector<bool> read = read_by_reductions();
  for (int v = 0; v < region_.input_count(); ++v) {
    const ir::Type& type = region_.type({v});
    if (!read[static_cast<std::size_t>(v)] || type.shape.size() != shape.size()) continue;
    const Strides strides = ir::strides_of(type);
    for (std::size_t a = 0; a < shape.size(); ++a) {
      if (index[a].is_constant() || type.shape[a] == 1 || !(evaluator.simplify(strides[a]) == 1)) continue;
      if (is_reduced[a]) ++along_rows;
      if (!outer.empty() && index[a] == Dim::symbol(outer.back().variable)) ++along_columns;
    }
  }
  return along_columns > along_rows;
}

bool RowSpace::is_full(ir::ValueId id) const {
  if (!has_reduction) return true;
  const Shape& of = region_.type(id).shape;
  if (of.size() != shape.size()) return false;
  for (std::size_t a = 0; a < of.size(); ++a) {
    if (is_reduced[a] && !(shape[a] == 1) && of[a] == 1) return false;
  }
  return true;
}

Shape RowSpace::index_of(ir::ValueId id) const {
  const Shape& of = region_.type(id).shape;
  Shape out;
  if (of.size() == shape.size()) {
    for (std::size_t a = 0; a < of.size(); ++a) out.push_back(of[a] == 1 ? Dim(0) : index[a]);
    return out;
  }
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (!is_reduced[a]) out.push_back(index[a]);
  }
  RESILIN_ASSERT(out.size() == of.size(), "an output of a region has neither the shape of its rows nor the full one");
  return out;
}

}  // namespace resilin
