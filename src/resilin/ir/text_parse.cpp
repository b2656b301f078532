// src/resilin/ir/text_parse.cpp -- a graph from its text.
#include <algorithm>
#include <string>
#include <utility>

#include "resilin/base/reflect.h"
#include "resilin/base/text.h"
#include "resilin/ir/fact_lines.h"
#include "resilin/ir/graph.h"
#include "resilin/ir/op.h"
#include "resilin/ir/text_cursor.h"

namespace resilin::ir {
namespace {

constexpr int kMaxNesting = 32;  // of regions: each level takes a few frames of the stack

using FindOp = std::function<const OpDef*(std::string_view)>;

std::vector<Symbol> symbols_of(const Type& type) {
  std::vector<Symbol> symbols;
  for (const Dim e : type.shape) collect_symbols(e, symbols);
  if (type.strides) {
    for (const Dim e : *type.strides) collect_symbols(e, symbols);
  }
  return symbols;
}

/// Reads one graph; the regions of its nodes are read by parsers of their own.
class GraphParser {
 public:
  GraphParser(TextCursor& in, const FindOp& find, int nesting) : in_(in), find_(find), nesting_(nesting) {}

  Graph run() {
    if (nesting_ > kMaxNesting) in_.fail(cat("regions are nested too deeply; at most ", kMaxNesting, " levels are read"));
    read_header();
    read_facts();
    while (in_.take("check")) read_check();
    while (!in_.take("return")) read_node();
    std::vector<ValueId> outputs;
    if (!in_.next_is("}")) {
      do {
        outputs.push_back(read_value());
      } while (in_.take(","));
    }
    in_.need("}");
    graph_.set_outputs(std::move(outputs));
    return std::move(graph_);
  }

 private:
  /// Up to "{". Symbols are counted before the graph makes room for them.
  void read_header() {
    in_.need("graph");
    const std::size_t at = in_.position();
    std::vector<Type> inputs;
    std::vector<Symbol> symbols;
    in_.need("(");
    if (!in_.take(")")) {
      do {
        read_new_value(static_cast<int>(inputs.size()));
        inputs.push_back(read_type());
        const std::vector<Symbol> more = symbols_of(inputs.back());
        symbols.insert(symbols.end(), more.begin(), more.end());
      } while (in_.take(","));
      in_.need(")");
    }
    const int count = count_symbols(std::move(symbols), read_integers(), at);
    for (int k = 0; k < count; ++k) graph_.add_symbol(Range{});
    for (Type& type : inputs) graph_.add_input(std::move(type));
    read_numbers();
    in_.need("{");
  }

  std::vector<Symbol> read_integers() {
    std::vector<Symbol> integers;
    if (!in_.take("integers")) return integers;
    in_.need("(");
    do {
      integers.push_back({'s', in_.number_after('s', "a symbol such as s2")});
    } while (in_.take(","));
    in_.need(")");
    return integers;
  }

  /// How many symbols there are: s0 .. s<n-1> without gaps, integers once each and in no input.
  int count_symbols(std::vector<Symbol> symbols, const std::vector<Symbol>& integers, std::size_t at) {
    const auto less = [](Symbol a, Symbol b) { return a.index < b.index; };
    for (const Symbol s : symbols) {
      if (s.space != 's') in_.fail_at(at, cat("symbol ", Dim::symbol(s), " is none of a graph; its symbols are s0, s1, ..."));
    }
    std::sort(symbols.begin(), symbols.end(), less);
    symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
    symbols.insert(symbols.end(), integers.begin(), integers.end());
    std::sort(symbols.begin(), symbols.end(), less);
    for (std::size_t k = 0; k < symbols.size(); ++k) {
      if (symbols[k].index == static_cast<int>(k)) continue;
      in_.fail_at(at, cat("symbol s", symbols[k].index, " stands in place of s", k,
                          "; inputs and integers must declare s0, s1, ... without gaps, each integer once"));
    }
    return static_cast<int>(symbols.size());
  }

  void read_numbers() {
    if (!in_.take("numbers")) return;
    in_.need("(");
    do {
      const std::size_t at = in_.position();
      const std::size_t index = static_cast<std::size_t>(in_.number_after('v', "a number such as v0"));
      if (index != graph_.numbers().size()) in_.fail_at(at, cat("number v", index, " comes here; v", graph_.numbers().size(), " must"));
      in_.need(":");
      const std::size_t kind_at = in_.position();
      const std::string_view kind = in_.word("bool, i64 or f64");
      graph_.add_number(in_.located(kind_at, [&] { return enum_parse<NumberKind>(kind); }));
    } while (in_.take(","));
    in_.need(")");
  }

  void read_facts() {
    std::vector<std::string> lines;
    std::vector<std::size_t> positions;
    while (in_.take("fact")) {
      positions.push_back(in_.position());
      lines.emplace_back(in_.rest_of_line());
      for (const Symbol s : symbols_of_line(lines.back())) check_declared(s, positions.back());
    }
    Facts facts = unstated_facts(lines, graph_.symbol_count());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      in_.located(positions[i], [&] { facts.parse_line(lines[i]); });
    }
    graph_.facts() = std::move(facts);
  }

  void read_check() {
    SizeCheck check;
    check.a = read_dim("=");
    in_.need("=");
    check.b = read_dim(":");
    in_.need(":");
    const std::size_t at = in_.position();
    const std::string_view message = in_.quoted();
    check.message = in_.located(at, [&] { return resilin::detail::parse_quoted(message); });
    graph_.add_check(std::move(check));
  }

  /// A node without outputs starts with "=".
  void read_node() {
    Node node;
    std::vector<Type> types;
    if (!in_.next_is("=")) {
      do {
        read_new_value(graph_.value_count() + static_cast<int>(types.size()));
        const std::size_t at = in_.position();
        types.push_back(read_type());
        for (const Symbol s : symbols_of(types.back())) check_declared(s, at);
      } while (in_.take(","));
    }
    in_.need("=");
    node.op = read_op();
    read_operands(node);
    read_attrs(node);
    if (in_.take("into")) node.destination = read_value();
    if (in_.take("regions")) {
      in_.need("{");
      while (!in_.take("}")) node.regions.push_back(std::make_shared<const Graph>(GraphParser(in_, find_, nesting_ + 1).run()));
    }
    graph_.add_node(std::move(node), std::move(types));
  }

  const OpDef* read_op() {
    const std::size_t at = in_.position();
    const std::string_view name = in_.word("the name of an op");
    const OpDef* const op = find_(name);
    if (op == nullptr) in_.fail_at(at, cat("unknown op: ", name, "; it must be a registered one"));
    return op;
  }

  void read_operands(Node& node) {
    const std::size_t at = in_.position();
    in_.need("(");
    if (!in_.take(")")) {
      do {
        node.inputs.push_back(read_operand());
      } while (in_.take(","));
      in_.need(")");
    }
    if (!accepts_operand_count(*node.op, node.inputs.size())) {
      in_.fail_at(
          at, cat("wrong number of operands: ", node.op->name, " has ", node.inputs.size(), "; its inputs are ", node.op->inputs.size()));
    }
  }

  Operand read_operand() {
    if (in_.next_is("%")) return read_value();
    if (in_.take("none")) return std::monostate{};
    const std::size_t at = in_.position();
    const std::string_view text = in_.until(",)", "a value, a number or none");
    if (!text.starts_with('v')) return in_.located(at, [&] { return parse_number(text); });
    const i64 index = in_.located(at, [&] { return parse_integer(text.substr(1)); });
    const bool declared = index >= 0 && index < static_cast<i64>(graph_.numbers().size());
    if (!declared) in_.fail_at(at, cat("number ", text, " is not declared; numbers(...) must list it"));
    return Number::argument(graph_.numbers()[static_cast<std::size_t>(index)], static_cast<int>(index));
  }

  void read_attrs(Node& node) {
    const AttrsInfo& info = node.op->attrs != nullptr ? *node.op->attrs : Attrs().info();
    const std::size_t at = in_.position();
    const std::string_view text = in_.next_is("{") ? in_.braces() : std::string_view();
    node.attrs = Attrs(in_.located(at, [&] { return info.parse(text); }), &info);
    info.visit_dims(node.attrs.data(), [&](Dim e) { check_declared(e, at); });
    info.visit_numbers(node.attrs.data(), [&](Number number) { check_declared(number, at); });
  }

  /// "%3: " of a value that is made here.
  void read_new_value(int expected) {
    const std::size_t at = in_.position();
    const int index = in_.number_after('%', "a value such as %0");
    if (index != expected) in_.fail_at(at, cat("value %", index, " comes here; %", expected, " must"));
    in_.need(":");
  }

  ValueId read_value() {
    const std::size_t at = in_.position();
    const int index = in_.number_after('%', "a value such as %0");
    if (index >= graph_.value_count()) in_.fail_at(at, cat("value %", index, " is not defined; an earlier line must make it"));
    return {index};
  }

  Type read_type() {
    const std::size_t at = in_.position();
    const std::string_view text = in_.until(",)=", "a type such as f32[s0, 4]");
    return in_.located(at, [&] { return parse_type(text); });
  }

  Dim read_dim(std::string_view ends) {
    const std::size_t at = in_.position();
    const std::string_view text = in_.until(ends, "a size");
    const Dim e = in_.located(at, [&] { return parse_dim(text); });
    check_declared(e, at);
    return e;
  }

  void check_declared(Symbol s, std::size_t at) const {
    if (s.space == 's' && s.index < graph_.symbol_count()) return;
    in_.fail_at(at, cat("symbol ", Dim::symbol(s), " is not declared; an input or integers(...) must declare it"));
  }
  void check_declared(Dim e, std::size_t at) const {
    std::vector<Symbol> symbols;
    collect_symbols(e, symbols);
    for (const Symbol s : symbols) check_declared(s, at);
  }
  void check_declared(const Number& number, std::size_t at) const {
    if (!number.is_argument()) return;
    const std::size_t index = static_cast<std::size_t>(number.argument_index());
    const bool declared = index < graph_.numbers().size() && graph_.numbers()[index] == number.kind();
    if (!declared) in_.fail_at(at, cat("number ", number, " is not declared; numbers(...) must list it with this kind"));
  }

  TextCursor& in_;
  const FindOp& find_;
  int nesting_;
  Graph graph_;
};

}  // namespace

Graph parse(std::string_view text, const std::function<const OpDef*(std::string_view)>& find) {
  TextCursor in(text);
  Graph graph = GraphParser(in, find, 0).run();
  if (!in.at_end()) in.fail("text after the graph; it must end here");
  return graph;
}

}  // namespace resilin::ir
