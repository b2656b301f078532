// src/resilin/ir/verify.cpp -- the rules that every graph obeys.
#include <algorithm>
#include <string>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/ir/graph.h"
#include "resilin/ir/infer.h"
#include "resilin/ir/op.h"

namespace resilin::ir {
namespace {

/// Checks one graph; messages name the node.
class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), facts_(graph.facts()) {}

  void run() {
    for (int i = 0; i < graph_.input_count(); ++i) check_type(graph_.type({i}), cat("input ", i));
    for (const SizeCheck& check : graph_.checks()) {
      check_dim(check.a, "a check");
      check_dim(check.b, "a check");
    }
    defined_ = graph_.input_count();
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      require(node.op != nullptr, cat("node ", i), "it has no op");
      const std::string where = cat("node ", i, " (", node.op->name, ")");
      check_operands(node, where);
      check_outputs(node, where);
      check_inferred(node, where);
      check_destination(node, where);
      for (const std::shared_ptr<const Graph>& region : node.regions) verify(*region);
    }
    for (const ValueId id : graph_.outputs()) check_value(id, "return");
  }

 private:
  static void require(bool condition, const std::string& where, const std::string& detail) {
    RESILIN_ASSERT(condition, cat("verify: ", where, ": ", detail));
  }

  void check_value(ValueId id, const std::string& where) const {
    require(id.index >= 0 && id.index < graph_.value_count(), where, cat("value %", id.index, " is not defined"));
    require(id.index < defined_, where, cat("value %", id.index, " comes later"));
  }
  void check_dim(Dim e, const std::string& where) const {
    std::vector<Symbol> symbols;
    collect_symbols(e, symbols);
    for (const Symbol s : symbols) {
      require(s.space == 's' && s.index < graph_.symbol_count(), where, cat("symbol ", Dim::symbol(s), " is none of the graph's"));
    }
  }
  void check_type(const Type& type, const std::string& where) const {
    for (const Dim e : type.shape) check_dim(e, where);
    if (!type.strides) return;
    require(type.strides->size() == type.shape.size(), where, cat("type ", type, " has not one stride a size"));
    for (const Dim e : *type.strides) check_dim(e, where);
  }
  void check_number(const Number& number, const std::string& where) const {
    if (!number.is_argument()) return;
    const std::size_t index = static_cast<std::size_t>(number.argument_index());
    require(index < graph_.numbers().size(), where, cat("number ", number, " is none of the graph's"));
    require(graph_.numbers()[index] == number.kind(), where, cat("number ", number, " has another kind in the graph"));
  }

  void check_operands(const Node& node, const std::string& where) const {
    const OpDef& op = *node.op;
    require(accepts_operand_count(op, node.inputs.size()), where, cat("it has ", node.inputs.size(), " operands"));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Operand& operand = node.inputs[i];
      if (const ValueId* id = std::get_if<ValueId>(&operand)) {
        check_value(*id, where);
      } else if (const Number* number = std::get_if<Number>(&operand)) {
        check_number(*number, where);
      } else {
        const InputDef& input = op.inputs[std::min(i, op.inputs.size() - 1)];
        require(input.kind == InputKind::Optional, where, cat("input ", input.name, " is not optional"));
      }
    }
    const AttrsInfo* const attrs = op.attrs != nullptr ? op.attrs : &Attrs().info();
    require(&node.attrs.info() == attrs, where, cat("the attributes are a ", node.attrs.info().type->name()));
    attrs->visit_dims(node.attrs.data(), [&](Dim e) { check_dim(e, where); });
    attrs->visit_numbers(node.attrs.data(), [&](Number number) { check_number(number, where); });
  }

  void check_outputs(const Node& node, const std::string& where) {
    for (const ValueId id : node.outputs) {
      require(id.index == defined_, where, cat("output %", id.index, " should be %", defined_));
      check_type(graph_.type(id), where);
      ++defined_;
    }
  }

  /// Fresh sizes stand for whatever the graph declares in their place.
  void check_inferred(const Node& node, const std::string& where) {
    if (node.op->infer == nullptr) return;
    const std::vector<InputType> inputs = operand_types(graph_, node.inputs);
    int next = graph_.symbol_count();
    InferContext c(node.op->name, inputs, node.attrs.ref(), facts_);
    c.allot_symbol = [&](std::string_view, Dim, Dim) { return Dim::symbol('s', next++); };
    std::vector<Type> types;
    try {
      types = node.op->infer(c);
    } catch (const InternalError&) {
      throw;
    } catch (const Error& error) {
      require(false, where, cat("its operands do not fit: ", error.what()));
    }
    require(types.size() == node.outputs.size(), where, cat("it has ", node.outputs.size(), " outputs, infer gives ", types.size()));
    std::vector<std::pair<Dim, Dim>> fresh;
    for (const Dim size : c.fresh_dims()) fresh.emplace_back(size, size);
    for (std::size_t i = 0; i < types.size(); ++i) {
      const Type& type = graph_.type(node.outputs[i]);
      require(agrees(types[i], type, fresh), where, cat("output ", i, " is ", type, ", infer gives ", types[i]));
    }
  }
  bool agrees(const Type& inferred, const Type& type, std::vector<std::pair<Dim, Dim>>& fresh) const {
    if (inferred.dtype != type.dtype || inferred.shape.size() != type.shape.size()) return false;
    for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
      Dim expected = inferred.shape[axis];
      for (std::pair<Dim, Dim>& entry : fresh) {
        if (entry.first != expected) continue;
        if (entry.first == entry.second) entry.second = type.shape[axis];
        expected = entry.second;
        break;
      }
      if (!facts_.proves_equal(expected, type.shape[axis])) return false;
    }
    return true;
  }

  void check_destination(const Node& node, const std::string& where) const {
    if (!node.destination.defined()) return;
    require(node.outputs.size() == 1, where, cat("a destination needs one output, there are ", node.outputs.size()));
    require(node.destination.index < node.outputs[0].index, where, cat("destination %", node.destination.index, " comes later"));
    const Type& result = graph_.type(node.outputs[0]);
    const Type& target = graph_.type(node.destination);
    require(result.dtype == target.dtype, where, cat("the destination is ", target, ", the result ", result));
    require(result.shape.size() == target.shape.size(), where, cat("the destination is ", target, ", the result ", result));
    for (std::size_t axis = 0; axis < result.shape.size(); ++axis) {
      require(facts_.proves_equal(result.shape[axis], target.shape[axis]), where,
              cat("the destination is ", target, ", the result ", result));
    }
  }

  const Graph& graph_;
  Facts facts_;  // a copy: infer adds what it assumes
  int defined_ = 0;
};

}  // namespace

bool accepts_operand_count(const OpDef& op, std::size_t count) {
  const bool has_list = op.inputs.size() > 0 && op.inputs[op.inputs.size() - 1].kind == InputKind::List;
  return has_list ? count >= op.inputs.size() : count == op.inputs.size();
}

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace resilin::ir
