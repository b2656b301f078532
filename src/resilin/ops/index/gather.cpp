// src/resilin/ops/index/gather.cpp -- elements chosen by an index tensor: gather and index_select.
#include "resilin/ops/index/gather.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/index/index_add.h"
#include "resilin/ops/index/index_rule.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

using ir::InferContext;
using ir::OpDef;
using ir::ViewContext;
using ir::ViewMap;

// Fills the output with the elements of input 0 at the output's index, but for the axis: there `position(index)` of the index tensor holds the place.
template <class Position>
void reference_indexed(ir::ReferenceCall& call, std::string_view op, const Position& position) {
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  const std::size_t axis = ops::front_axis(call.attributes<IndexAttrs>().axis, x.shape.size());
  for (i64 i = 0; i < out.numel(); ++i) {
    std::vector<i64> index = ir::unravel(i, out.shape);
    index[axis] = ops::checked_index(op, call.input(1), position(index, i, axis), x.shape[axis]);
    if (x.is_real()) {
      out.set(i, x.real(ir::ravel(index, x.shape)));
    } else {
      out.set_integer(i, x.integer(ir::ravel(index, x.shape)));
    }
  }
}

// --- gather --------------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_gather(InferContext& c) {
  const i64 axis = c.axis(c.attrs<IndexAttrs>().axis, static_cast<i64>(c.shape(0).size()));
  ops::require_index_dtype(c, 1);
  ops::require_index_shape(c, c.shape(0), c.shape(1), axis);
  return {{c.dtype(0), c.shape(1), {}}};
}
ViewMap gather_map(ViewContext& c) {
  const std::size_t axis = ops::front_axis(c.attrs<IndexAttrs>().axis, c.index().size());
  ViewMap map;
  map.source = Shape(c.index());
  map.source[axis] = c.loaded_index(1, c.index(), 0, c.input_shape(0)[axis]);
  return map;
}
std::vector<Tensor> gather_vjp(const ir::VjpCall& call) {
  const Tensor& g = call.grads[0];
  return {scatter_add(zeros(call.inputs[0].shape(), g.dtype()), call.attributes<IndexAttrs>().axis, call.inputs[1], g), Tensor()};
}
std::vector<ir::Sample> gather_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  const Dim k = Dim::symbol('s', 2);
  return {{{{.shape = {m, n}}, ops::index_input({m, k}, n)}, ir::attrs_of(IndexAttrs{-1}), {3, 37, 5}},
          {{{.shape = {m, n}}, ops::index_input({k, n}, m, DType::I32)}, ir::attrs_of(IndexAttrs{0}), {5, 37, 9}}};
}

constexpr OpDef gather_op{
    .name = "gather",
    .doc = "Elements at the positions along an axis that an index tensor holds.",
    .inputs = {{"x", "[..., n, ...]"}, {"index", "[..., k, ...]"}},
    .attrs = &ir::kAttrsInfo<IndexAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_gather,
    .lower = ir::View{gather_map},
    .vjp = gather_vjp,
    .reference =
        [](ir::ReferenceCall& call) { reference_indexed(call, "gather", [](const std::vector<i64>&, i64 at, std::size_t) { return at; }); },
    .samples = gather_samples,
};

// --- index_select --------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_index_select(InferContext& c) {
  const std::size_t axis = static_cast<std::size_t>(c.axis(c.attrs<IndexAttrs>().axis, static_cast<i64>(c.shape(0).size())));
  ops::require_index_dtype(c, 1);
  if (c.shape(1).size() != 1) throw IndexError(cat(c.op(), ": Index is supposed to be a vector: index has ", c.shape(1).size(), " axes"));
  Shape shape = c.shape(0);
  shape[axis] = c.shape(1)[0];
  return {{c.dtype(0), shape, {}}};
}
ViewMap index_select_map(ViewContext& c) {
  const std::size_t axis = ops::front_axis(c.attrs<IndexAttrs>().axis, c.index().size());
  ViewMap map;
  map.source = Shape(c.index());
  map.source[axis] = c.loaded_index(1, c.index().subspan(axis, 1), 0, c.input_shape(0)[axis]);
  return map;
}
std::vector<Tensor> index_select_vjp(const ir::VjpCall& call) {
  const Tensor& g = call.grads[0];
  return {index_add(zeros(call.inputs[0].shape(), g.dtype()), call.attributes<IndexAttrs>().axis, call.inputs[1], g), Tensor()};
}
std::vector<ir::Sample> index_select_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  const Dim k = Dim::symbol('s', 2);
  return {{{{.shape = {m, n}}, ops::index_input({k}, m)}, ir::attrs_of(IndexAttrs{0}), {5, 37, 9}},
          {{{.shape = {m, n}}, ops::index_input({k}, n, DType::I32)}, ir::attrs_of(IndexAttrs{-1}), {3, 37, 5}}};
}

constexpr OpDef index_select_op{
    .name = "index_select",
    .doc = "Slices at the positions along an axis that a list of indices holds.",
    .inputs = {{"x", "[..., n, ...]"}, {"index", "[k]"}},
    .attrs = &ir::kAttrsInfo<IndexAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_index_select,
    .lower = ir::View{index_select_map},
    .vjp = index_select_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          reference_indexed(call, "index_select", [](const std::vector<i64>& index, i64, std::size_t axis) { return index[axis]; });
        },
    .samples = index_select_samples,
};

constexpr const OpDef* kTable[] = {&gather_op, &index_select_op};

}  // namespace

constexpr OpTable kGatherOps = kTable;

// A tensor without axes counts as one of one element, as in PyTorch.
Tensor gather(const Tensor& x, i64 axis, const Tensor& index) {
  if (x.defined() && index.defined() && x.ndim() == 0 && index.ndim() <= 1) {
    const Tensor row = index.ndim() == 0 ? reshape(index, {1}) : index;
    return reshape(apply_one(gather_op, {reshape(x, {1}), row}, IndexAttrs{axis}), index.shape());
  }
  return apply_one(gather_op, {x, index}, IndexAttrs{axis});
}
Tensor index_select(const Tensor& x, i64 axis, const Tensor& index) {
  if (x.defined() && index.defined() && x.ndim() == 0 && index.numel() == 1)
    return reshape(index_select(reshape(x, {1}), axis, index), Shape{});
  const bool one = index.defined() && index.ndim() == 0;
  return apply_one(index_select_op, {x, one ? reshape(index, {1}) : index}, IndexAttrs{axis});
}

}  // namespace resilin
