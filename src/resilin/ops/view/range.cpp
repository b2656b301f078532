// src/resilin/ops/view/range.cpp -- views that choose or add positions along axes: slice, flip, pad.
#include "resilin/ops/view/range.h"

#include <algorithm>
#include <vector>

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/size_rule.h"
#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/reference_view.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

using ir::InferContext;
using ir::OpDef;
using ir::ViewContext;
using ir::ViewMap;
using ops::reference_view;
using ops::require_less_equal;
using ops::size_symbol;

// --- slice -----------------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_slice(InferContext& c) {
  const SliceAttrs& attrs = c.attrs<SliceAttrs>();
  const std::size_t axis = static_cast<std::size_t>(c.axis(attrs.axis, static_cast<i64>(c.shape(0).size())));
  Shape shape = c.shape(0);
  require_less_equal(c, 0, attrs.start, "start is negative");
  require_less_equal(c, attrs.start, attrs.stop, "stop lies before start");
  require_less_equal(c, attrs.stop, shape[axis], "stop lies beyond the axis");
  if (attrs.step) require_less_equal(c, 1, *attrs.step, "step is less than 1");
  shape[axis] = ceil_div(attrs.stop - attrs.start, attrs.distance());
  return {{c.dtype(0), shape, {}}};
}
ViewMap slice_map(ViewContext& c) {
  const SliceAttrs& attrs = c.attrs<SliceAttrs>();
  ViewMap map;
  const i64 ndim = static_cast<i64>(c.index().size());
  for (i64 a = 0; a < ndim; ++a) {
    const Dim at = c.index()[static_cast<std::size_t>(a)];
    map.source.push_back(a == (attrs.axis + ndim) % ndim ? attrs.start + at * attrs.distance() : at);
  }
  return map;
}
void slice_reference(ir::ReferenceCall& call) {
  const SliceAttrs& attrs = call.attributes<SliceAttrs>();
  const i64 ndim = static_cast<i64>(call.input(0).shape.size());
  const std::size_t axis = static_cast<std::size_t>((attrs.axis + ndim) % ndim);
  reference_view(call, [&](std::vector<i64> index, i64) {
    index[axis] = attrs.start.value() + index[axis] * attrs.distance().value();
    return ir::ravel(index, call.input(0).shape);
  });
}
// Zeros between the positions and around them; what the last step adds beyond the end is cropped.
std::vector<Tensor> slice_vjp(const ir::VjpCall& call) {
  const SliceAttrs& attrs = call.attributes<SliceAttrs>();
  const Tensor& x = call.inputs[0];
  const std::size_t axis = static_cast<std::size_t>(attrs.axis < 0 ? attrs.axis + x.ndim() : attrs.axis);
  Tensor g = call.grads[0];
  if (attrs.step) {
    Shape split = g.shape();
    split.insert(split.begin() + axis + 1, 1);
    Shape joined = g.shape();
    joined[axis] = joined[axis] * *attrs.step;
    Shape after(split.size(), Dim(0));
    after[axis + 1] = *attrs.step - Dim(1);
    g = reshape(pad(reshape(g, split), PadAttrs{Shape(split.size(), Dim(0)), after}), joined);
  }
  Shape before(g.shape().size(), Dim(0));
  Shape after = before;
  before[axis] = attrs.start;
  after[axis] = x.shape()[axis] - attrs.start - g.shape()[axis];
  return {pad(g, PadAttrs{before, after})};
}
std::vector<ir::Sample> slice_samples() {
  const Dim m = size_symbol(0);
  const Dim n = size_symbol(1);
  return {{{{.shape = {m, n}}}, ir::attrs_of(SliceAttrs{1, 1, n, Dim(2)}), {3, 37}},
          {{{.shape = {m, n}}}, ir::attrs_of(SliceAttrs{0, 0, m - Dim(1), {}}), {5, 37}}};
}

// --- flip ------------------------------------------------------------------------------------------------------------------------------
bool flips(const FlipAttrs& attrs, i64 axis, i64 ndim) {
  return std::any_of(attrs.axes.begin(), attrs.axes.end(), [&](i64 a) { return (a < 0 ? a + ndim : a) == axis; });
}
std::vector<ir::Type> infer_flip(InferContext& c) {
  for (const i64 axis : c.attrs<FlipAttrs>().axes) c.axis(axis, static_cast<i64>(c.shape(0).size()));
  return {{c.dtype(0), c.shape(0), {}}};
}
ViewMap flip_map(ViewContext& c) {
  ViewMap map;
  const i64 ndim = static_cast<i64>(c.index().size());
  for (i64 a = 0; a < ndim; ++a) {
    const std::size_t at = static_cast<std::size_t>(a);
    map.source.push_back(flips(c.attrs<FlipAttrs>(), a, ndim) ? c.input_shape(0)[at] - Dim(1) - c.index()[at] : c.index()[at]);
  }
  return map;
}
void flip_reference(ir::ReferenceCall& call) {
  const std::vector<i64>& shape = call.input(0).shape;
  reference_view(call, [&](std::vector<i64> index, i64) {
    for (std::size_t a = 0; a < index.size(); ++a) {
      if (flips(call.attributes<FlipAttrs>(), static_cast<i64>(a), static_cast<i64>(index.size()))) index[a] = shape[a] - 1 - index[a];
    }
    return ir::ravel(index, shape);
  });
}
std::vector<Tensor> flip_vjp(const ir::VjpCall& call) { return {flip(call.grads[0], call.attributes<FlipAttrs>().axes)}; }
std::vector<ir::Sample> flip_samples() {
  const Shape shape{size_symbol(0), size_symbol(1)};
  return {{{{.shape = shape}}, ir::attrs_of(FlipAttrs{{1}}), {3, 37}}, {{{.shape = shape}}, ir::attrs_of(FlipAttrs{{0, -1}}), {3, 37}}};
}

// --- pad -------------------------------------------------------------------------------------------------------------------------------
void refuse_negative(const Shape& shape, const PadAttrs& attrs) {
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const Dim padded = shape[a] + attrs.before[a] + attrs.after[a];
    if (!padded.is_constant() || padded.value() >= 0) continue;
    throw ShapeError(cat("pad: the padded size is negative: axis ", a, " has size ", shape[a], " with ", attrs.before[a], " before and ",
                         attrs.after[a], " after"));
  }
}
std::vector<ir::Type> infer_pad(InferContext& c) {
  const PadAttrs& attrs = c.attrs<PadAttrs>();
  Shape shape = c.shape(0);
  if (attrs.before.size() != shape.size() || attrs.after.size() != shape.size()) {
    throw ArgumentError(
        cat("pad: ", attrs.before.size(), " and ", attrs.after.size(), " amounts given for a tensor of ", shape.size(), " dims"));
  }
  refuse_negative(shape, attrs);
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const Dim padded = shape[a] + attrs.before[a] + attrs.after[a];
    require_less_equal(c, 0, padded, "the padded size is negative");
    shape[a] = padded;
  }
  return {{c.dtype(0), shape, {}}};
}
ViewMap pad_map(ViewContext& c) {
  const PadAttrs& attrs = c.attrs<PadAttrs>();
  ViewMap map;
  for (std::size_t a = 0; a < c.index().size(); ++a) {
    map.source.push_back(c.index()[a] - attrs.before[a]);
    map.valid.push_back({map.source.back(), 0, c.input_shape(0)[a]});
  }
  map.fill = attrs.value;
  return map;
}
void pad_reference(ir::ReferenceCall& call) {
  const PadAttrs& attrs = call.attributes<PadAttrs>();
  const std::vector<i64>& shape = call.input(0).shape;
  reference_view(
      call,
      [&](std::vector<i64> index, i64) {
        for (std::size_t a = 0; a < index.size(); ++a) {
          index[a] -= attrs.before[a].value();
          if (index[a] < 0 || index[a] >= shape[a]) return i64{-1};
        }
        return ir::ravel(index, shape);
      },
      attrs.value);
}
// What was added is cropped, what was cropped gets 0.
std::vector<Tensor> pad_vjp(const ir::VjpCall& call) {
  PadAttrs attrs = call.attributes<PadAttrs>();
  for (Dim& amount : attrs.before) amount = -amount;
  for (Dim& amount : attrs.after) amount = -amount;
  return {pad(call.grads[0], PadAttrs{attrs.before, attrs.after})};
}
std::vector<ir::Sample> pad_samples() {
  const Shape shape{size_symbol(0), size_symbol(1)};
  return {{{{.shape = shape}}, ir::attrs_of(PadAttrs{{0, 2}, {0, 3}, 1.5}), {3, 37}},
          {{{.shape = shape}}, ir::attrs_of(PadAttrs{{1, -1}, {2, 0}, 0}), {3, 37}}};
}

constexpr OpDef slice_op{
    .name = "slice",
    .doc = "Every step-th position of an axis from start to stop.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<SliceAttrs>,
    .infer = infer_slice,
    .lower = ir::View{slice_map},
    .vjp = slice_vjp,
    .reference = slice_reference,
    .samples = slice_samples,
};
constexpr OpDef flip_op{
    .name = "flip",
    .doc = "Axes reversed.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<FlipAttrs>,
    .infer = infer_flip,
    .lower = ir::View{flip_map},
    .vjp = flip_vjp,
    .reference = flip_reference,
    .samples = flip_samples,
};
constexpr OpDef pad_op{
    .name = "pad",
    .doc = "A constant added around the elements.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<PadAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_pad,
    .lower = ir::View{pad_map},
    .vjp = pad_vjp,
    .reference = pad_reference,
    .samples = pad_samples,
};

constexpr const OpDef* kTable[] = {&slice_op, &flip_op, &pad_op};

}  // namespace

constexpr OpTable kRangeOps = kTable;

Tensor slice(const Tensor& x, i64 axis, i64 start, i64 stop, i64 step) {
  if (step < 1) throw ArgumentError(cat("slice: step must be positive: step is ", step));
  const i64 a = normalize_axis(axis, x.ndim(), "slice");
  const Dim size = x.size(a);
  // Positions beyond any axis, such as the largest i64, are more than a Dim holds.
  constexpr i64 kFar = i64{1} << 60;
  const auto position = [&](i64 given) -> Dim {
    const i64 at = std::clamp(given, -kFar, kFar);
    return at < 0 ? max(Dim(0), size + Dim(at)) : min(Dim(at), size);
  };
  const Dim from = position(start);
  return slice(x, {a, from, max(from, position(stop)), step});
}

Tensor slice(const Tensor& x, const SliceAttrs& attrs) {
  SliceAttrs own = attrs;
  if (own.step && *own.step == 1) own.step.reset();
  return apply_one(slice_op, {x}, own);
}

Tensor flip(const Tensor& x, const SmallVector<i64, 5>& axes) { return apply_one(flip_op, {x}, FlipAttrs{axes}); }

constexpr i64 kMostPaddedAxes = 3;

namespace {

// The last axes first, then, with these as one, the others.
Tensor pad_in_steps(const Tensor& x, std::span<const i64> amounts, Number value) {
  const Tensor inner = pad(x, amounts.first(2 * kMostPaddedAxes), value);
  const i64 outer_axes = x.ndim() - kMostPaddedAxes;
  std::vector<i64> rest{0, 0};
  rest.insert(rest.end(), amounts.begin() + 2 * kMostPaddedAxes, amounts.end());
  const Tensor padded = pad(flatten(inner, outer_axes), rest, value);
  Shape shape(padded.shape().begin(), padded.shape().begin() + outer_axes);
  shape.append(inner.shape().begin() + outer_axes, inner.shape().end());
  return reshape(padded, shape);
}

}  // namespace

Tensor pad(const Tensor& x, std::span<const i64> amounts, Number value) {
  if (amounts.size() % 2 != 0) throw ArgumentError(cat("pad: padding length must be divisible by 2: it is ", amounts.size()));
  if (static_cast<i64>(amounts.size()) > 2 * x.ndim()) {
    throw ArgumentError(cat("pad: padding length should be less than or equal to two times the input dimension: it is ", amounts.size(),
                            " for a tensor of ", x.ndim(), " dims"));
  }
  if (static_cast<i64>(amounts.size()) > 2 * kMostPaddedAxes) return pad_in_steps(x, amounts, value);
  // Leading axes that stay as they are count as one: the index of a padded element grows with each axis.
  const i64 untouched = x.ndim() - static_cast<i64>(amounts.size() / 2);
  if (x.ndim() > kMostPaddedAxes && untouched > 1) {
    const Tensor padded = pad(flatten(x, 0, untouched - 1), amounts, value);
    Shape shape(x.shape().begin(), x.shape().begin() + untouched);
    shape.append(padded.shape().begin() + 1, padded.shape().end());
    return reshape(padded, shape);
  }
  PadAttrs attrs{Shape(static_cast<std::size_t>(x.ndim()), Dim(0)), Shape(static_cast<std::size_t>(x.ndim()), Dim(0)), value};
  for (std::size_t i = 0; i < amounts.size() / 2; ++i) {
    attrs.before[attrs.before.size() - 1 - i] = amounts[2 * i];
    attrs.after[attrs.after.size() - 1 - i] = amounts[2 * i + 1];
  }
  return pad(x, attrs);
}
Tensor pad(const Tensor& x, const PadAttrs& attrs) {
  if (x.defined() && x.shape().size() == attrs.before.size() && x.shape().size() == attrs.after.size()) refuse_negative(x.shape(), attrs);
  return apply_one(pad_op, {x}, attrs);
}
Tensor pad(const Tensor& x, std::initializer_list<i64> amounts, Number value) {
  return pad(x, std::span<const i64>(amounts.begin(), amounts.size()), value);
}

}  // namespace resilin
