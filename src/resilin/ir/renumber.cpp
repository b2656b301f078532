// src/resilin/ir/renumber.cpp -- the same graph with its symbols named in order of first appearance.
#include <algorithm>
#include <cctype>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/ir/fact_lines.h"
#include "resilin/ir/graph.h"

namespace resilin::ir {
namespace {

/// New index of every old symbol; -1 for those that the graph does not have.
struct Renaming {
  std::vector<int> new_of_old;
  std::vector<int> old_of_new;

  void add(Symbol s) {
    int& slot = new_of_old[static_cast<std::size_t>(s.index)];
    if (slot >= 0) return;
    slot = static_cast<int>(old_of_new.size());
    old_of_new.push_back(s.index);
  }
  int find(Symbol s) const {
    if (s.space != 's' || s.index < 0 || s.index >= static_cast<int>(new_of_old.size())) return -1;
    return new_of_old[static_cast<std::size_t>(s.index)];
  }
  bool changes() const {
    for (std::size_t k = 0; k < old_of_new.size(); ++k) {
      if (old_of_new[k] != static_cast<int>(k)) return true;
    }
    return false;
  }
  Dim rename(Dim e) const {
    return e.is_constant() ? e : substitute(e, [this](Symbol s) {
      const int index = find(s);
      return index < 0 ? Dim::symbol(s) : Dim::symbol('s', index);
    });
  }
  Type rename(Type type) const {
    for (Dim& e : type.shape) e = rename(e);
    if (type.strides) {
      for (Dim& e : *type.strides) e = rename(e);
    }
    return type;
  }
};

Renaming renaming_of(const Graph& graph) {
  Renaming renaming;
  renaming.new_of_old.assign(static_cast<std::size_t>(graph.symbol_count()), -1);
  std::vector<Symbol> symbols;
  for (int i = 0; i < graph.input_count(); ++i) {
    const Type& type = graph.type({i});
    for (const Dim e : type.shape) collect_symbols(e, symbols);
    if (type.strides) {
      for (const Dim e : *type.strides) collect_symbols(e, symbols);
    }
  }
  std::erase_if(symbols, [](Symbol s) { return s.space != 's'; });
  for (const Symbol s : graph.integer_parameters()) symbols.push_back(s);
  for (const Symbol s : symbols) renaming.add(s);
  return renaming;
}

Node rename(const Node& node, const Renaming& renaming) {
  Node out = node;
  if (renaming.changes()) {
    out.attrs = Attrs(node.attrs.info().map_values(
                          node.attrs.data(), [&](Dim e) { return renaming.rename(e); }, [](Number number) { return number; }),
                      &node.attrs.info());
  }
  for (std::shared_ptr<const Graph>& region : out.regions) region = std::make_shared<const Graph>(renumber(*region, nullptr));
  return out;
}

}  // namespace

Graph renumber(const Graph& graph, std::vector<int>* old_symbol_of_new) {
  const Renaming renaming = renaming_of(graph);
  Graph out;
  for (std::size_t k = 0; k < renaming.old_of_new.size(); ++k) out.add_symbol(Range{});
  out.facts() = rename_facts(graph.facts(), [&](Symbol s) { return renaming.find(s); });
  for (int i = 0; i < graph.input_count(); ++i) out.add_input(renaming.rename(graph.type({i})), graph.input_name({i}));
  for (const NumberKind kind : graph.numbers()) out.add_number(kind);
  for (const SizeCheck& check : graph.checks()) out.add_check({renaming.rename(check.a), renaming.rename(check.b), check.message});
  for (const Node& node : graph.nodes()) {
    std::vector<Type> types;
    for (const ValueId id : node.outputs) types.push_back(renaming.rename(graph.type(id)));
    out.add_node(rename(node, renaming), std::move(types));
  }
  out.set_outputs(graph.outputs());
  if (old_symbol_of_new != nullptr) *old_symbol_of_new = renaming.old_of_new;
  return out;
}

}  // namespace resilin::ir
