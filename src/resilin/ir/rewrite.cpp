// src/resilin/ir/rewrite.cpp -- making a graph from a graph: replacement of nodes, dead code, common subexpressions.
#include "resilin/ir/rewrite.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/ir/op.h"

namespace resilin::ir {
namespace {

bool may_have_effects(const Node& node) { return node.destination.defined() || std::holds_alternative<Extern>(node.op->lower); }

/// Where each value of the old graph is in the new one.
class ValueMap {
 public:
  explicit ValueMap(const Graph& graph) : mapped_(static_cast<std::size_t>(graph.value_count())) {
    for (int i = 0; i < graph.input_count(); ++i) set({i}, ValueId{i});
  }
  void set(ValueId old, Operand now) { mapped_[static_cast<std::size_t>(old.index)] = std::move(now); }
  /// What an operand has become; monostate for a removed value.
  Operand find(const Operand& old) const {
    const ValueId* id = std::get_if<ValueId>(&old);
    return id == nullptr ? old : mapped_[static_cast<std::size_t>(id->index)];
  }
  ValueId value(ValueId old) const {
    const Operand& now = mapped_[static_cast<std::size_t>(old.index)];
    RESILIN_ASSERT(std::holds_alternative<ValueId>(now), cat("%", old.index, " became a number or nothing where a tensor must be"));
    return std::get<ValueId>(now);
  }

 private:
  std::vector<Operand> mapped_;
};

std::vector<Type> output_types(const Graph& graph, const Node& node) {
  std::vector<Type> types;
  for (const ValueId id : node.outputs) types.push_back(graph.type(id));
  return types;
}

std::vector<ValueId> copy_node(Graph& out, const Node& node, std::vector<Operand> inputs, const ValueMap& values, std::vector<Type> types) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool removed = std::holds_alternative<std::monostate>(inputs[i]) && !std::holds_alternative<std::monostate>(node.inputs[i]);
    RESILIN_ASSERT(!removed, cat("operand ", i, " of ", node.op->name, " was removed"));
  }
  Node copy = node;
  copy.inputs = std::move(inputs);
  if (node.destination.defined()) copy.destination = values.value(node.destination);
  return out.add_node(std::move(copy), std::move(types));
}

/// The applications seen since the last write, by hash.
class SeenNodes {
 public:
  explicit SeenNodes(const Graph& graph) : graph_(graph) {}

  /// The outputs of an equal node in the new graph.
  const std::vector<ValueId>* find(const Node& node, std::span<const Operand> inputs) const {
    const std::pair<Iterator, Iterator> range = entries_.equal_range(hash(node, inputs));
    for (Iterator entry = range.first; entry != range.second; ++entry) {
      const Entry& other = entry->second;
      const bool equal = other.node->op == node.op && other.node->attrs == node.attrs &&
                         std::equal(inputs.begin(), inputs.end(), other.inputs.begin(), other.inputs.end()) &&
                         output_types(graph_, *other.node) == output_types(graph_, node);
      if (equal) return &other.outputs;
    }
    return nullptr;
  }
  void add(const Node& node, std::span<const Operand> inputs, std::vector<ValueId> outputs) {
    entries_.emplace(hash(node, inputs), Entry{&node, {inputs.begin(), inputs.end()}, std::move(outputs)});
  }
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    const Node* node;  // of the old graph
    std::vector<Operand> inputs;
    std::vector<ValueId> outputs;
  };
  using Iterator = std::unordered_multimap<std::uint64_t, Entry>::const_iterator;

  static std::uint64_t hash(const Node& node, std::span<const Operand> inputs) {
    std::uint64_t seed = node.attrs.info().hash_structural(node.attrs.data());
    seed = hash_text(node.op->name, seed);
    for (const Operand& input : inputs) {
      if (const ValueId* id = std::get_if<ValueId>(&input)) {
        seed = hash_mix(seed, static_cast<std::uint64_t>(id->index) + 1);
      } else if (const Number* number = std::get_if<Number>(&input)) {
        seed = FieldTraits<Number>::hash(seed, *number);
      } else {
        seed = hash_mix(seed, 0);
      }
    }
    return seed;
  }

  const Graph& graph_;
  std::unordered_multimap<std::uint64_t, Entry> entries_;
};

}  // namespace

Graph rewrite(const Graph& graph, const Replace& replace) {
  Graph out = graph.without_nodes();
  ValueMap values(graph);
  for (const Node& node : graph.nodes()) {
    std::vector<Operand> inputs;
    for (const Operand& input : node.inputs) inputs.push_back(values.find(input));
    std::optional<std::vector<Operand>> replacement = replace(out, node, inputs);
    if (!replacement) {
      const std::vector<ValueId> ids = copy_node(out, node, std::move(inputs), values, output_types(graph, node));
      replacement.emplace(ids.begin(), ids.end());
    }
    RESILIN_ASSERT(replacement->size() == node.outputs.size(),
                   cat(node.op->name, " has ", node.outputs.size(), " outputs, not ", replacement->size()));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) values.set(node.outputs[i], std::move((*replacement)[i]));
  }
  std::vector<ValueId> outputs;
  for (const ValueId id : graph.outputs()) outputs.push_back(values.value(id));
  out.set_outputs(std::move(outputs));
  return out;
}

Graph dead_code_eliminate(const Graph& graph) {
  std::vector<bool> needed(static_cast<std::size_t>(graph.value_count()), false);
  const auto need = [&](ValueId id) { needed[static_cast<std::size_t>(id.index)] = true; };
  std::vector<bool> kept(graph.nodes().size(), false);
  for (const ValueId id : graph.outputs()) need(id);
  for (std::size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    kept[i] = may_have_effects(node);
    for (const ValueId id : node.outputs) kept[i] = kept[i] || needed[static_cast<std::size_t>(id.index)];
    if (!kept[i]) continue;
    for (const Operand& input : node.inputs) {
      if (const ValueId* id = std::get_if<ValueId>(&input)) need(*id);
    }
    if (node.destination.defined()) need(node.destination);
  }
  std::size_t next = 0;
  return rewrite(graph, [&](Graph&, const Node& node, std::span<const Operand>) -> std::optional<std::vector<Operand>> {
    if (kept[next++]) return std::nullopt;
    return std::vector<Operand>(node.outputs.size());
  });
}

Graph eliminate_common(const Graph& graph) {
  SeenNodes seen(graph);
  return rewrite(graph, [&](Graph& out, const Node& node, std::span<const Operand> inputs) -> std::optional<std::vector<Operand>> {
    if (may_have_effects(node)) seen.clear();
    if (may_have_effects(node) || !node.regions.empty()) return std::nullopt;
    if (const std::vector<ValueId>* outputs = seen.find(node, inputs)) return std::vector<Operand>(outputs->begin(), outputs->end());
    Node copy = node;
    copy.inputs.assign(inputs.begin(), inputs.end());
    std::vector<ValueId> ids = out.add_node(std::move(copy), output_types(graph, node));
    std::vector<Operand> operands(ids.begin(), ids.end());
    seen.add(node, inputs, std::move(ids));
    return operands;
  });
}

}  // namespace resilin::ir
