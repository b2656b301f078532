// src/resilin/plan/alias.cpp -- Internal: when a View is only another way to look at its input.
#include <algorithm>

#include "resilin/codegen/axes.h"
#include "resilin/codegen/evaluate.h"
#include "resilin/plan/group.h"

namespace resilin {
namespace {

// A View's map asked with plain index variables; a map that loads an index is no alias.
class AliasContext : public ir::ViewContext {
 public:
  AliasContext(const ir::Graph& graph, const ir::Node& node, std::span<const Dim> index) : graph_(graph), node_(node), index_(index) {}
  int input_count() const override { return static_cast<int>(node_.inputs.size()); }
  DType input_dtype(int input) const override { return graph_.type(id(input)).dtype; }
  const Shape& input_shape(int input) const override { return graph_.type(id(input)).shape; }
  DType output_dtype(int output) const override { return graph_.type(node_.outputs[static_cast<std::size_t>(output)]).dtype; }
  const Shape& output_shape(int output) const override { return graph_.type(node_.outputs[static_cast<std::size_t>(output)]).shape; }
  ir::AttrsRef attrs_ref() const override { return node_.attrs.ref(); }
  loop::Scalar number(const Number&, DType dtype) override { return loop::Scalar::constant(dtype, 0); }
  void check(const loop::Scalar&, StatusCode, int, const loop::Scalar&) override {}
  std::span<const Dim> index() override { return index_; }
  Dim loaded_index(int, std::span<const Dim>, Dim, Dim) override {
    loads_ = true;
    return 0;
  }
  bool loads() const { return loads_; }

 private:
  ir::ValueId id(int input) const { return std::get<ir::ValueId>(node_.inputs[static_cast<std::size_t>(input)]); }
  const ir::Graph& graph_;
  const ir::Node& node_;
  std::span<const Dim> index_;
  bool loads_ = false;
};

bool always_valid(const ir::ViewMap& map, const Facts& facts) {
  return std::all_of(map.valid.begin(), map.valid.end(), [&](const ir::IndexRange& range) {
    return facts.proves_less_equal(range.low, range.value) && facts.proves_less(range.value, range.high);
  });
}

}  // namespace

std::optional<Alias> view_as_alias(const ir::Graph& graph, const ir::Node& node, const ir::Type& input) {
  const ir::Type& output = graph.type(node.outputs[0]);
  if (output.dtype != input.dtype) return std::nullopt;
  if (std::find(output.shape.begin(), output.shape.end(), Dim(0)) != output.shape.end()) return Alias{0, contiguous_strides(output.shape)};
  Facts facts = graph.facts();
  Shape index;
  for (std::size_t a = 0; a < output.shape.size(); ++a) {
    const Symbol variable{'i', static_cast<int>(a)};
    index.push_back(output.shape[a] == 1 ? Dim(0) : Dim::symbol(variable));
    if (output.shape[a] == 1) continue;
    assume_index(facts, variable, output.shape[a]);
    if (output.shape[a].is_symbol()) facts.set_range(output.shape[a].as_symbol(), {1, Range::kHighest});
  }
  AliasContext context(graph, node, index);
  const ir::ViewMap map = std::get<ir::View>(node.op->lower).map(context);
  if (context.loads() || !always_valid(map, facts)) return std::nullopt;
  for (const Dim size : input.shape) {  // an element of the output is one of the input
    if (size.is_symbol()) facts.set_range(size.as_symbol(), {1, Range::kHighest});
  }

  Dim rest = facts.simplify(linear_offset(map.source, ir::strides_of(input)));
  Alias alias;
  Strides strides(output.shape.size());
  for (std::size_t a = 0; a < index.size(); ++a) {
    if (index[a].is_constant()) continue;
    const std::optional<Affine> affine = affine_in(rest, index[a].as_symbol());
    if (!affine || !facts.proves_less_equal(0, affine->coefficient)) return std::nullopt;
    for (const Dim other : index) {
      if (!other.is_constant() && contains(affine->coefficient, other.as_symbol())) return std::nullopt;
    }
    strides[a] = affine->coefficient;
    rest = affine->rest;
  }
  for (std::size_t a = index.size(); a-- > 0;) {  // an axis of one element gets the stride that keeps row-major tensors row-major
    if (index[a].is_constant()) strides[a] = a + 1 < index.size() ? facts.simplify(strides[a + 1] * output.shape[a + 1]) : Dim(1);
  }
  alias.offset = rest;
  alias.strides = strides;
  return alias;
}

}  // namespace resilin
