// src/resilin/ops/contract/linear.cpp -- a linear layer's product.
#include "resilin/ops/contract/linear.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/contract/matmul.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

void require_same(ir::InferContext& c, Dim a, Dim b, std::string_view what) {
  if (!may_be_equal(a, b)) {
    throw ShapeError(cat(c.op(), ": ", what, " differ: x is ", c.shape(0), ", weight is ", c.shape(1),
                         c.has(2) ? cat(", bias is ", c.shape(2)) : std::string(), "; ", a, " must equal ", b));
  }
  c.same(a, b, what);
}

std::vector<ir::Type> infer_linear(ir::InferContext& c) {
  Shape shape = c.shape(0);
  const Shape& weight = c.shape(1);
  if (shape.empty() || weight.size() != 2)
    throw ShapeError(cat(c.op(), ": x must have an axis and weight two: x is ", shape, ", weight is ", weight));
  require_same(c, shape.back(), weight[1], "inner sizes");
  if (c.has(2)) {
    if (c.shape(2).size() != 1) throw ShapeError(cat(c.op(), ": bias must have one axis: bias is ", c.shape(2)));
    require_same(c, c.shape(2)[0], weight[0], "sizes of bias and of weight's rows");
  }
  shape.back() = weight[0];
  return {{c.dtype(0), shape, {}}};
}

Tensor rows_of(const Tensor& x) {
  return x.ndim() == 2 ? x : reshape(x, {product(std::span<const Dim>(x.shape()).first(x.shape().size() - 1)), x.size(-1)});
}

std::vector<Tensor> linear_body(const ir::CompositeCall& call) {
  const Tensor& x = call.inputs[0];
  const bool adds = call.inputs[2].defined();
  // With a bias the sum is rounded once: f16 and bf16 are multiplied as f32.
  const auto term = [&](const Tensor& t) { return adds ? ops::widened(t) : t; };
  const Tensor product = matmul(rows_of(term(x)), transpose(term(call.inputs[1]), 0, 1));
  const Tensor y = adds ? product + call.inputs[2] : product;
  if (x.ndim() == 2) return {y};
  Shape shape = x.shape();
  shape.back() = call.inputs[1].size(0);
  return {reshape(y, shape)};
}

std::vector<Tensor> linear_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  const Tensor g = rows_of(call.grads[0]);
  std::vector<Tensor> grads(3);
  if (call.wants(0)) grads[0] = reshape(matmul(g, call.inputs[1]), x.shape());
  if (call.wants(1)) grads[1] = matmul(transpose(g, 0, 1), rows_of(x));
  if (call.inputs[2].defined() && call.wants(2)) grads[2] = sum(g, {.axes = {0}});
  return grads;
}

void linear_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  const ir::Array& weight = call.input(1);
  const i64 n = weight.shape[0];
  const i64 k = weight.shape[1];
  for (i64 i = 0; i < call.output().numel(); ++i) {
    if (!x.is_real()) {
      std::uint64_t sum = call.inputs[2] ? static_cast<std::uint64_t>(call.input(2).integer(i % n)) : 0;
      for (i64 j = 0; j < k; ++j) {
        sum += static_cast<std::uint64_t>(x.integer(i / n * k + j)) * static_cast<std::uint64_t>(weight.integer(i % n * k + j));
      }
      call.output().set_integer(i, static_cast<i64>(sum));
      continue;
    }
    double total = call.inputs[2] ? call.input(2).real(i % n) : 0;
    for (i64 j = 0; j < k; ++j) total += x.real(i / n * k + j) * weight.real(i % n * k + j);
    call.output().set(i, total);
  }
}

std::vector<ir::Sample> linear_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim k = Dim::symbol('s', 1);
  const Dim n = Dim::symbol('s', 2);
  const Dim batch = Dim::symbol('s', 3);
  const auto small = [](Shape shape) { return ir::SampleInput{.shape = std::move(shape), .fill = ir::Fill::Small}; };
  return {{{small({m, k}), small({n, k}), small({n})}, {}, {5, 37, 9}},
          {{small({batch, m, k}), small({n, k}), small({n})}, {}, {5, 17, 9, 3}}};
}

constexpr ir::OpDef linear_op{
    .name = "linear",
    .doc = "x times the transposed weight, plus a bias.",
    .inputs = {{"x", "[..., k]"}, {"weight", "[n, k]"}, {.name = "bias", .shape = "[n]", .kind = ir::InputKind::Optional}},
    .promote = ir::Promotion::First,
    .dtypes = ir::kFloats | ir::kInts,
    .infer = infer_linear,
    .lower = ir::Composite{.body = linear_body, .widens = false},
    .vjp = linear_vjp,
    .reference = linear_reference,
    .samples = linear_samples,
};

constexpr const ir::OpDef* kTable[] = {&linear_op};

}  // namespace

constexpr OpTable kLinearOps = kTable;

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  if (!weight.defined() || weight.ndim() != 1) return apply_one(linear_op, {x, weight, bias});
  const Tensor y = squeeze(apply_one(linear_op, {x, unsqueeze(weight, 0), Tensor()}), -1);
  return bias.defined() ? y + bias : y;
}

}  // namespace resilin
