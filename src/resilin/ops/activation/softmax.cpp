// src/resilin/ops/activation/softmax.cpp -- softmax and its logarithm along an axis.
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

ReduceAttrs rows_of(const SoftmaxAttrs& attrs) { return {.axes = {attrs.axis}, .keepdim = true, .plain = true}; }

std::vector<Tensor> softmax_body(const ir::CompositeCall& call) {
  const Tensor& x = call.inputs[0];
  const ReduceAttrs rows = rows_of(call.attributes<SoftmaxAttrs>());
  const Tensor e = exp(x - amax(x, rows));
  return {e * (1 / sum(e, rows))};  // one division per row
}

std::vector<Tensor> softmax_vjp(const ir::VjpCall& call) {
  const Tensor y = ops::widened(call.outputs[0]);
  const Tensor scaled = ops::widened(call.grads[0]) * y;
  return {cast(scaled - y * sum(scaled, rows_of(call.attributes<SoftmaxAttrs>())), call.inputs[0].dtype())};
}

std::vector<Tensor> log_softmax_body(const ir::CompositeCall& call) {
  const ReduceAttrs rows = rows_of(call.attributes<SoftmaxAttrs>());
  const Tensor below = call.inputs[0] - amax(call.inputs[0], rows);
  return {below - log(sum(exp(below), rows))};
}
std::vector<Tensor> log_softmax_vjp(const ir::VjpCall& call) {
  const Tensor g = ops::widened(call.grads[0]);
  const Tensor total = sum(g, rows_of(call.attributes<SoftmaxAttrs>()));
  return {cast(g - exp(ops::widened(call.outputs[0])) * total, call.inputs[0].dtype())};
}

/// Fills each element with value(x, largest of its row, sum of exp(x - largest)).
template <class Value>
void reference_rows(ir::ReferenceCall& call, const Value& value) {
  const ir::Array& x = call.input(0);
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
    for (i64 k = 0; k < size; ++k) call.output().set(i + k * stride, value(x.real(i + k * stride), largest, total));
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
    .reference =
        [](ir::ReferenceCall& call) {
          reference_rows(call, [](double x, double largest, double total) { return std::exp(x - largest) / total; });
        },
    .samples = softmax_samples,
};

constexpr ir::OpDef log_softmax_op{
    .name = "log_softmax",
    .doc = "Logarithm of softmax along an axis.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<SoftmaxAttrs>,
    .dtypes = ir::kFloats,
    .infer = infer_softmax,
    .lower = ir::Composite{log_softmax_body},
    .vjp = log_softmax_vjp,
    .reference =
        [](ir::ReferenceCall& call) {
          reference_rows(call, [](double x, double largest, double total) { return x - largest - std::log(total); });
        },
    .samples = softmax_samples,
};

constexpr const ir::OpDef* kTable[] = {&softmax_op, &log_softmax_op};

}  // namespace

constexpr OpTable kSoftmaxOps = kTable;

Tensor softmax(const Tensor& x, const SoftmaxAttrs& attrs) { return apply_one(softmax_op, {x}, attrs); }
Tensor log_softmax(const Tensor& x, const SoftmaxAttrs& attrs) { return apply_one(log_softmax_op, {x}, attrs); }

}  // namespace resilin
