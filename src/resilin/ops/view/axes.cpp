// src/resilin/ops/view/axes.cpp -- single axes dropped, added and joined, and copies: squeeze, unsqueeze, select, flatten, clone, contiguous.
#include "resilin/ops/view/axes.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/pointwise.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

using ir::OpDef;

constexpr ir::DTypeSet kReal = ir::kAnyDType & ~(ir::bit(DType::C64) | ir::bit(DType::C128));

std::vector<Tensor> copy_vjp(const ir::VjpCall& call) { return {call.grads[0]}; }
void copy_reference(ir::ReferenceCall& call) {
  ops::reference_unary(
      call, [](double x) { return x; }, [](i64 x) { return x; });
}

constexpr OpDef clone_op{
    .name = "clone",
    .doc = "A copy in memory of its own.",
    .inputs = {{"x", "[...]"}},
    .dtypes = kReal,
    .infer = ir::infer_pointwise,
    .lower = ir::Pointwise{[](ir::PointwiseContext& c) { return c.input(0); }},
    .vjp = copy_vjp,
    .reference = copy_reference,
    .samples = ops::samples_unary,
};

// An Update, since the order of a Pointwise result in memory follows its input.
constexpr OpDef contiguous_op{
    .name = "contiguous",
    .doc = "A row-major copy.",
    .inputs = {{"x", "[...]"}},
    .dtypes = kReal,
    .infer = ir::infer_pointwise,
    .lower = ir::Update{.base = -1, .value = 0, .target = [](ir::UpdateContext& c) { return Shape(c.index()); }},
    .vjp = copy_vjp,
    .reference = copy_reference,
    .samples = ops::samples_unary,
};

constexpr const OpDef* kTable[] = {&clone_op, &contiguous_op};

}  // namespace

constexpr OpTable kAxesOps = kTable;

Tensor squeeze(const Tensor& x) {
  Shape shape;
  for (const Dim size : x.shape()) {
    if (!(size == 1)) shape.push_back(size);
  }
  return shape.size() == x.shape().size() ? x : reshape(x, shape);
}
Tensor squeeze(const Tensor& x, i64 axis) {
  if (x.ndim() == 0 && (axis == 0 || axis == -1)) return x;
  const i64 a = normalize_axis(axis, x.ndim(), "squeeze");
  if (!(x.size(a) == 1)) return x;
  Shape shape = x.shape();
  shape.erase(shape.begin() + a);
  return reshape(x, shape);
}

Tensor unsqueeze(const Tensor& x, i64 axis) {
  Shape shape = x.shape();
  shape.insert(shape.begin() + normalize_axis(axis, x.ndim() + 1, "unsqueeze"), 1);
  return reshape(x, shape);
}

Tensor select(const Tensor& x, i64 axis, i64 position) {
  const i64 a = normalize_axis(axis, x.ndim(), "select");
  const Dim size = x.size(a);
  if (size.is_constant() && (position < -size.value() || position >= size.value())) {
    throw IndexError(cat("select: index ", position, " out of range for tensor of size ", x.shape(), " at dimension ", a));
  }
  const Dim start = position < 0 ? size + Dim(position) : Dim(position);
  Shape shape = x.shape();
  shape.erase(shape.begin() + a);
  return reshape(slice(x, {a, start, start + Dim(1), {}}), shape);
}

Tensor flatten(const Tensor& x, i64 start, i64 end) {
  if (x.ndim() == 0) return reshape(x, {1});
  const i64 first = normalize_axis(start, x.ndim(), "flatten");
  const i64 last = normalize_axis(end, x.ndim(), "flatten");
  if (first > last) throw ArgumentError(cat("flatten: start_dim cannot come after end_dim: they are ", start, " and ", end));
  Shape shape;
  for (i64 a = 0; a < x.ndim(); ++a) {
    if (a <= first || a > last) {
      shape.push_back(x.size(a));
    } else {
      shape.back() = shape.back() * x.size(a);
    }
  }
  return first == last ? x : reshape(x, shape);
}

Tensor clone(const Tensor& x) { return apply_one(clone_op, {x}); }
Tensor contiguous(const Tensor& x) { return !x.is_traced() && x.is_contiguous() ? x : apply_one(contiguous_op, {x}); }

}  // namespace resilin
