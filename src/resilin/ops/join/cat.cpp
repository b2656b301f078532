// src/resilin/ops/join/cat.cpp -- tensors put one after another: cat and stack.
#include "resilin/ops/join/cat.h"

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/range.h"

namespace resilin {
namespace {

using ir::InferContext;

i64 joined_axis(ir::AttrsRef attrs, i64 ndim) { return normalize_axis(static_cast<const CatAttrs*>(attrs.data)->axis, ndim, "cat"); }

void require_same_sizes(InferContext& c, int input, std::size_t axis) {
  const Shape& first = c.shape(0);
  const Shape& shape = c.shape(input);
  if (shape.size() != first.size()) {
    throw ShapeError(cat(c.op(), ": Tensors must have same number of dimensions: got ", first.size(), " and ", shape.size(),
                         " for tensor number ", input, " in the list"));
  }
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (a == axis) continue;
    if (!may_be_equal(shape[a], first[a])) {
      throw ShapeError(cat(c.op(), ": Sizes of tensors must match except in dimension ", axis, ". Expected size ", first[a],
                           " but got size ", shape[a], " for tensor number ", input, " in the list"));
    }
    c.same(first[a], shape[a], "sizes of tensors except along the axis");
  }
}

std::vector<ir::Type> infer_cat(InferContext& c) {
  for (int i = 0; i < c.input_count(); ++i) {
    if (c.shape(i).empty()) throw ShapeError(cat(c.op(), ": zero-dimensional tensor (at position ", i, ") cannot be concatenated"));
  }
  Shape shape = c.shape(0);
  const std::size_t axis = static_cast<std::size_t>(c.axis(c.attrs<CatAttrs>().axis, static_cast<i64>(shape.size())));
  for (int i = 1; i < c.input_count(); ++i) {
    require_same_sizes(c, i, axis);
    shape[axis] = shape[axis] + c.shape(i)[axis];
  }
  return {{c.dtype(0), shape, {}}};
}

Shape cat_target(ir::UpdateContext& c) {
  Shape target(c.index());
  const std::size_t axis = static_cast<std::size_t>(joined_axis(c.attrs_ref(), static_cast<i64>(target.size())));
  target[axis] = target[axis] + c.entry_offset();
  return target;
}

std::vector<Tensor> cat_vjp(const ir::VjpCall& call) {
  const i64 axis = call.attributes<CatAttrs>().axis;
  std::vector<Tensor> grads;
  Dim start = 0;
  for (const Tensor& x : call.inputs) {
    const Dim stop = start + x.size(axis);
    grads.push_back(is_floating(x.dtype()) ? cast(slice(call.grads[0], {axis, start, stop, {}}), x.dtype()) : Tensor());
    start = stop;
  }
  return grads;
}

void cat_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  const std::size_t axis =
      static_cast<std::size_t>(normalize_axis(call.attributes<CatAttrs>().axis, static_cast<i64>(out.shape.size()), "cat"));
  i64 start = 0;
  for (const std::optional<ir::Array>& x : call.inputs) {
    for (i64 i = 0; i < x->numel(); ++i) {
      std::vector<i64> index = ir::unravel(i, x->shape);
      index[axis] += start;
      const i64 at = ir::ravel(index, out.shape);
      if (out.is_real()) {
        out.set(at, x->real(i));
      } else {
        out.set_integer(at, x->integer(i));
      }
    }
    start += x->shape[axis];
  }
}

std::vector<ir::Sample> cat_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  const Dim k = Dim::symbol('s', 2);
  return {{{{.shape = {m, n}}, {.shape = {m, k}}}, ir::attrs_of(CatAttrs{-1}), {3, 37, 5}},
          {{{.shape = {m, n}}, {.shape = {k, n}}, {.shape = {m, n}}}, ir::attrs_of(CatAttrs{0}), {3, 37, 5}},
          {{{.shape = {m, n}}}, ir::attrs_of(CatAttrs{0}), {3, 37}}};
}

constexpr ir::OpDef cat_op{
    .name = "cat",
    .doc = "Tensors one after another along an axis.",
    .inputs = {{.name = "tensors", .shape = "[..., n, ...] each", .kind = ir::InputKind::List}},
    .attrs = &ir::kAttrsInfo<CatAttrs>,
    .promote = ir::Promotion::Arithmetic,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_cat,
    .lower = ir::Update{.base = -1, .value = 0, .list_axis = joined_axis, .target = cat_target},
    .vjp = cat_vjp,
    .reference = cat_reference,
    .samples = cat_samples,
};

constexpr const ir::OpDef* kTable[] = {&cat_op};

bool is_legacy_empty(const Tensor& x) { return x.ndim() == 1 && x.size(0) == 0; }

}  // namespace

constexpr OpTable kCatOps = kTable;

Tensor cat(std::span<const Tensor> tensors, i64 axis) {
  std::vector<Input> inputs;
  bool skips = false;
  for (const Tensor& x : tensors) {
    const bool skip = x.defined() && is_legacy_empty(x);
    skips = skips || skip;
    if (!skip) inputs.emplace_back(x);
  }
  if (inputs.empty() && skips) inputs.emplace_back(tensors[0]);
  const CatAttrs attrs{axis};
  Tensor result = apply_one(cat_op, inputs, ir::AttrsRef{&attrs, cat_op.attrs});
  if (!skips) return result;
  DType dtype = tensors[0].dtype();
  for (const Tensor& x : tensors) dtype = promote(dtype, x.dtype());
  return cast(result, dtype);
}
Tensor cat(std::initializer_list<Tensor> tensors, i64 axis) { return cat(std::span<const Tensor>(tensors.begin(), tensors.size()), axis); }

Tensor stack(std::span<const Tensor> tensors, i64 axis) {
  if (tensors.empty()) throw ArgumentError("stack: expected a non-empty list of tensors");
  std::vector<Tensor> columns;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    if (!x.defined()) throw ArgumentError(cat("stack: tensor number ", i, " in the list is an undefined tensor"));
    const bool fits =
        x.ndim() == tensors[0].ndim() && std::equal(x.shape().begin(), x.shape().end(), tensors[0].shape().begin(),
                                                    [](Dim a, Dim b) { return a == b || !a.is_constant() || !b.is_constant(); });
    if (!fits)
      throw ShapeError(cat("stack: each tensor is expected to be equal size, but got ", tensors[0].shape(), " at entry 0 and ", x.shape(),
                           " at entry ", i));
    columns.push_back(unsqueeze(x, axis));
  }
  return cat(columns, normalize_axis(axis, tensors[0].ndim() + 1, "stack"));
}
Tensor stack(std::initializer_list<Tensor> tensors, i64 axis) {
  return stack(std::span<const Tensor>(tensors.begin(), tensors.size()), axis);
}

}  // namespace resilin
