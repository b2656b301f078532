// src/resilin/ir/infer.h -- InferContext: what an op's type rule sees, written once over symbolic sizes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "resilin/ir/attrs.h"
#include "resilin/ir/graph.h"
#include "resilin/ir/type.h"

namespace resilin::ir {

/// The type of one input: of a tensor, the kind of a number, or nothing for an absent optional input.
using InputType = std::variant<std::monostate, Type, NumberKind>;

/// The inputs of an op's infer rule and the place for its results.
///
/// Questions about sizes are answered for constants at once and for symbols from the facts; `same` on unknown symbols assumes equality,
/// records it in the facts and leaves a run-time check. A rule that must branch on what is unknown throws DataDependentError through `decide`.
class InferContext {
 public:
  InferContext(std::string_view op, std::span<const InputType> inputs, AttrsRef attrs, Facts& facts)
      : op_(op), inputs_(inputs), attrs_(attrs), facts_(facts) {}

  std::string_view op() const { return op_; }
  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has(int input) const { return !std::holds_alternative<std::monostate>(inputs_[static_cast<std::size_t>(input)]); }
  bool is_number(int input) const { return std::holds_alternative<NumberKind>(inputs_[static_cast<std::size_t>(input)]); }
  /// InternalError when the input is no tensor.
  const Type& type(int input) const;
  const Shape& shape(int input) const { return type(input).shape; }
  /// Of a tensor or, for a number, dtype_of(kind).
  DType dtype(int input) const;
  template <class T>
  const T& attrs() const {
    return *static_cast<const T*>(attrs_.data);
  }
  Facts& facts() { return facts_; }

  /// The common value of two sizes. Constants that differ throw ShapeError "<op>: <what>: <a> and <b>; they must be equal".
  Dim same(Dim a, Dim b, std::string_view what);
  /// PyTorch's broadcasting of shapes; only a constant 1 broadcasts. ShapeError with torch's words:
  /// "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1".
  Shape broadcast(std::span<const Dim> a, std::span<const Dim> b);
  /// True or false when known; else DataDependentError naming the sizes and `question`.
  bool decide(std::optional<bool> answer, Dim a, Dim b, std::string_view question) const;
  /// A size known only after the op ran, in [low, high].
  Dim fresh(std::string_view name, Dim low, Dim high);
  /// Normalised axis; IndexError with torch's words.
  i64 axis(i64 axis, i64 ndim) const;

  std::vector<SizeCheck>& checks() { return checks_; }
  const std::vector<Dim>& fresh_dims() const { return fresh_; }
  /// Set by the caller to allot symbols for `fresh`; without it fresh throws DataDependentError.
  std::function<Dim(std::string_view, Dim, Dim)> allot_symbol;

 private:
  std::string_view op_;
  std::span<const InputType> inputs_;
  AttrsRef attrs_;
  Facts& facts_;
  std::vector<SizeCheck> checks_;
  std::vector<Dim> fresh_;
};

/// Gives back the type of each output.
using Infer = std::vector<Type> (*)(InferContext&);

/// The rule of most pointwise ops: broadcast of all tensor inputs; dtype of the first tensor (after promotion), of numbers alone their common one.
std::vector<Type> infer_pointwise(InferContext& c);
/// The same with a Bool result.
std::vector<Type> infer_compare(InferContext& c);

/// The types of a node's operands in its graph, as its infer rule sees them.
std::vector<InputType> operand_types(const Graph& graph, std::span<const Operand> operands);
/// Appends a node with the types its op infers; run-time checks, facts and fresh symbols of the rule go into the graph.
std::vector<ValueId> append_inferred(Graph& graph, Node node);

}  // namespace resilin::ir
