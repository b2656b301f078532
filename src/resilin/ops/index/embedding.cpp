// src/resilin/ops/index/embedding.cpp -- rows of a table chosen by an index tensor.
#include "resilin/ops/index/embedding.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/index/index_add.h"
#include "resilin/ops/index/index_rule.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

std::vector<ir::Type> infer_embedding(ir::InferContext& c) {
  const Shape& table = c.shape(0);
  if (table.size() != 2) throw ShapeError(cat(c.op(), ": 'weight' must be 2-D: weight is ", table));
  ops::require_index_dtype(c, 1);
  Shape shape = c.shape(1);
  shape.push_back(table[1]);
  return {{c.dtype(0), shape, {}}};
}

ir::ViewMap embedding_map(ir::ViewContext& c) {
  const std::span<const Dim> index = c.index();
  ir::ViewMap map;
  map.source = {c.loaded_index(1, index.first(index.size() - 1), 0, c.input_shape(0)[0]), index.back()};
  return map;
}

std::vector<Tensor> embedding_vjp(const ir::VjpCall& call) {
  const Tensor& table = call.inputs[0];
  const Tensor index = reshape(call.inputs[1], {-1});
  Tensor g = reshape(call.grads[0], {product(call.inputs[1].shape()), table.size(1)});
  if (const std::optional<i64> padding = call.attributes<EmbeddingAttrs>().padding_idx)
    g = where(unsqueeze(eq(index, *padding), 1), 0.0, g);
  return {index_add(zeros(table.shape(), g.dtype()), 0, index, g), Tensor()};
}

void embedding_reference(ir::ReferenceCall& call) {
  const ir::Array& table = call.input(0);
  const i64 width = table.shape[1];
  for (i64 i = 0; i < call.output().numel(); ++i) {
    const i64 row = ops::checked_index("embedding", call.input(1), i / width, table.shape[0]);
    if (table.is_real()) {
      call.output().set(i, table.real(row * width + i % width));
    } else {
      call.output().set_integer(i, table.integer(row * width + i % width));
    }
  }
}

std::vector<ir::Sample> embedding_samples() {
  const Dim n = Dim::symbol('s', 0);
  const Dim d = Dim::symbol('s', 1);
  const Dim a = Dim::symbol('s', 2);
  const Dim b = Dim::symbol('s', 3);
  return {{{{.shape = {n, d}}, ops::index_input({a, b}, n)}, ir::attrs_of(EmbeddingAttrs{}), {9, 37, 3, 5}},
          {{{.shape = {n, d}}, ops::index_input({a}, n, DType::I32)}, ir::attrs_of(EmbeddingAttrs{0}), {5, 17, 9}}};
}

constexpr ir::OpDef embedding_op{
    .name = "embedding",
    .doc = "Rows of a table at the positions that an index tensor holds.",
    .inputs = {{"weight", "[n, d]"}, {"index", "[...]"}},
    .attrs = &ir::kAttrsInfo<EmbeddingAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_embedding,
    .lower = ir::View{embedding_map},
    .vjp = embedding_vjp,
    .reference = embedding_reference,
    .samples = embedding_samples,
};

constexpr const ir::OpDef* kTable[] = {&embedding_op};

}  // namespace

constexpr OpTable kEmbeddingOps = kTable;

Tensor embedding(const Tensor& weight, const Tensor& index, const EmbeddingAttrs& attrs) {
  EmbeddingAttrs own = attrs;
  if (own.padding_idx && weight.ndim() == 2 && weight.size(0).is_constant()) {
    const i64 rows = weight.size(0).value();
    if (*own.padding_idx < -rows || *own.padding_idx >= rows)
      throw ArgumentError(cat("embedding: padding_idx must be within num_embeddings: ", *own.padding_idx, " with ", rows, " rows"));
    if (*own.padding_idx < 0) *own.padding_idx += rows;
  }
  return apply_one(embedding_op, {weight, index}, own);
}

}  // namespace resilin
