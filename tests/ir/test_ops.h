// tests/ir/test_ops.h -- a few ops with every kind of input and attribute, for the tests of the graph floor.
#pragma once

#include <string_view>

#include "resilin/ir/attrs_info.h"
#include "resilin/ir/infer.h"
#include "resilin/ir/op.h"

namespace resilin::ir {

struct SumAttrs {
  SmallVector<i64, 5> axes;
  bool keepdim = false;
  std::optional<DType> dtype;
  static constexpr auto fields() {
    return std::tuple{field("axes", &SumAttrs::axes), field("keepdim", &SumAttrs::keepdim), field("dtype", &SumAttrs::dtype)};
  }
};
struct ExpandAttrs {
  Shape shape;
  static constexpr auto fields() { return std::tuple{field("shape", &ExpandAttrs::shape)}; }
};
struct ScaleAttrs {
  Number alpha = 1.0;
  std::optional<Dim> start;
  std::string note;
  static constexpr auto fields() {
    return std::tuple{field("alpha", &ScaleAttrs::alpha), field("start", &ScaleAttrs::start), field("note", &ScaleAttrs::note)};
  }
};

inline std::vector<Type> infer_sum(InferContext& c) {
  const SumAttrs& attrs = c.attrs<SumAttrs>();
  std::vector<bool> reduced(c.shape(0).size(), false);
  for (const i64 axis : attrs.axes) reduced[static_cast<std::size_t>(c.axis(axis, c.type(0).ndim()))] = true;
  Type type{.dtype = attrs.dtype.value_or(c.dtype(0))};
  for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
    if (!reduced[axis]) type.shape.push_back(c.shape(0)[axis]);
    if (reduced[axis] && attrs.keepdim) type.shape.push_back(1);
  }
  return {type};
}
inline std::vector<Type> infer_expand(InferContext& c) {
  return {Type{.dtype = c.dtype(0), .shape = c.broadcast(c.shape(0), c.attrs<ExpandAttrs>().shape)}};
}
/// All sizes but the first agree; the first ones add up.
inline std::vector<Type> infer_stack_rows(InferContext& c) {
  Type type = c.type(0);
  for (int i = 1; i < c.input_count(); ++i) {
    type.shape[0] += c.shape(i)[0];
    for (std::size_t axis = 1; axis < type.shape.size(); ++axis)
      type.shape[axis] = c.same(type.shape[axis], c.shape(i)[axis], "sizes differ");
  }
  return {type};
}
inline std::vector<Type> infer_sort(InferContext& c) { return {c.type(0), Type{.dtype = DType::I64, .shape = c.shape(0)}}; }
inline std::vector<Type> infer_nonzero(InferContext& c) {
  const Dim count = c.fresh("the number of nonzero elements", 0, product(c.shape(0)));
  return {Type{.dtype = DType::I64, .shape = {count, Dim(c.type(0).ndim())}}};
}

inline loop::Scalar add_formula(PointwiseContext& c) { return c.input(0) + c.input(1); }

inline constexpr OpDef kAdd{.name = "add",
                            .inputs = {{"a", "[...]"}, {"b", "[...]"}},
                            .promote = Promotion::Arithmetic,
                            .infer = infer_pointwise,
                            .lower = Pointwise{add_formula}};
inline constexpr OpDef kRelu{.name = "relu",
                             .inputs = {{"x", "[...]"}},
                             .infer = infer_pointwise,
                             .lower = Pointwise{[](PointwiseContext& c) { return c.input(0); }}};
inline constexpr OpDef kLess{.name = "less", .inputs = {{"a", "[...]"}, {"b", "[...]"}}, .infer = infer_compare};
inline constexpr OpDef kScale{.name = "scale", .inputs = {{"x", "[...]"}}, .attrs = &kAttrsInfo<ScaleAttrs>, .infer = infer_pointwise};
inline constexpr OpDef kClamp{.name = "clamp",
                              .inputs = {{"x", "[...]"}, {"low", "[]", InputKind::Optional}, {"high", "[]", InputKind::Optional}},
                              .infer = infer_pointwise};
inline constexpr OpDef kSum{.name = "sum", .inputs = {{"x", "[...]"}}, .attrs = &kAttrsInfo<SumAttrs>, .infer = infer_sum};
inline constexpr OpDef kExpand{.name = "expand", .inputs = {{"x", "[...]"}}, .attrs = &kAttrsInfo<ExpandAttrs>, .infer = infer_expand};
inline constexpr OpDef kStackRows{.name = "stack_rows", .inputs = {{"rows", "[n, ...]", InputKind::List}}, .infer = infer_stack_rows};
inline constexpr OpDef kSort{.name = "sort", .inputs = {{"x", "[...]"}}, .output_count = 2, .infer = infer_sort};
inline constexpr OpDef kNonzero{
    .name = "nonzero", .inputs = {{"x", "[...]"}}, .infer = infer_nonzero, .lower = Extern{nullptr, "the size of the result is data"}};
inline constexpr OpDef kPrint{
    .name = "print", .inputs = {{"x", "[...]"}}, .output_count = 0, .lower = Extern{nullptr, "writes to the terminal"}};
inline constexpr OpDef kCond{.name = "cond", .inputs = {{"which", "[]"}, {"operands", "[...]", InputKind::List}}};

inline constexpr const OpDef* kTestOps[] = {&kAdd,    &kRelu,      &kLess, &kScale,   &kClamp, &kSum,
                                            &kExpand, &kStackRows, &kSort, &kNonzero, &kPrint, &kCond};

inline const OpDef* find_test_op(std::string_view name) {
  for (const OpDef* op : kTestOps) {
    if (op->name == name) return op;
  }
  return nullptr;
}

/// Appends an application without attributes or with the given ones; gives back its first output.
inline ValueId append(Graph& graph, const OpDef& op, std::vector<Operand> inputs, Attrs attrs = {}) {
  return append_inferred(graph, {.op = &op, .attrs = std::move(attrs), .inputs = std::move(inputs)}).front();
}

}  // namespace resilin::ir
