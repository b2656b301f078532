// src/resilin/ir/graph.cpp -- building graphs and asking which symbols they have.
#include "resilin/ir/graph.h"

#include <utility>

#include "resilin/base/error.h"

namespace resilin::ir {

void Graph::declare(Dim e, bool is_size) {
  std::vector<Symbol> symbols;
  collect_symbols(e, symbols);
  for (const Symbol s : symbols) {
    if (s.space != 's' || s.index < 0) continue;  // verify names it
    if (s.index >= symbol_count_) {
      symbol_count_ = s.index + 1;
      declared_.resize(static_cast<std::size_t>(symbol_count_), false);
    }
    if (declared_[static_cast<std::size_t>(s.index)]) continue;
    declared_[static_cast<std::size_t>(s.index)] = true;
    if (is_size) facts_.set_range(s, {0, Range::kHighest});
  }
}

void Graph::declare(const Type& type) {
  for (const Dim size : type.shape) declare(size, true);
  if (!type.strides) return;
  for (const Dim stride : *type.strides) declare(stride, true);
}

ValueId Graph::add_input(Type type, std::string name) {
  RESILIN_ASSERT(nodes_.empty(), "inputs come before nodes");
  declare(type);
  types_.push_back(std::move(type));
  input_names_.push_back(std::move(name));
  producer_.push_back(-1);
  return {input_count_++};
}

Number Graph::add_number(NumberKind kind) {
  numbers_.push_back(kind);
  return Number::argument(kind, static_cast<int>(numbers_.size()) - 1);
}

Dim Graph::add_symbol(Range range) {
  const Symbol symbol{'s', symbol_count_++};
  declared_.push_back(true);
  if (range != Range{}) facts_.set_range(symbol, range);
  return Dim::symbol(symbol);
}

std::vector<ValueId> Graph::add_node(Node node, std::vector<Type> output_types) {
  node.attrs.info().visit_dims(node.attrs.data(), [&](Dim e) { declare(e, false); });
  node.outputs.clear();
  for (Type& type : output_types) {
    declare(type);
    node.outputs.push_back({value_count()});
    types_.push_back(std::move(type));
    producer_.push_back(static_cast<int>(nodes_.size()));
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

void Graph::add_check(SizeCheck check) {
  declare(check.a, false);
  declare(check.b, false);
  checks_.push_back(std::move(check));
}

Graph Graph::without_nodes() const {
  Graph out = *this;
  const std::size_t inputs = static_cast<std::size_t>(input_count_);
  out.types_.resize(inputs);
  out.producer_.resize(inputs);
  out.nodes_.clear();
  out.outputs_.clear();
  return out;
}

const Node* Graph::producer(ValueId id) const {
  const int node = producer_[static_cast<std::size_t>(id.index)];
  return node < 0 ? nullptr : &nodes_[static_cast<std::size_t>(node)];
}

std::vector<Symbol> Graph::integer_parameters() const {
  std::vector<bool> pending = declared_;
  std::vector<Symbol> in_inputs;
  for (int i = 0; i < input_count_; ++i) {
    for (const Dim e : types_[static_cast<std::size_t>(i)].shape) collect_symbols(e, in_inputs);
    if (types_[static_cast<std::size_t>(i)].strides) {
      for (const Dim e : *types_[static_cast<std::size_t>(i)].strides) collect_symbols(e, in_inputs);
    }
  }
  for (const Symbol s : in_inputs) {
    if (s.space == 's') pending[static_cast<std::size_t>(s.index)] = false;
  }
  std::vector<Symbol> parameters;
  for (int k = 0; k < symbol_count_; ++k) {
    if (pending[static_cast<std::size_t>(k)]) parameters.push_back({'s', k});
  }
  return parameters;
}

}  // namespace resilin::ir
