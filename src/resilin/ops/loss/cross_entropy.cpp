// src/resilin/ops/loss/cross_entropy.cpp -- the cross entropy of logits and targets.
//
// The op sees rows: logits [n, classes], targets [n, 1]. Beside the loss it gives what backward would compute again: the logarithm of each row's sum of
// exponentials and the sum of the weights that count.
#include "resilin/ops/loss/cross_entropy.h"

#include <cmath>

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/activation/softmax.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/index/gather.h"
#include "resilin/ops/index/index_rule.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/elementary.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/reduce/extreme.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

ReduceAttrs rows() { return {.axes = {-1}, .keepdim = true, .plain = true}; }

std::vector<ir::Type> infer_cross_entropy(ir::InferContext& c) {
  const Shape& x = c.shape(0);
  const Shape& target = c.shape(1);
  ops::require_index_dtype(c, 1);
  if (x.size() != 2 || target.size() != 2)
    throw ShapeError(cat(c.op(), ": logits and targets must be rows: they are ", x, " and ", target));
  c.same(x[0], target[0], "numbers of rows and of targets");
  c.same(target[1], 1, "targets of a row");
  if (c.has(2)) {
    if (c.shape(2).size() != 1) throw ShapeError(cat(c.op(), ": weight must have one axis: weight is ", c.shape(2)));
    c.same(c.shape(2)[0], x[1], "numbers of weights and of classes");
    if (c.dtype(2) != c.dtype(0)) throw DtypeError(cat(c.op(), ": expected scalar type ", c.dtype(0), " but found ", c.dtype(2)));
  }
  const DType wide = compute_dtype(c.dtype(0));
  const bool per_row = c.attrs<CrossEntropyAttrs>().reduction == Reduction::None;
  return {{c.dtype(0), per_row ? target : Shape(), {}}, {wide, target, {}}, {wide, {}, {}}};
}

/// What the targets say of each row [n, 1]: whether it counts, its class (0 where it does not count), the factor of its loss (undefined: 1).
struct Targets {
  Tensor counts, index, weight;
  Tensor weighted(const Tensor& x) const { return weight.defined() ? weight * x : x; }
};
Targets targets_of(const Tensor& x, const Tensor& target, const Tensor& weight, const CrossEntropyAttrs& attrs) {
  Targets t;
  t.counts = ne(target, attrs.ignore_index);
  t.index = where(t.counts, target, 0);
  if (weight.defined()) t.weight = where(t.counts, gather(expand(weight, x.shape()), 1, t.index), 0.0);
  return t;
}

std::vector<Tensor> cross_entropy_body(const ir::CompositeCall& call) {
  const CrossEntropyAttrs& attrs = call.attributes<CrossEntropyAttrs>();
  const Tensor& x = call.inputs[0];
  const Tensor& weight = call.inputs[2];
  const Targets t = targets_of(x, call.inputs[1], weight, attrs);
  const Tensor largest = amax(x, rows());
  const Tensor lse = largest + log(sum(exp(x - largest), rows()));
  Tensor loss = t.weighted(lse - gather(x, 1, t.index));
  if (attrs.smooths) {
    const Tensor below = lse - x;
    const Tensor spread = ops::divided_by_size(sum(weight.defined() ? below * weight : below, rows()), x.size(1));
    loss = loss - loss * attrs.label_smoothing + spread * attrs.label_smoothing;
  }
  const Tensor total = sum(weight.defined() ? t.weight : cast(t.counts, x.dtype()));
  // A row that does not count has the loss 0 whatever its logits are.
  loss = where(t.counts, loss, 0.0);
  if (attrs.reduction == Reduction::Mean) loss = sum(loss) / total;
  if (attrs.reduction == Reduction::Sum) loss = sum(loss);
  return {loss, lse, total};
}

/// The parts of the gradients: the targets, the gradient of each row's loss [n, 1], and where a class is the row's target [n, classes].
struct Slopes {
  Targets targets;
  Tensor row, is_target;
};
Slopes slopes_of(const ir::VjpCall& call, const Tensor& x, const Tensor& weight) {
  const CrossEntropyAttrs& attrs = call.attributes<CrossEntropyAttrs>();
  Slopes s;
  s.targets = targets_of(x, call.inputs[1], weight, attrs);
  s.row = where(s.targets.counts, ops::widened(call.grads[0]), 0.0);
  if (attrs.reduction == Reduction::Mean) s.row = s.row / call.outputs[2];
  s.is_target = eq(iota(x.size(1)), s.targets.index);
  return s;
}

Tensor to_logits(const ir::VjpCall& call, const Tensor& x, const Tensor& weight) {
  const CrossEntropyAttrs& attrs = call.attributes<CrossEntropyAttrs>();
  const Tensor p = exp(x - call.outputs[1]);
  Tensor grad;
  if (call.grads[0].defined()) {
    const Slopes s = slopes_of(call, x, weight);
    Tensor slope = s.targets.weighted(p - where(s.is_target, 1.0, 0.0));
    if (attrs.smooths) {
      const Tensor spread = weight.defined() ? p * sum(weight) - weight : p * size_tensor(x.size(1)) - 1;
      slope = slope - slope * attrs.label_smoothing + ops::divided_by_size(spread, x.size(1)) * attrs.label_smoothing;
    }
    grad = s.row * slope;
  }
  if (!call.grads[1].defined()) return grad;
  const Tensor through_lse = p * call.grads[1];
  return grad.defined() ? grad + through_lse : through_lse;
}

// A class's weight counts in the losses of its rows, with smoothing in all losses, and in the total.
Tensor to_weight(const ir::VjpCall& call, const Tensor& x, const Tensor& weight) {
  const CrossEntropyAttrs& attrs = call.attributes<CrossEntropyAttrs>();
  const Targets targets = targets_of(x, call.inputs[1], weight, attrs);
  const Tensor is_target = where(targets.counts, cast(eq(iota(x.size(1)), targets.index), x.dtype()), 0.0);
  Tensor grad;
  Tensor to_total = call.grads[2];
  if (call.grads[0].defined()) {
    const Tensor row = slopes_of(call, x, weight).row;
    const Tensor below = call.outputs[1] - x;
    Tensor slope = is_target * below;
    if (attrs.smooths) slope = slope - slope * attrs.label_smoothing + ops::divided_by_size(below, x.size(1)) * attrs.label_smoothing;
    grad = row * slope;
    if (attrs.reduction == Reduction::Mean) {
      const Tensor through_total = neg(ops::widened(call.grads[0]) * ops::widened(call.outputs[0]) / call.outputs[2]);
      to_total = to_total.defined() ? to_total + through_total : through_total;
    }
  }
  if (to_total.defined()) grad = grad.defined() ? grad + is_target * to_total : is_target * to_total;
  return grad.defined() ? sum(grad, {.axes = {0}}) : Tensor();
}

std::vector<Tensor> cross_entropy_vjp(const ir::VjpCall& call) {
  const Tensor x = ops::widened(call.inputs[0]);
  const Tensor weight = ops::widened(call.inputs[2]);
  const auto in_dtype = [&](const Tensor& grad) { return grad.defined() ? cast(grad, call.inputs[0].dtype()) : grad; };
  std::vector<Tensor> grads(3);
  if (call.wants(0)) grads[0] = in_dtype(to_logits(call, x, weight));
  if (weight.defined() && call.wants(2)) grads[2] = in_dtype(to_weight(call, x, weight));
  return grads;
}

struct Row {
  double lse = 0, loss = 0, weight = 0;
};
Row reference_row(const ir::ReferenceCall& call, i64 row) {
  const CrossEntropyAttrs& attrs = call.attributes<CrossEntropyAttrs>();
  const ir::Array& x = call.input(0);
  const i64 classes = x.shape[1];
  const auto weight = [&](i64 c) { return call.inputs[2] ? call.input(2).real(c) : 1.0; };
  double largest = -HUGE_VAL;
  double total = 0;
  for (i64 c = 0; c < classes; ++c) largest = std::max(largest, x.real(row * classes + c));
  for (i64 c = 0; c < classes; ++c) total += std::exp(x.real(row * classes + c) - largest);
  Row out{.lse = largest + std::log(total)};
  if (call.input(1).integer(row) == attrs.ignore_index.as_integer()) return out;
  const i64 target = ops::checked_index("cross_entropy", call.input(1), row, classes);
  out.weight = weight(target);
  out.loss = out.weight * (out.lse - x.real(row * classes + target));
  if (attrs.smooths) {
    double spread = 0;
    for (i64 c = 0; c < classes; ++c) spread += weight(c) * (out.lse - x.real(row * classes + c)) / static_cast<double>(classes);
    const double share = attrs.label_smoothing.as_double();
    out.loss = (1 - share) * out.loss + share * spread;
  }
  return out;
}
void cross_entropy_reference(ir::ReferenceCall& call) {
  const Reduction reduction = call.attributes<CrossEntropyAttrs>().reduction;
  double loss = 0;
  double weight = 0;
  for (i64 i = 0; i < call.input(0).shape[0]; ++i) {
    const Row row = reference_row(call, i);
    call.output(1).set(i, row.lse);
    loss += row.loss;
    weight += row.weight;
    if (reduction == Reduction::None) call.output(0).set(i, row.loss);
  }
  call.output(2).set(0, weight);
  if (reduction != Reduction::None) call.output(0).set(0, reduction == Reduction::Mean ? loss / weight : loss);
}

std::vector<ir::Sample> cross_entropy_samples() {
  const Dim n = Dim::symbol('s', 0);
  const Dim classes = Dim::symbol('s', 1);
  const ir::SampleInput x{.shape = {n, classes}};
  const ir::SampleInput target = ops::index_input({n, 1}, classes);
  const ir::SampleInput weight{.shape = {classes}, .fill = ir::Fill::Positive};
  return {{{x, target}, ir::attrs_of(CrossEntropyAttrs{}), {9, 37}},
          {{x, ops::index_input({n, 1}, classes, DType::I32), weight}, ir::attrs_of(CrossEntropyAttrs{.ignore_index = 1}), {9, 37}},
          {{x, target, weight}, ir::attrs_of(CrossEntropyAttrs{-100, Reduction::Sum, true, 0.25}), {5, 17}},
          {{x, target}, ir::attrs_of(CrossEntropyAttrs{2, Reduction::None, true, 0.125}), {5, 17}}};
}

constexpr ir::OpDef cross_entropy_op{
    .name = "cross_entropy",
    .doc = "Cross entropy of rows of logits and their classes; also the logarithm of each row's sum, and the sum of weights.",
    .inputs = {{"logits", "[n, classes]"},
               {.name = "target", .shape = "[n, 1]", .promoted = false},
               {.name = "weight", .shape = "[classes]", .kind = ir::InputKind::Optional}},
    .attrs = &ir::kAttrsInfo<CrossEntropyAttrs>,
    .dtypes = ir::kFloats,
    .output_count = 3,
    .infer = infer_cross_entropy,
    .lower = ir::Composite{cross_entropy_body},
    .vjp = cross_entropy_vjp,
    .reference = cross_entropy_reference,
    .samples = cross_entropy_samples,
};

constexpr const ir::OpDef* kTable[] = {&cross_entropy_op};

// Probabilities in place of classes: -sum(target * log_softmax(logits)).
Tensor with_probabilities(const Tensor& x, const Tensor& target, i64 axis, const CrossEntropyOptions& options) {
  Tensor wanted = target;
  const Dim classes = x.size(axis);
  if (options.label_smoothing > 0)
    wanted = wanted * (1 - options.label_smoothing) + options.label_smoothing / static_cast<double>(classes.value());
  Tensor logs = log_softmax(x, {axis});
  if (options.weight.defined()) {
    Shape shape(static_cast<std::size_t>(x.ndim() - axis), Dim(1));
    shape[0] = classes;
    logs = logs * reshape(options.weight, shape);
  }
  const Tensor loss = neg(sum(wanted * logs, {.axes = {axis}}));
  if (options.reduction == Reduction::None) return loss;
  return options.reduction == Reduction::Sum ? sum(loss) : ops::divided_by_size(sum(loss), product(loss.shape()));
}

void require_target_shape(const Tensor& x, const Tensor& target, i64 axis) {
  Shape wanted = x.shape();
  wanted.erase(wanted.begin() + axis);
  if (!may_be_equal(wanted, target.shape())) {
    throw ShapeError(
        cat("cross_entropy: Expected target of shape ", wanted, " for logits of shape ", x.shape(), ", but got ", target.shape()));
  }
}

}  // namespace

constexpr OpTable kCrossEntropyOps = kTable;

Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ArgumentError(cat("cross_entropy: label_smoothing must be between 0.0 and 1.0. Got: ", options.label_smoothing));
  if (logits.ndim() == 0) throw ShapeError("cross_entropy: logits must have an axis of classes, but they are 0-dimensional");
  const i64 axis = logits.ndim() == 1 ? 0 : 1;
  if (is_floating(target.dtype())) {
    if (!(target.shape() == logits.shape())) {
      throw ShapeError(cat("cross_entropy: a target of probabilities must have the shape of the logits: it should be ", logits.shape(),
                           ", but got ", target.shape()));
    }
    return with_probabilities(logits, target, axis, options);
  }
  require_target_shape(logits, target, axis);
  Tensor rows = logits;
  if (logits.ndim() == 1) rows = unsqueeze(logits, 0);
  if (logits.ndim() > 2) {
    SmallVector<i64, 5> order{0};
    for (i64 a = 2; a < logits.ndim(); ++a) order.push_back(a);
    order.push_back(1);
    rows = reshape(permute(logits, order), {product(target.shape()), logits.size(1)});
  }
  const CrossEntropyAttrs attrs{options.ignore_index, options.reduction, options.label_smoothing != 0, options.label_smoothing};
  const Tensor targets = reshape(target, {product(target.shape()), 1});
  const Input inputs[] = {rows, targets, options.weight};
  const Tensor loss = apply(cross_entropy_op, inputs, {&attrs, cross_entropy_op.attrs})[0];
  return options.reduction == Reduction::None ? reshape(loss, target.shape()) : loss;
}

}  // namespace resilin
