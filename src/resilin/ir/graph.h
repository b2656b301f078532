// src/resilin/ir/graph.h -- Graph and Node: the program that tracing records, that passes rewrite, that plans are made from.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "resilin/ir/attrs.h"
#include "resilin/ir/type.h"
#include "resilin/sym/facts.h"

namespace resilin::ir {

struct OpDef;
class Graph;

/// Number of a value in its graph: inputs first, then node outputs in order.
struct ValueId {
  int index = -1;
  bool defined() const { return index >= 0; }
  friend bool operator==(const ValueId&, const ValueId&) = default;
};

/// One input of a node: a value, a number, or nothing (an optional input left out).
using Operand = std::variant<std::monostate, ValueId, Number>;

/// One application of an op.
struct Node {
  const OpDef* op = nullptr;
  Attrs attrs = {};
  std::vector<Operand> inputs = {};
  std::vector<ValueId> outputs = {};
  ValueId destination = {};  // defined: the (single) result is written into this value's memory and is an alias of it
  std::vector<std::shared_ptr<const Graph>> regions = {};  // of Control ops
  std::string scope = {};                                  // module path, for messages; not part of the text
};

/// Two sizes that must turn out equal at run time, with the message of the error if they do not.
struct SizeCheck {
  Dim a, b;
  std::string message;
  friend bool operator==(const SizeCheck&, const SizeCheck&) = default;
};

/// A list of nodes in topological order over typed values. Sizes are Dims over the symbols s0, s1, ... of this graph, scalar arguments are v0, v1, ...
///
/// Immutable once built; passes make new graphs. Symbols that occur in no input's shape or strides are integer parameters of the graph.
/// A symbol is declared by `add_symbol` or by its first use in a type (then it is >= 0), an attribute or a check.
class Graph {
 public:
  ValueId add_input(Type type, std::string name = "");
  /// A fresh argument v<k>.
  Number add_number(NumberKind kind);
  /// A fresh integer parameter s<k> (k = symbol_count before the call).
  Dim add_symbol(Range range = {0, Range::kHighest});
  /// Appends a node whose outputs have these types; gives back their ids.
  std::vector<ValueId> add_node(Node node, std::vector<Type> output_types);
  void set_outputs(std::vector<ValueId> outputs) { outputs_ = std::move(outputs); }
  void add_check(SizeCheck check);
  /// The same inputs, numbers, symbols, facts and checks without nodes and outputs: what a pass starts from.
  Graph without_nodes() const;

  int input_count() const { return input_count_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Type& type(ValueId id) const { return types_[static_cast<std::size_t>(id.index)]; }
  int value_count() const { return static_cast<int>(types_.size()); }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<NumberKind>& numbers() const { return numbers_; }
  const std::vector<SizeCheck>& checks() const { return checks_; }
  int symbol_count() const { return symbol_count_; }
  const Facts& facts() const { return facts_; }
  Facts& facts() { return facts_; }
  /// The node that makes a value, or null for an input.
  const Node* producer(ValueId id) const;
  const std::string& input_name(ValueId id) const { return input_names_[static_cast<std::size_t>(id.index)]; }
  /// Declared symbols in no input's type, ascending: bound by the caller after the inputs.
  std::vector<Symbol> integer_parameters() const;

 private:
  void declare(Dim e, bool is_size);
  void declare(const Type& type);
  int input_count_ = 0;
  int symbol_count_ = 0;
  std::vector<bool> declared_;  // of each symbol below symbol_count_
  std::vector<Type> types_;
  std::vector<std::string> input_names_;
  std::vector<int> producer_;  // node index of each value, -1 for inputs
  std::vector<Node> nodes_;
  std::vector<ValueId> outputs_;
  std::vector<NumberKind> numbers_;
  std::vector<SizeCheck> checks_;
  Facts facts_;
};

/// The same graph with symbols renamed s0, s1, ... without gaps: first those of the inputs' shapes and strides in order, then the integer parameters.
/// When the pointer is set, entry k of the vector becomes the old index of the new symbol s<k>.
Graph renumber(const Graph& graph, std::vector<int>* old_symbol_of_new);

/// The text form; values and symbols are numbered by first appearance, so equal graphs print equal text. `parse` gives back an equal graph.
/// Names of inputs and scopes are not part of it. A symbol without a fact line has the range [0, inf).
///
///   graph(%0: f32[s0, s1], %1: f32[s1]) integers(s2) numbers(v0: f64) {
///     fact s0 in [0, 4096]
///     check s2 = s0 : "message"
///     %2: f32[s0, s1] = add(%0, %1)
///     %3: f32[s0, s1] = mul(%2, v0) into %0
///     %4: f32[s0, 1], %5: i64[s0, 1] = max(%3) {axes=[1], keepdim=true}
///     %6: f32[s0, 1] = cond(%4, none, 0x1p+0) regions {
///       graph(...) { ... }
///     }
///     return %6
///   }
std::string print(const Graph& graph);
/// Ops by name through `find` (null: unknown); throws ArgumentError with line and column for anything malformed. Never crashes on hostile text.
Graph parse(std::string_view text, const std::function<const OpDef*(std::string_view)>& find);

/// Throws InternalError naming the first violated rule: undefined or later values, types that infer does not give, destination of another dtype or shape.
void verify(const Graph& graph);

}  // namespace resilin::ir
