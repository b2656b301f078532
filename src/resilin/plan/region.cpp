// src/resilin/plan/region.cpp -- Internal: cuts the nodes of a group out of a graph as a region of its own.
#include "resilin/plan/region.h"

#include <algorithm>
#include <map>

namespace resilin {
namespace {

// Strides such that some order of the axes is row-major: the only ones that outputs take over from inputs.
bool is_dense_order(const Shape& shape, const Strides& strides, const Facts& facts) {
  std::vector<std::size_t> open;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (!(shape[a] == 1)) open.push_back(a);
  }
  Dim expected = 1;
  while (!open.empty()) {
    const std::vector<std::size_t>::iterator next =
        std::find_if(open.begin(), open.end(), [&](std::size_t a) { return facts.proves_equal(strides[a], expected); });
    if (next == open.end()) return false;
    expected = expected * shape[*next];
    open.erase(next);
  }
  return true;
}

bool same_dims(std::span<const Dim> a, std::span<const Dim> b, const Facts& facts) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](Dim x, Dim y) { return facts.proves_equal(x, y); });
}

// The layout that the outputs of a Pointwise region keep, when its full-shape inputs agree on one that is not row-major.
std::optional<Strides> common_layout(const ir::Graph& region, const Shape& shape) {
  std::optional<Strides> common;
  for (int v = 0; v < region.input_count(); ++v) {
    const ir::Type& type = region.type({v});
    if (!same_dims(type.shape, shape, region.facts())) continue;
    const Strides strides = ir::strides_of(type);
    if (!is_dense_order(type.shape, strides, region.facts())) return std::nullopt;
    if (common && !same_dims(*common, strides, region.facts())) return std::nullopt;
    common = strides;
  }
  if (common && same_dims(*common, contiguous_strides(shape), region.facts())) return std::nullopt;
  return common;
}

bool is_pointwise(const ir::Graph& graph, const Group& group) {
  return std::all_of(group.nodes.begin(), group.nodes.end(),
                     [&](int n) { return std::holds_alternative<ir::Pointwise>(graph.nodes()[static_cast<std::size_t>(n)].op->lower); });
}

class Cutter {
 public:
  Cutter(const ir::Graph& graph, const Group& group, std::vector<ir::Type>& types) : graph_(graph), group_(group), types_(types) {
    for (int s = 0; s < graph.symbol_count(); ++s) region_.graph.add_symbol();
    for (const NumberKind kind : graph.numbers()) region_.graph.add_number(kind);
    region_.graph.facts() = graph.facts();
    for (const int n : group.nodes) {
      for (const ir::ValueId id : node(n).outputs) inside_.insert({id.index, ir::ValueId{}});
    }
  }

  Region run() {
    for (const int n : group_.nodes) {
      for (const ir::Operand& operand : node(n).inputs) {
        if (const ir::ValueId* id = std::get_if<ir::ValueId>(&operand)) add_input(*id);
      }
      if (node(n).destination.defined()) add_input(node(n).destination);
    }
    const std::vector<ir::ValueId> outputs = outside_uses();
    choose_layouts(outputs);
    for (const int n : group_.nodes) copy_node(n);
    std::vector<ir::ValueId> region_outputs;
    for (const ir::ValueId id : outputs) region_outputs.push_back(inside_.at(id.index));
    region_.graph.set_outputs(region_outputs);
    return std::move(region_);
  }

 private:
  const ir::Node& node(int n) const { return graph_.nodes()[static_cast<std::size_t>(n)]; }

  void add_input(ir::ValueId id) {
    if (inside_.contains(id.index)) return;
    inside_.insert({id.index, region_.graph.add_input(types_[static_cast<std::size_t>(id.index)])});
    region_.outer.push_back(id);
  }

  std::vector<ir::ValueId> outside_uses() const {
    std::vector<ir::ValueId> outputs;
    const auto use = [&](ir::ValueId id, bool made_inside) {
      if (made_inside && std::find(outputs.begin(), outputs.end(), id) == outputs.end()) outputs.push_back(id);
    };
    const auto made_here = [&](ir::ValueId id) {
      const ir::Node* producer = graph_.producer(id);
      return producer != nullptr &&
             std::binary_search(group_.nodes.begin(), group_.nodes.end(), static_cast<int>(producer - graph_.nodes().data()));
    };
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (std::binary_search(group_.nodes.begin(), group_.nodes.end(), static_cast<int>(n))) {
        if (node(static_cast<int>(n)).destination.defined()) use(node(static_cast<int>(n)).outputs[0], true);
        continue;
      }
      for (const ir::Operand& operand : graph_.nodes()[n].inputs) {
        if (const ir::ValueId* id = std::get_if<ir::ValueId>(&operand)) use(*id, made_here(*id));
      }
    }
    for (const ir::ValueId id : graph_.outputs()) use(id, made_here(id));
    return outputs;
  }

  void choose_layouts(const std::vector<ir::ValueId>& outputs) {
    for (const ir::ValueId id : outputs) {
      ir::Type& type = types_[static_cast<std::size_t>(id.index)];
      type.strides.reset();
      if (is_pointwise(graph_, group_)) type.strides = common_layout(region_.graph, type.shape);
      const ir::ValueId destination = graph_.producer(id)->destination;
      if (destination.defined()) type.strides = types_[static_cast<std::size_t>(destination.index)].strides;
    }
  }

  void copy_node(int n) {
    ir::Node copy = node(n);
    for (ir::Operand& operand : copy.inputs) {
      if (ir::ValueId* id = std::get_if<ir::ValueId>(&operand)) *id = inside_.at(id->index);
    }
    if (copy.destination.defined()) copy.destination = inside_.at(copy.destination.index);
    std::vector<ir::Type> output_types;
    for (const ir::ValueId id : node(n).outputs) output_types.push_back(types_[static_cast<std::size_t>(id.index)]);
    const std::vector<ir::ValueId> made = region_.graph.add_node(std::move(copy), std::move(output_types));
    for (std::size_t o = 0; o < made.size(); ++o) {
      inside_[node(n).outputs[o].index] = made[o];
      region_.outer.push_back(node(n).outputs[o]);
    }
  }

  const ir::Graph& graph_;
  const Group& group_;
  std::vector<ir::Type>& types_;
  Region region_;
  std::map<int, ir::ValueId> inside_;  // value of the graph -> value of the region
};

constexpr ir::OpDef copy_op{
    .name = "copy",
    .inputs = {{"x", "[...]"}},
    .lower = ir::Pointwise{[](ir::PointwiseContext& c) { return c.input(0); }},
};

}  // namespace

std::optional<ir::Graph> as_copy(const ir::Graph& region) {
  if (region.nodes().size() != 1 || region.input_count() != 1) return std::nullopt;
  const ir::Node& node = region.nodes()[0];
  if (!std::holds_alternative<ir::View>(node.op->lower) || node.inputs.size() != 1 || node.destination.defined()) return std::nullopt;
  ir::Type row_major = region.type({0});
  row_major.strides.reset();
  const std::optional<Alias> alias = view_as_alias(region, node, row_major);
  const bool keeps_order =
      alias && alias->offset == 0 && same_dims(alias->strides, contiguous_strides(region.type(node.outputs[0]).shape), region.facts());
  if (!keeps_order || !region.facts().proves_equal(product(row_major.shape), product(region.type(node.outputs[0]).shape)))
    return std::nullopt;
  ir::Graph copy;
  for (int s = 0; s < region.symbol_count(); ++s) copy.add_symbol();
  copy.facts() = region.facts();
  const ir::ValueId input = copy.add_input(region.type({0}));
  copy.set_outputs(copy.add_node({.op = &copy_op, .attrs = {}, .inputs = {ir::Operand(input)}}, {row_major}));
  return copy;
}

Region cut_region(const ir::Graph& graph, const Group& group, std::vector<ir::Type>& types) { return Cutter(graph, group, types).run(); }

}  // namespace resilin
