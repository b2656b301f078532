// src/resilin/ir/text_print.cpp -- a graph as text.
#include <string>

#include "resilin/base/reflect.h"
#include "resilin/base/text.h"
#include "resilin/ir/fact_lines.h"
#include "resilin/ir/graph.h"
#include "resilin/ir/op.h"

namespace resilin::ir {
namespace {

/// Writes one graph and, more deeply indented, the regions of its nodes.
class Printer {
 public:
  Printer(std::string& out, int indent) : out_(out), indent_(indent) {}

  void print_graph(const Graph& graph) {
    print_header(graph);
    for (const std::string& line : fact_lines(graph.facts(), graph.symbol_count())) begin_line(cat("fact ", line));
    for (const SizeCheck& check : graph.checks()) {
      begin_line(cat("check ", check.a, " = ", check.b, " : "));
      resilin::detail::append_quoted(out_, check.message);
    }
    for (const Node& node : graph.nodes()) print_node(graph, node);
    begin_line("return");
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) add(i == 0 ? " %" : ", %", graph.outputs()[i].index);
    out_ += '\n';
    indent();
    out_ += "}\n";
  }

 private:
  template <class... Args>
  void add(const Args&... args) {
    out_ += cat(args...);
  }
  void indent() { out_.append(static_cast<std::size_t>(2 * indent_), ' '); }
  void begin_line(const std::string& text) {
    out_ += '\n';
    indent();
    add("  ", text);
  }

  void print_header(const Graph& graph) {
    add("graph(");
    for (int i = 0; i < graph.input_count(); ++i) add(i == 0 ? "%" : ", %", i, ": ", graph.type({i}));
    add(')');
    const std::vector<Symbol> integers = graph.integer_parameters();
    for (std::size_t i = 0; i < integers.size(); ++i) add(i == 0 ? " integers(s" : ", s", integers[i].index);
    if (!integers.empty()) add(')');
    for (std::size_t i = 0; i < graph.numbers().size(); ++i) {
      add(i == 0 ? " numbers(v" : ", v", i, ": ", enum_name(graph.numbers()[i]));
    }
    if (!graph.numbers().empty()) add(')');
    add(" {");
  }

  void print_node(const Graph& graph, const Node& node) {
    begin_line("");
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      add(i == 0 ? "%" : ", %", node.outputs[i].index, ": ", graph.type(node.outputs[i]));
    }
    add(node.outputs.empty() ? "= " : " = ", node.op->name, '(');
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (i != 0) add(", ");
      print_operand(node.inputs[i]);
    }
    add(')');
    std::string attrs;
    node.attrs.info().print(attrs, node.attrs.data());
    if (!attrs.empty()) add(" {", attrs, '}');
    if (node.destination.defined()) add(" into %", node.destination.index);
    if (!node.regions.empty()) print_regions(node);
  }

  void print_operand(const Operand& operand) {
    if (const ValueId* value = std::get_if<ValueId>(&operand)) {
      add('%', value->index);
    } else if (const Number* number = std::get_if<Number>(&operand)) {
      if (number->is_argument()) {
        add('v', number->argument_index());
      } else {
        add(*number);
      }
    } else {
      add("none");
    }
  }

  void print_regions(const Node& node) {
    add(" regions {\n");
    for (const std::shared_ptr<const Graph>& region : node.regions) {
      out_.append(static_cast<std::size_t>(2 * indent_ + 4), ' ');
      Printer(out_, indent_ + 2).print_graph(*region);
    }
    indent();
    add("  }");
  }

  std::string& out_;
  int indent_;
};

}  // namespace

std::string print(const Graph& graph) {
  std::string out;
  Printer(out, 0).print_graph(renumber(graph, nullptr));
  return out;
}

}  // namespace resilin::ir
