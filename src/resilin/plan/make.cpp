// src/resilin/plan/make.cpp -- make_plan(): the contents page of planning, and the translation of groups into steps.
#include <algorithm>
#include <map>
#include <set>

#include "resilin/base/log.h"
#include "resilin/ir/rewrite.h"
#include "resilin/plan/group.h"
#include "resilin/plan/plan.h"
#include "resilin/plan/region.h"

namespace resilin {
namespace {

class PlanMaker {
 public:
  PlanMaker(ir::Graph graph, const SizeClass& size_class) : size_class_(size_class) {
    plan_.graph = std::move(graph);
    for (int v = 0; v < plan_.graph.value_count(); ++v) types_.push_back(plan_.graph.type({v}));
    slot_of_.assign(types_.size(), -1);
    for (int v = 0; v < graph_().input_count(); ++v) slot_of_[static_cast<std::size_t>(v)] = plan_.slot_count++;
  }

  Plan run() {
    plan_.bindings = Bindings(graph_());
    for (const Group& group : group_nodes(graph_())) add_group(group);
    for (const ir::SizeCheck& check : graph_().checks()) {
      plan_.checks.push_back(
          {as_written(check.a), as_written(check.b), check.message, uses_fresh_size(check.a) || uses_fresh_size(check.b)});
    }
    for (const ir::ValueId id : graph_().outputs()) plan_.outputs.push_back(slot(id));
    plan_.integers = DimProgram(dims_);
    free_slots();
    return std::move(plan_);
  }

 private:
  const ir::Graph& graph_() const { return plan_.graph; }
  const ir::Type& type(ir::ValueId id) const { return types_[static_cast<std::size_t>(id.index)]; }
  int& slot_entry(ir::ValueId id) { return slot_of_[static_cast<std::size_t>(id.index)]; }
  int slot(ir::ValueId id) {
    RESILIN_ASSERT(slot_entry(id) >= 0, "a step needs a value that no step has made");
    return slot_entry(id);
  }
  void add(StepBody body) { plan_.steps.push_back({std::move(body), {}}); }

  // --- integers ------------------------------------------------------------------------------------------------------------------
  int integer(Dim e) { return range({&e, 1}).first; }
  // The graph's facts hold what its checks establish: simplified by them, a check would always pass.
  int as_written(Dim e) {
    dims_.push_back(e);
    return static_cast<int>(dims_.size()) - 1;
  }
  IntegerRange range(std::span<const Dim> dims) {
    const IntegerRange at{static_cast<int>(dims_.size()), static_cast<int>(dims.size())};
    for (const Dim e : dims) dims_.push_back(graph_().facts().simplify(e));
    return at;
  }

  // --- groups --------------------------------------------------------------------------------------------------------------------
  void add_group(const Group& group) {
    const ir::Node& node = graph_().nodes()[static_cast<std::size_t>(group.nodes[0])];
    switch (group.kind) {
      case GroupKind::Alias: return add_alias(node);
      case GroupKind::Contract: return add_contract(node);
      case GroupKind::Extern: return add_extern(node);
      case GroupKind::Loops: return add_loops(group);
    }
  }

  void add_alias(const ir::Node& node) {
    const ir::ValueId input = std::get<ir::ValueId>(node.inputs[0]);
    const std::optional<Alias> alias = view_as_alias(graph_(), node, type(input));
    RESILIN_ASSERT(alias.has_value(), "a view was grouped as an alias but is none");
    types_[static_cast<std::size_t>(node.outputs[0].index)].strides = alias->strides;
    slot_entry(node.outputs[0]) = plan_.slot_count++;
    aliases_.insert(node.outputs[0].index);
    add(AliasStep{slot(node.outputs[0]), slot(input), integer(alias->offset), range(type(node.outputs[0]).shape), range(alias->strides)});
  }

  int allocate(ir::ValueId id) {
    slot_entry(id) = plan_.slot_count++;
    const ir::Type& of = type(id);
    add(AllocateStep{slot(id), of.dtype, range(of.shape), of.strides ? range(*of.strides) : IntegerRange{}});
    return slot(id);
  }

  void add_contract(const ir::Node& node) {
    const int a = slot(std::get<ir::ValueId>(node.inputs[0]));
    const int b = slot(std::get<ir::ValueId>(node.inputs[1]));
    add(ContractStep{node.op, std::get<ir::Contract>(node.op->lower).labels, a, b, allocate(node.outputs[0])});
  }

  void add_extern(const ir::Node& node) {
    ExternStep step;
    step.op = node.op;
    step.attrs = node.attrs;
    for (const ir::Operand& operand : node.inputs) {
      const ir::ValueId* id = std::get_if<ir::ValueId>(&operand);
      if (std::holds_alternative<Number>(operand))
        throw UnsupportedError(cat(node.op->name, ": an Extern takes tensors and attributes, not numbers"));
      step.inputs.push_back(id == nullptr ? -1 : slot(*id));
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const ir::ValueId id = node.outputs[o];
      slot_entry(id) = plan_.slot_count++;
      step.outputs.push_back(slot(id));
      step.output_types.push_back(type(id));
      for (std::size_t a = 0; a < type(id).shape.size(); ++a) note_fresh(type(id).shape[a], static_cast<int>(o), static_cast<int>(a), step);
    }
    add(std::move(step));
  }
  // A symbol that no input binds and that first appears here is a size the Extern finds out.
  void note_fresh(Dim size, int output, int axis, ExternStep& step) {
    if (!size.is_symbol()) return;
    const int symbol = size.as_symbol().index;
    std::vector<int>& parameters = plan_.bindings.parameters;
    const std::vector<int>::iterator at = std::find(parameters.begin(), parameters.end(), symbol);
    if (at == parameters.end()) return;
    parameters.erase(at);
    step.fresh.push_back({output, axis, symbol});
    fresh_.insert(symbol);
  }
  bool uses_fresh_size(Dim e) const {
    return std::any_of(fresh_.begin(), fresh_.end(), [&](int symbol) { return contains(e, Symbol{'s', symbol}); });
  }

  // --- kernels -------------------------------------------------------------------------------------------------------------------
  void add_loops(const Group& group) {
    const Region region = cut_region(graph_(), group, types_);
    if (region.graph.outputs().empty()) return;
    refuse_overlapping_destination(region);
    for (const ir::ValueId inner : region.graph.outputs()) {
      const ir::ValueId id = region.outer[static_cast<std::size_t>(inner.index)];
      const ir::ValueId destination = graph_().producer(id)->destination;
      if (destination.defined()) {
        slot_entry(id) = slot(destination);
      } else {
        allocate(id);
      }
    }
    const std::optional<ir::Graph> copy = as_copy(region.graph);
    add_launch(region, lower(copy ? *copy : region.graph, size_class_));
  }

  // An input of an in-place region that is another view of the destination would be read after it is overwritten.
  void refuse_overlapping_destination(const Region& region) const {
    for (const ir::Node& node : region.graph.nodes()) {
      if (!node.destination.defined()) continue;
      const ir::ValueId destination = region.outer[static_cast<std::size_t>(node.destination.index)];
      for (int v = 0; v < region.graph.input_count(); ++v) {
        const ir::ValueId input = region.outer[static_cast<std::size_t>(v)];
        if (input == destination || !(root(input) == root(destination))) continue;
        throw UnsupportedError(
            cat(node.op->name, ": reads another view of the tensor that it writes in place; make a copy of that view first"));
      }
    }
  }
  ir::ValueId root(ir::ValueId id) const {
    for (const ir::Node* node = graph_().producer(id); node != nullptr; node = graph_().producer(id)) {
      if (node->destination.defined()) {
        id = node->destination;
      } else if (aliases_.contains(id.index)) {
        id = std::get<ir::ValueId>(node->inputs[0]);
      } else {
        break;
      }
    }
    return id;
  }

  static std::string name_of(const ir::Graph& region) {
    std::string name;
    for (const ir::Node& node : region.nodes()) {
      if (!name.empty()) name += "+";
      name += node.op->name;
    }
    return name;
  }

  void add_launch(const Region& region, Lowered lowered) {
    LaunchStep step;
    step.name = name_of(region.graph);
    const auto in_region = [&](Dim e) {
      return substitute(e, [&](Symbol s) { return s.space == 's' ? lowered.integers[static_cast<std::size_t>(s.index)] : Dim::symbol(s); });
    };
    int partial = 0;
    for (std::size_t b = 0; b < lowered.buffers.size(); ++b) {
      const loop::Buffer& buffer = lowered.nest.buffers[b];
      if (buffer.role == loop::Buffer::Role::Partial) {
        step.pointers.push_back(-2 - partial++);
        const Dim bytes = in_region(buffer.elements) * Dim(size_bytes(buffer.dtype));
        step.partials.push_back(range({&bytes, 1}));
      } else if (lowered.buffers[b].defined()) {
        step.pointers.push_back(slot(region.outer[static_cast<std::size_t>(lowered.buffers[b].index)]));
      } else {
        step.pointers.push_back(-1);
      }
    }
    step.integers = range(lowered.integers);
    step.arguments = lowered.arguments;
    for (const Lowered::TableRow& row : lowered.table) {
      step.table.push_back({slot(region.outer[static_cast<std::size_t>(row.value.index)]), range(row.columns)});
    }
    std::vector<Dim> extents;
    std::vector<Dim> costs;
    for (const loop::Phase& phase : lowered.nest.phases) {
      extents.push_back(in_region(phase.extent));
      costs.push_back(in_region(phase.cost));
    }
    step.extents = range(extents);
    step.costs = range(costs);
    step.row_bytes = integer(in_region(loop::row_bytes(lowered.nest)));
    for (const Lowered::CheckSite& site : lowered.check_sites)
      step.check_sites.push_back({site.op, site.input, integer(site.low), integer(site.high)});
    for (const Lowered::NonEmpty& check : lowered.non_empty) step.non_empty.push_back({check.site, integer(check.count)});
    step.text = loop::print(lowered.nest);
    if (show_enabled("nest")) show("nest", step.name, step.text);
    step.nest = std::make_shared<const loop::Nest>(std::move(lowered.nest));
    add(std::move(step));
  }

  // --- lifetimes -----------------------------------------------------------------------------------------------------------------
  void free_slots() {
    std::map<int, std::size_t> last_use;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      for (const int used : slots_used(plan_.steps[s].body)) last_use[used] = s;
    }
    for (const std::pair<const int, std::size_t>& use : last_use) {
      const bool is_output = std::find(plan_.outputs.begin(), plan_.outputs.end(), use.first) != plan_.outputs.end();
      if (use.first >= graph_().input_count() && !is_output) plan_.steps[use.second].free.push_back(use.first);
    }
  }
  static std::vector<int> slots_used(const StepBody& body) {
    std::vector<int> used;
    if (const AllocateStep* step = std::get_if<AllocateStep>(&body)) used = {step->slot};
    if (const AliasStep* step = std::get_if<AliasStep>(&body)) used = {step->slot, step->source};
    if (const ContractStep* step = std::get_if<ContractStep>(&body)) used = {step->a, step->b, step->out};
    if (const ExternStep* step = std::get_if<ExternStep>(&body)) {
      used = step->inputs;
      used.insert(used.end(), step->outputs.begin(), step->outputs.end());
    }
    if (const LaunchStep* step = std::get_if<LaunchStep>(&body)) {
      used = step->pointers;
      for (const LaunchStep::TableRow& row : step->table) used.push_back(row.slot);
    }
    used.erase(std::remove_if(used.begin(), used.end(), [](int slot) { return slot < 0; }), used.end());
    return used;
  }

  const SizeClass size_class_;
  Plan plan_;
  std::vector<ir::Type> types_;  // per value, with the strides chosen so far
  std::vector<int> slot_of_;     // per value
  std::set<int> aliases_;        // values that are views of their node's first input
  std::set<int> fresh_;          // symbols of sizes that Externs find out
  std::vector<Dim> dims_;        // of plan_.integers
};

}  // namespace

Bindings::Bindings(const ir::Graph& graph) : symbol_count(graph.symbol_count()) {
  std::vector<bool> bound(static_cast<std::size_t>(symbol_count), false);
  const auto bind_one = [&](Dim e, int input, std::size_t axis, bool is_stride) {
    if (!e.is_symbol() || bound[static_cast<std::size_t>(e.as_symbol().index)]) return;
    bound[static_cast<std::size_t>(e.as_symbol().index)] = true;
    from_inputs.push_back({e.as_symbol().index, input, static_cast<int>(axis), is_stride});
  };
  for (int v = 0; v < graph.input_count(); ++v) {
    const ir::Type& type = graph.type({v});
    for (std::size_t a = 0; a < type.shape.size(); ++a) bind_one(type.shape[a], v, a, false);
    for (std::size_t a = 0; type.strides && a < type.strides->size(); ++a) bind_one((*type.strides)[a], v, a, true);
  }
  for (const Symbol s : graph.integer_parameters()) parameters.push_back(s.index);
}

SymbolValues Bindings::bind(std::span<const Tensor* const> inputs, std::span<const i64> parameter_values) const {
  SymbolValues values(static_cast<std::size_t>(symbol_count), 0);
  for (const SymbolBinding& binding : from_inputs) {
    const TensorBody& body = inputs[static_cast<std::size_t>(binding.input)]->body();
    const Shape& from = binding.is_stride ? body.strides : body.shape;
    values[static_cast<std::size_t>(binding.symbol)] = from[static_cast<std::size_t>(binding.axis)].value();
  }
  for (std::size_t p = 0; p < parameter_values.size(); ++p) values[static_cast<std::size_t>(parameters[p])] = parameter_values[p];
  return values;
}

int Plan::launch_count() const {
  return static_cast<int>(std::count_if(steps.begin(), steps.end(), [](const Step& step) {
    return std::holds_alternative<LaunchStep>(step.body) || std::holds_alternative<ContractStep>(step.body);
  }));
}

SizeSelectors size_selectors(const ir::Graph& expanded) {
  SizeSelectors selectors;
  for (const ir::Node& node : expanded.nodes()) {
    if (const ir::Reduce* reduce = std::get_if<ir::Reduce>(&node.op->lower)) {
      const Shape& shape = expanded.type(std::get<ir::ValueId>(node.inputs[0])).shape;
      Dim count = 1;
      for (const i64 axis : reduce->axes(node.attrs.ref(), static_cast<i64>(shape.size())))
        count = count * shape[static_cast<std::size_t>(axis)];
      selectors.reduced_elements = max(selectors.reduced_elements, count);
    }
  }
  for (const ir::ValueId id : expanded.outputs()) {
    const ir::Type& type = expanded.type(id);
    selectors.output_bytes = max(selectors.output_bytes, product(type.shape) * Dim(size_bytes(type.dtype)));
  }
  return selectors;
}

Plan make_plan(const ir::Graph& graph, const SizeClass& size_class) {
  const ir::Graph canonical = ir::eliminate_common(ir::dead_code_eliminate(graph));
  if (show_enabled("graph")) show("graph", "canonical graph", ir::print(canonical));
  Plan plan = PlanMaker(canonical, size_class).run();
  if (show_enabled("plan")) show("plan", "plan", print(plan));
  return plan;
}

}  // namespace resilin
