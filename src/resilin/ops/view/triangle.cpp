// src/resilin/ops/view/triangle.cpp -- one triangle of a matrix, zeros elsewhere: tril, triu.
#include "resilin/ops/view/triangle.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/view/reference_view.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::ViewContext;
using ir::ViewMap;

std::vector<ir::Type> infer_triangle(ir::InferContext& c) {
  if (c.shape(0).size() < 2) throw ShapeError(cat(c.op(), ": input tensor must have at least 2 dimensions: shape is ", c.shape(0)));
  return {{c.dtype(0), c.shape(0), {}}};
}

// Diagonals are numbered by column - row, which lies between -rows and columns.
ViewMap triangle_map(ViewContext& c, bool lower) {
  const Shape& shape = c.input_shape(0);
  const Dim diagonal = c.attrs<TriangleAttrs>().diagonal;
  const std::size_t column = shape.size() - 1;
  ViewMap map;
  map.source = Shape(c.index());
  const Dim own = c.index()[column] - c.index()[column - 1];
  map.valid.push_back(lower ? ir::IndexRange{own, -shape[column - 1], diagonal + Dim(1)} : ir::IndexRange{own, diagonal, shape[column]});
  return map;
}

void triangle_reference(ir::ReferenceCall& call, bool lower) {
  const i64 diagonal = call.attributes<TriangleAttrs>().diagonal.value();
  ops::reference_view(call, [&](const std::vector<i64>& index, i64 at) {
    const i64 own = index[index.size() - 1] - index[index.size() - 2];
    return (lower ? own <= diagonal : own >= diagonal) ? at : i64{-1};
  });
}

std::vector<ir::Sample> triangle_samples() {
  const Dim m = ops::size_symbol(0);
  const Dim n = ops::size_symbol(1);
  const auto sample = [](Shape shape, Dim diagonal, std::vector<i64> sizes) {
    return ir::Sample{{{.shape = std::move(shape)}}, ir::attrs_of(TriangleAttrs{diagonal}), std::move(sizes)};
  };
  return {sample({m, n}, 0, {5, 37}), sample({m, n}, 2, {9, 37}), sample({2, m, n}, -1, {37, 5}), sample({m, n}, n - m, {5, 37})};
}

constexpr OpDef tril_op{
    .name = "tril",
    .doc = "The elements on and below a diagonal, 0 elsewhere.",
    .inputs = {{"x", "[..., m, n]"}},
    .attrs = &ir::kAttrsInfo<TriangleAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_triangle,
    .lower = ir::View{[](ViewContext& c) { return triangle_map(c, true); }},
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {tril(call.grads[0], call.attributes<TriangleAttrs>().diagonal)}; },
    .reference = [](ir::ReferenceCall& call) { triangle_reference(call, true); },
    .samples = triangle_samples,
};
constexpr OpDef triu_op{
    .name = "triu",
    .doc = "The elements on and above a diagonal, 0 elsewhere.",
    .inputs = {{"x", "[..., m, n]"}},
    .attrs = &ir::kAttrsInfo<TriangleAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_triangle,
    .lower = ir::View{[](ViewContext& c) { return triangle_map(c, false); }},
    .vjp = [](const ir::VjpCall& call) -> std::vector<Tensor> { return {triu(call.grads[0], call.attributes<TriangleAttrs>().diagonal)}; },
    .reference = [](ir::ReferenceCall& call) { triangle_reference(call, false); },
    .samples = triangle_samples,
};

constexpr const OpDef* kTable[] = {&tril_op, &triu_op};

}  // namespace

constexpr OpTable kTriangleOps = kTable;

Tensor tril(const Tensor& x, Dim diagonal) { return apply_one(tril_op, {x}, TriangleAttrs{diagonal}); }
Tensor triu(const Tensor& x, Dim diagonal) { return apply_one(triu_op, {x}, TriangleAttrs{diagonal}); }

}  // namespace resilin
