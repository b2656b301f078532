// src/resilin/ops/activation/softmax.cpp -- softmax along an axis.
#include "resilin/ops/activation/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/reduce/extreme.h"
#include "resilin/ops/reduce/reduce.h"

namespace resilin {
namespace {

std::vector<ir::Type> infer_softmax(ir::InferContext& c) {
  if (!c.shape(0).empty()) c.axis(c.attrs<SoftmaxAttrs>().axis, static_cast<i64>(c.shape(0).size()));
  return {{c.dtype(0), c.shape(0), {}}};
}

std::vector<Tensor> softmax_body(const ir::CompositeCall& call) {
  const Tensor& x = call.inputs[0];
  const ReduceAttrs rows{.axes = {call.attributes<SoftmaxAttrs>().axis}, .keepdim = true, .plain = true};
  const Tensor e = exp(x - amax(x, rows));
  return {e * (1 / sum(e, rows))};  // one division per row
}

std::vector<Tensor> softmax_vjp(const ir::VjpCall& call) {
  const Tensor y = ops::widened(call.outputs[0]);
  const Tensor scaled = ops::widened(call.grads[0]) * y;
  const ReduceAttrs rows{.axes = {call.attributes<SoftmaxAttrs>().axis}, .keepdim = true, .plain = true};
  return {cast(scaled - y * sum(scaled, rows), call.inputs[0].dtype())};
}

void softmax_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  const i64 ndim = static_cast<i64>(x.shape.size());
  i64 size = 1;
  i64 stride = 1;
  if (ndim > 0) {
    const i64 axis = normalize_axis(call.attributes<SoftmaxAttrs>().axis, ndim, "softmax");
    size = x.shape[static_cast<std::size_t>(axis)];
    for (i64 a = axis + 1; a < ndim; ++a) stride *= x.shape[static_cast<std::size_t>(a)];
  }
  for (i64 i = 0; i < x.numel(); ++i) {
    if (i / stride % size != 0) continue;  // the first element of each row
    double largest = -std::numeric_limits<double>::infinity();
    double total = 0;
    for (i64 k = 0; k < size; ++k) largest = std::max(largest, x.real(i + k * stride));
    for (i64 k = 0; k < size; ++k) total += std::exp(x.real(i + k * stride) - largest);
    for (i64 k = 0; k < size; ++k) out.set(i + k * stride, std::exp(x.real(i + k * stride) - largest) / total);
  }
}

std::vector<ir::Sample> softmax_samples() {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  return {{{{.shape = shape}}, ir::attrs_of(SoftmaxAttrs{-1}), {3, 37}}, {{{.shape = shape}}, ir::attrs_of(SoftmaxAttrs{0}), {9, 37}}};
}

constexpr ir::OpDef softmax_op{
    .name = "softmax",
    .doc = "Exponentials along an axis, normalised to sum 1.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<SoftmaxAttrs>,
    .dtypes = ir::kFloats,
    .infer = infer_softmax,
    .lower = ir::Composite{softmax_body},
    .vjp = softmax_vjp,
    .reference = softmax_reference,
    .samples = softmax_samples,
};

constexpr const ir::OpDef* kTable[] = {&softmax_op};

}  // namespace

constexpr OpTable kSoftmaxOps = kTable;

Tensor softmax(const Tensor& x, const SoftmaxAttrs& attrs) { return apply_one(softmax_op, {x}, attrs); }

}  // namespace resilin
