// src/resilin/ir/infer.cpp -- the questions type rules ask about sizes, and the rules that most ops share.
#include "resilin/ir/infer.h"

#include <algorithm>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/ir/op.h"
#include "resilin/tensor/tensor.h"

namespace resilin::ir {
namespace {

/// The common value of two sizes, or ShapeError with the message when they cannot be equal; a run-time check when nobody knows.
Dim unify(InferContext& c, Dim a, Dim b, const std::string& message) {
  Facts& facts = c.facts();
  const std::optional<bool> equal = facts.is_equal(a, b);
  if (equal.has_value() && !*equal) throw ShapeError(message);
  if (!equal.has_value()) {
    try {
      facts.assume_equal(a, b);
    } catch (const ArgumentError&) {  // the assumption contradicts what else is known
      throw ShapeError(message);
    }
    c.checks().push_back({a, b, message});
  }
  if (a.is_constant()) return a;
  return b.is_constant() ? b : facts.simplify(a);
}

/// Broadcast shape of all tensor inputs; [] when there are none.
Shape broadcast_inputs(InferContext& c) {
  Shape shape;
  for (int i = 0; i < c.input_count(); ++i) {
    if (c.has(i) && !c.is_number(i)) shape = c.broadcast(shape, c.shape(i));
  }
  return shape;
}

DType common_dtype(const InferContext& c) {
  std::optional<DType> of_numbers;
  for (int i = 0; i < c.input_count(); ++i) {
    if (!c.has(i)) continue;
    if (!c.is_number(i)) return c.dtype(i);
    of_numbers = of_numbers ? promote(*of_numbers, c.dtype(i)) : c.dtype(i);
  }
  RESILIN_ASSERT(of_numbers.has_value(), cat(c.op(), " has no input to take the dtype of"));
  return *of_numbers;
}

}  // namespace

const Type& InferContext::type(int input) const {
  const InputType& type = inputs_[static_cast<std::size_t>(input)];
  RESILIN_ASSERT(std::holds_alternative<Type>(type), cat("input ", input, " of ", op_, " is no tensor"));
  return std::get<Type>(type);
}

DType InferContext::dtype(int input) const {
  return is_number(input) ? dtype_of(std::get<NumberKind>(inputs_[static_cast<std::size_t>(input)])) : type(input).dtype;
}

Dim InferContext::same(Dim a, Dim b, std::string_view what) {
  if (a == b) return a;
  return unify(*this, a, b, cat(op_, ": ", what, ": ", a, " and ", b, "; they must be equal"));
}

Shape InferContext::broadcast(std::span<const Dim> a, std::span<const Dim> b) {
  const std::size_t ndim = std::max(a.size(), b.size());
  Shape out;
  for (std::size_t axis = 0; axis < ndim; ++axis) {
    // Axes are aligned at the right; what is missing on the left is 1.
    const Dim size_a = axis + a.size() >= ndim ? facts_.simplify(a[axis + a.size() - ndim]) : Dim(1);
    const Dim size_b = axis + b.size() >= ndim ? facts_.simplify(b[axis + b.size() - ndim]) : Dim(1);
    if (size_a == size_b || size_b == 1) {
      out.push_back(size_a);
    } else if (size_a == 1) {
      out.push_back(size_b);
    } else {
      out.push_back(unify(*this, size_a, size_b,
                          cat(op_, ": The size of tensor a (", size_a, ") must match the size of tensor b (", size_b,
                              ") at non-singleton dimension ", axis)));
    }
  }
  return out;
}

bool InferContext::decide(std::optional<bool> answer, Dim a, Dim b, std::string_view question) const {
  if (answer.has_value()) return *answer;
  throw DataDependentError(cat(op_, ": an unknown size would have to decide: ", question, ": the sizes are ", a, " and ", b,
                               "; a declared range or equality of these symbols must settle it"));
}

Dim InferContext::fresh(std::string_view name, Dim low, Dim high) {
  if (!allot_symbol) {
    throw DataDependentError(cat(op_, ": a size is known only after the op ran: ", name, " lies in [", low, ", ", high,
                                 "]; it must run eagerly, not inside a graph"));
  }
  const Dim size = allot_symbol(name, low, high);
  fresh_.push_back(size);
  return size;
}

i64 InferContext::axis(i64 axis, i64 ndim) const { return normalize_axis(axis, ndim, op_); }

std::vector<Type> infer_pointwise(InferContext& c) { return {Type{.dtype = common_dtype(c), .shape = broadcast_inputs(c)}}; }

std::vector<Type> infer_compare(InferContext& c) { return {Type{.dtype = DType::Bool, .shape = broadcast_inputs(c)}}; }

std::vector<InputType> operand_types(const Graph& graph, std::span<const Operand> operands) {
  std::vector<InputType> types;
  for (const Operand& operand : operands) {
    if (const ValueId* value = std::get_if<ValueId>(&operand)) {
      types.push_back(graph.type(*value));
    } else if (const Number* number = std::get_if<Number>(&operand)) {
      types.push_back(number->kind());
    } else {
      types.emplace_back();
    }
  }
  return types;
}

std::vector<ValueId> append_inferred(Graph& graph, Node node) {
  RESILIN_ASSERT(node.op->infer != nullptr, cat(node.op->name, " has no infer rule"));
  const std::vector<InputType> inputs = operand_types(graph, node.inputs);
  InferContext c(node.op->name, inputs, node.attrs.ref(), graph.facts());
  c.allot_symbol = [&](std::string_view, Dim low, Dim high) {
    const Dim size = graph.add_symbol();
    graph.facts().assume_less_equal(low, size);
    graph.facts().assume_less_equal(size, high);
    return size;
  };
  std::vector<Type> outputs = node.op->infer(c);
  for (SizeCheck& check : c.checks()) graph.add_check(std::move(check));
  return graph.add_node(std::move(node), std::move(outputs));
}

}  // namespace resilin::ir
