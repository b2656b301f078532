// src/resilin/ops/index/index_add.cpp -- sums into elements chosen by an index tensor: index_add and scatter_add.
#include "resilin/ops/index/index_add.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/index/gather.h"
#include "resilin/ops/index/index_rule.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

using ir::InferContext;
using ir::OpDef;
using ir::UpdateContext;
using loop::Scalar;

constexpr ir::DTypeSet kSummed = ir::kArithmeticDTypes;

// Of Bools: either.
Scalar sum_of(const Scalar& a, const Scalar& b) { return a.dtype() == DType::Bool ? a | b : a + b; }

void reference_add(ir::Array& out, i64 at, const ir::Array& source, i64 from, double alpha) {
  if (out.is_real()) {
    out.reals[static_cast<std::size_t>(at)] += alpha * source.real(from);
  } else if (out.dtype == DType::Bool) {
    out.set_integer(at, out.integer(at) | (alpha != 0 ? source.integer(from) : 0));
  } else {
    const std::uint64_t term = static_cast<std::uint64_t>(static_cast<i64>(alpha)) * static_cast<std::uint64_t>(source.integer(from));
    out.set_integer(at, static_cast<i64>(static_cast<std::uint64_t>(out.integer(at)) + term));
  }
}

// --- index_add -----------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_index_add(InferContext& c) {
  const Shape& x = c.shape(0);
  const Shape& index = c.shape(1);
  const Shape& source = c.shape(2);
  const i64 axis = c.axis(c.attrs<IndexAddAttrs>().axis, static_cast<i64>(x.size()));
  ops::require_index_dtype(c, 1);
  if (index.size() != 1) throw IndexError(cat(c.op(), ": Index is supposed to be a vector: index has ", index.size(), " axes"));
  if (source.size() != x.size())
    throw ShapeError(cat(c.op(), ": source and self must have as many dimensions: source is ", source, ", self is ", x));
  for (std::size_t a = 0; a < x.size(); ++a) {
    const bool indexed = static_cast<i64>(a) == axis;
    const Dim wanted = indexed ? index[0] : x[a];
    if (!may_be_equal(source[a], wanted)) {
      throw ShapeError(
          indexed
              ? cat(c.op(), ": Number of indices (", wanted, ") should be equal to source.size(dim): (", source[a], "), for dim: ", axis)
              : cat(c.op(), ": source has another size than self at dimension ", a, ": source is ", source, ", self is ", x));
    }
    c.same(source[a], wanted, indexed ? "size of source along the axis and number of indices" : "sizes of source and self");
  }
  if (!is_floating(c.dtype(0)) && c.attrs<IndexAddAttrs>().alpha.kind() == NumberKind::Float) {
    throw ArgumentError(
        cat(c.op(), ": For integral input tensors, argument alpha must not be a floating point number: dtype is ", c.dtype(0)));
  }
  return {{c.dtype(0), x, {}}};
}
Shape index_add_target(UpdateContext& c) {
  const std::size_t axis = ops::front_axis(c.attrs<IndexAddAttrs>().axis, c.index().size());
  Shape target(c.index());
  target[axis] = c.loaded_index(1, c.index().subspan(axis, 1), 0, c.input_shape(0)[axis]);
  return target;
}
Scalar index_add_combine(ir::FormulaContext& c, const Scalar& old_value, const Scalar& value) {
  const Scalar alpha = c.number(c.attrs<IndexAddAttrs>().alpha, value.dtype());
  return sum_of(old_value, value.dtype() == DType::Bool ? alpha & value : alpha * value);
}
i64 index_add_axis(ir::AttrsRef attrs, i64 ndim) {
  return normalize_axis(static_cast<const IndexAddAttrs*>(attrs.data)->axis, ndim, "index_add");
}

std::vector<Tensor> index_add_vjp(const ir::VjpCall& call) {
  const IndexAddAttrs& attrs = call.attributes<IndexAddAttrs>();
  const Tensor& g = call.grads[0];
  return {g, Tensor(), call.wants(2) ? mul(index_select(g, attrs.axis, call.inputs[1]), attrs.alpha) : Tensor()};
}
void index_add_reference(ir::ReferenceCall& call) {
  const IndexAddAttrs& attrs = call.attributes<IndexAddAttrs>();
  ir::Array& out = call.output();
  const ir::Array& source = call.input(2);
  const std::size_t axis = ops::front_axis(attrs.axis, out.shape.size());
  out = call.input(0);
  for (i64 i = 0; i < source.numel(); ++i) {
    std::vector<i64> at = ir::unravel(i, source.shape);
    at[axis] = ops::checked_index("index_add", call.input(1), at[axis], out.shape[axis]);
    reference_add(out, ir::ravel(at, out.shape), source, i, attrs.alpha.as_double());
  }
}
std::vector<ir::Sample> index_add_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  const Dim k = Dim::symbol('s', 2);
  return {{{{.shape = {m, n}}, ops::index_input({k}, m), {.shape = {k, n}}}, ir::attrs_of(IndexAddAttrs{0, 1}), {5, 37, 9}},
          {{{.shape = {m, n}}, ops::index_input({k}, n, DType::I32), {.shape = {m, k}}}, ir::attrs_of(IndexAddAttrs{-1, 2}), {3, 37, 9}}};
}

constexpr OpDef index_add_op{
    .name = "index_add",
    .doc = "Slices of a source added at positions along an axis; positions may repeat.",
    .inputs = {{"x", "[..., n, ...]"}, {.name = "index", .shape = "[k]", .promoted = false}, {"source", "[..., k, ...]"}},
    .attrs = &ir::kAttrsInfo<IndexAddAttrs>,
    .promote = ir::Promotion::First,
    .dtypes = kSummed,
    .infer = infer_index_add,
    .lower = ir::Update{.base = 0, .value = 2, .target = index_add_target, .combine = index_add_combine, .repeated_axis = index_add_axis},
    .vjp = index_add_vjp,
    .reference = index_add_reference,
    .samples = index_add_samples,
};

// --- scatter_add ---------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_scatter_add(InferContext& c) {
  const i64 axis = c.axis(c.attrs<IndexAttrs>().axis, static_cast<i64>(c.shape(0).size()));
  ops::require_index_dtype(c, 1);
  ops::require_index_shape(c, c.shape(0), c.shape(1), axis);
  if (c.shape(2).size() != c.shape(1).size()) {
    throw ShapeError(cat(c.op(), ": Index tensor must have the same number of dimensions as src tensor: index is ", c.shape(1), ", src is ",
                         c.shape(2)));
  }
  for (std::size_t a = 0; a < c.shape(1).size(); ++a) c.same(c.shape(1)[a], c.shape(2)[a], "sizes of index and source");
  return {{c.dtype(0), c.shape(0), {}}};
}
Shape scatter_add_target(UpdateContext& c) {
  const std::size_t axis = ops::front_axis(c.attrs<IndexAttrs>().axis, c.index().size());
  Shape target(c.index());
  target[axis] = c.loaded_index(1, c.index(), 0, c.input_shape(0)[axis]);
  return target;
}
i64 scatter_add_axis(ir::AttrsRef attrs, i64 ndim) {
  return normalize_axis(static_cast<const IndexAttrs*>(attrs.data)->axis, ndim, "scatter_add");
}

std::vector<Tensor> scatter_add_vjp(const ir::VjpCall& call) {
  const Tensor& g = call.grads[0];
  return {g, Tensor(), call.wants(2) ? gather(g, call.attributes<IndexAttrs>().axis, call.inputs[1]) : Tensor()};
}
void scatter_add_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  const ir::Array& source = call.input(2);
  const std::size_t axis = ops::front_axis(call.attributes<IndexAttrs>().axis, out.shape.size());
  out = call.input(0);
  for (i64 i = 0; i < source.numel(); ++i) {
    std::vector<i64> at = ir::unravel(i, source.shape);
    at[axis] = ops::checked_index("scatter_add", call.input(1), i, out.shape[axis]);
    reference_add(out, ir::ravel(at, out.shape), source, i, 1);
  }
}
std::vector<ir::Sample> scatter_add_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  const Dim k = Dim::symbol('s', 2);
  return {{{{.shape = {m, n}}, ops::index_input({k, n}, m), {.shape = {k, n}}}, ir::attrs_of(IndexAttrs{0}), {5, 37, 9}},
          {{{.shape = {m, n}}, ops::index_input({m, k}, n, DType::I32), {.shape = {m, k}}}, ir::attrs_of(IndexAttrs{-1}), {3, 37, 9}}};
}

constexpr OpDef scatter_add_op{
    .name = "scatter_add",
    .doc = "Elements of a source added at positions along an axis; positions may repeat.",
    .inputs = {{"x", "[..., n, ...]"}, {.name = "index", .shape = "[..., k, ...]", .promoted = false}, {"source", "[..., k, ...]"}},
    .attrs = &ir::kAttrsInfo<IndexAttrs>,
    .promote = ir::Promotion::First,
    .dtypes = kSummed,
    .infer = infer_scatter_add,
    .lower =
        ir::Update{.base = 0,
                   .value = 2,
                   .target = scatter_add_target,
                   .combine = [](ir::FormulaContext&, const Scalar& old_value, const Scalar& value) { return sum_of(old_value, value); },
                   .repeated_axis = scatter_add_axis},
    .vjp = scatter_add_vjp,
    .reference = scatter_add_reference,
    .samples = scatter_add_samples,
};

constexpr const OpDef* kTable[] = {&index_add_op, &scatter_add_op};

}  // namespace

constexpr OpTable kIndexAddOps = kTable;

namespace {

// A tensor without axes counts as one of one element, as in PyTorch.
Tensor with_an_axis(const Tensor& x) { return x.ndim() == 0 ? reshape(x, {1}) : x; }
bool lacks_axes(const Tensor& x, const Tensor& index, const Tensor& source) {
  return x.defined() && index.defined() && source.defined() && x.ndim() == 0 && index.ndim() <= 1 && source.ndim() <= 1;
}

}  // namespace

Tensor index_add(const Tensor& x, i64 axis, const Tensor& index, const Tensor& source, Number alpha) {
  if (lacks_axes(x, index, source)) {
    return reshape(index_add(with_an_axis(x), axis, with_an_axis(index), with_an_axis(source), alpha), Shape{});
  }
  return apply_one(index_add_op, {x, index, source}, IndexAddAttrs{axis, alpha});
}
const Tensor& index_add_(const Tensor& x, i64 axis, const Tensor& index, const Tensor& source, Number alpha) {
  if (lacks_axes(x, index, source)) {
    index_add_(with_an_axis(x), axis, with_an_axis(index), with_an_axis(source), alpha);
    return x;
  }
  return apply_into(x, index_add_op, {x, index, source}, IndexAddAttrs{axis, alpha});
}

// The part of the source that has indices.
Tensor scatter_add(const Tensor& x, i64 axis, const Tensor& index, const Tensor& source) {
  if (lacks_axes(x, index, source)) {
    return reshape(scatter_add(with_an_axis(x), axis, with_an_axis(index), with_an_axis(source)), Shape{});
  }
  Tensor part = source;
  if (index.defined() && source.defined() && index.ndim() == source.ndim()) {
    for (i64 a = 0; a < index.ndim(); ++a) {
      const bool sizes_known = index.size(a).is_constant() && part.size(a).is_constant();
      if (!sizes_known || index.size(a) == part.size(a)) continue;
      if (index.size(a).value() > part.size(a).value()) {
        throw ShapeError(cat("scatter_add: Expected index ", index.shape(), " to be smaller than self ", x.shape(),
                             " apart from dimension ", axis, " and to be smaller size than src ", source.shape()));
      }
      part = slice(part, {a, 0, index.size(a), {}});
    }
  }
  return apply_one(scatter_add_op, {x, index, part}, IndexAttrs{axis});
}

}  // namespace resilin
