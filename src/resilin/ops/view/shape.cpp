// src/resilin/ops/view/shape.cpp -- views that rearrange axes: reshape, permute, expand, slice, flip, pad.
#include "resilin/ops/view/shape.h"

#include <algorithm>

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/size_rule.h"

namespace resilin {
namespace {

using ir::InferContext;
using ir::OpDef;
using ir::ViewContext;
using ir::ViewMap;
using ops::require_less_equal;

Dim size_symbol(int index) { return Dim::symbol('s', index); }

// Fills the output with the element of the input that `from` names for each output index; `from` gives -1 for the fill value.
template <class From>
void reference_view(ir::ReferenceCall& call, const From& from, const Number& fill = 0.0) {
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  for (i64 i = 0; i < out.numel(); ++i) {
    const i64 at = from(ir::unravel(i, out.shape), i);
    if (x.is_real()) {
      out.set(i, at < 0 ? fill.as_double() : x.real(at));
    } else {
      out.set_integer(i, at < 0 ? fill.as_integer() : x.integer(at));
    }
  }
}

// --- reshape ---------------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_reshape(InferContext& c) {
  const Shape& shape = c.attrs<ReshapeAttrs>().shape;
  c.same(product(c.shape(0)), product(shape), "numbers of elements");
  return {{c.dtype(0), shape, {}}};
}
ViewMap reshape_map(ViewContext& c) {
  const Shape& to = c.output_shape(0);
  const Shape& from = c.input_shape(0);
  Dim linear = 0;
  for (std::size_t a = 0; a < to.size(); ++a) linear = linear * to[a] + c.index()[a];
  ViewMap map;
  map.source.resize(from.size());
  Dim inner = 1;
  for (std::size_t a = from.size(); a-- > 0;) {
    const Dim quotient = floordiv(linear, inner);
    map.source[a] = from[a] == 1 ? Dim(0) : a == 0 ? quotient : mod(quotient, from[a]);
    inner = inner * from[a];
  }
  return map;
}
std::vector<Tensor> reshape_vjp(const ir::VjpCall& call) { return {reshape(call.grads[0], call.inputs[0].shape())}; }
std::vector<ir::Sample> reshape_samples() {
  const Dim m = size_symbol(0);
  const Dim n = size_symbol(1);
  return {{{{.shape = {m, n}}}, ir::attrs_of(ReshapeAttrs{{m * n}}), {3, 37}},
          {{{.shape = {m, n, 4}}}, ir::attrs_of(ReshapeAttrs{{m, 2, n * 2}}), {3, 37}},
          {{{.shape = {m, n}}}, ir::attrs_of(ReshapeAttrs{{n, m}}), {3, 37}}};
}

// --- permute ---------------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_permute(InferContext& c) {
  const i64 ndim = static_cast<i64>(c.shape(0).size());
  const SmallVector<i64, 5>& axes = c.attrs<PermuteAttrs>().axes;
  if (static_cast<i64>(axes.size()) != ndim) {
    throw ShapeError(cat("permute: number of dims don't match: ", axes.size(), " axes given for a tensor of ", ndim, " dims"));
  }
  Shape shape;
  std::vector<bool> seen(axes.size(), false);
  for (const i64 axis : axes) {
    const i64 a = c.axis(axis, ndim);
    if (seen[static_cast<std::size_t>(a)]) throw ArgumentError(cat("permute: repeated dim in permute: axes are ", axes));
    seen[static_cast<std::size_t>(a)] = true;
    shape.push_back(c.shape(0)[static_cast<std::size_t>(a)]);
  }
  return {{c.dtype(0), shape, {}}};
}
ViewMap permute_map(ViewContext& c) {
  const SmallVector<i64, 5>& axes = c.attrs<PermuteAttrs>().axes;
  ViewMap map;
  map.source.resize(axes.size());
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const i64 from = axes[a] < 0 ? axes[a] + static_cast<i64>(axes.size()) : axes[a];
    map.source[static_cast<std::size_t>(from)] = c.index()[a];
  }
  return map;
}
void permute_reference(ir::ReferenceCall& call) {
  const SmallVector<i64, 5>& axes = call.attributes<PermuteAttrs>().axes;
  reference_view(call, [&](const std::vector<i64>& index, i64) {
    std::vector<i64> from(axes.size());
    for (std::size_t a = 0; a < axes.size(); ++a)
      from[static_cast<std::size_t>((axes[a] + static_cast<i64>(axes.size())) % static_cast<i64>(axes.size()))] = index[a];
    return ir::ravel(from, call.input(0).shape);
  });
}
std::vector<Tensor> permute_vjp(const ir::VjpCall& call) {
  const SmallVector<i64, 5>& axes = call.attributes<PermuteAttrs>().axes;
  SmallVector<i64, 5> inverse(axes.size());
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const i64 from = axes[a] < 0 ? axes[a] + static_cast<i64>(axes.size()) : axes[a];
    inverse[static_cast<std::size_t>(from)] = static_cast<i64>(a);
  }
  return {permute(call.grads[0], inverse)};
}
std::vector<ir::Sample> permute_samples() {
  return {{{{.shape = {size_symbol(0), size_symbol(1)}}}, ir::attrs_of(PermuteAttrs{{1, 0}}), {3, 37}},
          {{{.shape = {size_symbol(0), size_symbol(1), size_symbol(2)}}}, ir::attrs_of(PermuteAttrs{{2, 0, 1}}), {3, 5, 9}}};
}

// --- expand ----------------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_expand(InferContext& c) {
  const Shape& from = c.shape(0);
  const Shape& to = c.attrs<ReshapeAttrs>().shape;
  if (to.size() < from.size()) {
    throw ShapeError(cat("expand: the number of sizes provided (", to.size(),
                         ") must be greater or equal to the number of dimensions in the tensor (", from.size(), ")"));
  }
  Shape shape = to;
  for (std::size_t a = 0; a < from.size(); ++a) {
    Dim& size = shape[to.size() - from.size() + a];
    if (!(from[a] == 1)) size = c.same(from[a], size, "the expanded size and the existing size at a non-singleton dimension");
  }
  return {{c.dtype(0), shape, {}}};
}
ViewMap expand_map(ViewContext& c) {
  const Shape& from = c.input_shape(0);
  ViewMap map;
  const std::size_t added = c.index().size() - from.size();
  for (std::size_t a = 0; a < from.size(); ++a) map.source.push_back(from[a] == 1 ? Dim(0) : c.index()[a + added]);
  return map;
}
void expand_reference(ir::ReferenceCall& call) {
  reference_view(call, [&](const std::vector<i64>& index, i64) { return ir::broadcast_position(index, call.input(0).shape); });
}
std::vector<Tensor> expand_vjp(const ir::VjpCall& call) { return {ops::reduce_to(call.grads[0], call.inputs[0])}; }
std::vector<ir::Sample> expand_samples() {
  const Dim m = size_symbol(0);
  const Dim n = size_symbol(1);
  return {{{{.shape = {m, 1}}}, ir::attrs_of(ReshapeAttrs{{m, n}}), {3, 37}},
          {{{.shape = {n}}}, ir::attrs_of(ReshapeAttrs{{m, n}}), {3, 37}}};
}

// --- slice -----------------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_slice(InferContext& c) {
  const SliceAttrs& attrs = c.attrs<SliceAttrs>();
  const std::size_t axis = static_cast<std::size_t>(c.axis(attrs.axis, static_cast<i64>(c.shape(0).size())));
  Shape shape = c.shape(0);
  require_less_equal(c, 0, attrs.start, "start is negative");
  require_less_equal(c, attrs.start, attrs.stop, "stop lies before start");
  require_less_equal(c, attrs.stop, shape[axis], "stop lies beyond the axis");
  require_less_equal(c, 1, attrs.step, "step is less than 1");
  shape[axis] = ceil_div(attrs.stop - attrs.start, attrs.step);
  return {{c.dtype(0), shape, {}}};
}
ViewMap slice_map(ViewContext& c) {
  const SliceAttrs& attrs = c.attrs<SliceAttrs>();
  ViewMap map;
  const i64 ndim = static_cast<i64>(c.index().size());
  for (i64 a = 0; a < ndim; ++a) {
    const Dim at = c.index()[static_cast<std::size_t>(a)];
    map.source.push_back(a == (attrs.axis + ndim) % ndim ? attrs.start + at * attrs.step : at);
  }
  return map;
}
void slice_reference(ir::ReferenceCall& call) {
  const SliceAttrs& attrs = call.attributes<SliceAttrs>();
  const i64 ndim = static_cast<i64>(call.input(0).shape.size());
  const std::size_t axis = static_cast<std::size_t>((attrs.axis + ndim) % ndim);
  reference_view(call, [&](std::vector<i64> index, i64) {
    index[axis] = attrs.start.value() + index[axis] * attrs.step.value();
    return ir::ravel(index, call.input(0).shape);
  });
}
// Zeros between the positions and around them; what the last step adds beyond the end is cropped.
std::vector<Tensor> slice_vjp(const ir::VjpCall& call) {
  const SliceAttrs& attrs = call.attributes<SliceAttrs>();
  const Tensor& x = call.inputs[0];
  const std::size_t axis = static_cast<std::size_t>(attrs.axis < 0 ? attrs.axis + x.ndim() : attrs.axis);
  Tensor g = call.grads[0];
  if (!(attrs.step == 1)) {
    Shape split = g.shape();
    split.insert(split.begin() + axis + 1, 1);
    Shape joined = g.shape();
    joined[axis] = joined[axis] * attrs.step;
    Shape after(split.size(), Dim(0));
    after[axis + 1] = attrs.step - Dim(1);
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
  return {{{{.shape = {m, n}}}, ir::attrs_of(SliceAttrs{1, 1, n, 2}), {3, 37}},
          {{{.shape = {m, n}}}, ir::attrs_of(SliceAttrs{0, 0, m - Dim(1), 1}), {5, 37}}};
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

constexpr OpDef reshape_op{
    .name = "reshape",
    .doc = "The elements in row-major order under another shape.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<ReshapeAttrs>,
    .infer = infer_reshape,
    .lower = ir::View{reshape_map},
    .vjp = reshape_vjp,
    .reference = [](ir::ReferenceCall& call) { reference_view(call, [](const std::vector<i64>&, i64 at) { return at; }); },
    .samples = reshape_samples,
};
constexpr OpDef permute_op{
    .name = "permute",
    .doc = "The axes in another order.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<PermuteAttrs>,
    .infer = infer_permute,
    .lower = ir::View{permute_map},
    .vjp = permute_vjp,
    .reference = permute_reference,
    .samples = permute_samples,
};
constexpr OpDef expand_op{
    .name = "expand",
    .doc = "Axes of size 1 repeated.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<ReshapeAttrs>,
    .infer = infer_expand,
    .lower = ir::View{expand_map},
    .vjp = expand_vjp,
    .reference = expand_reference,
    .samples = expand_samples,
};
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

constexpr const OpDef* kTable[] = {&reshape_op, &permute_op, &expand_op, &slice_op, &flip_op, &pad_op};

// Replaces one -1 by the size that keeps the number of elements.
Shape resolved_shape(const Tensor& x, std::span<const Dim> shape) {
  Shape out(shape);
  const Dim* const unknown = std::find(out.begin(), out.end(), Dim(-1));
  if (unknown == out.end()) return out;
  const std::size_t at = static_cast<std::size_t>(unknown - out.begin());
  out[at] = 1;
  const Dim known = product(out);
  const Dim total = x.numel();
  const bool divides = !known.is_constant() || !total.is_constant() || (known.value() != 0 && total.value() % known.value() == 0);
  if (!divides || std::find(out.begin(), out.end(), Dim(-1)) != out.end())
    throw ShapeError(cat("reshape: shape '", shape, "' is invalid for input of size ", total));
  out[at] = floordiv(total, known);
  return out;
}

}  // namespace

constexpr OpTable kShapeOps = kTable;

Tensor reshape(const Tensor& x, std::span<const Dim> shape) {
  const Shape resolved = resolved_shape(x, shape);
  for (const Dim size : resolved) {
    if (size.is_constant() && size.value() < 0) throw ShapeError(cat("reshape: invalid shape dimension ", size, ": shape is ", shape));
  }
  if (x.numel().is_constant() && product(resolved).is_constant() && !(product(resolved) == x.numel())) {
    throw ShapeError(cat("reshape: shape '", shape, "' is invalid for input of size ", x.numel()));
  }
  return apply_one(reshape_op, {x}, ReshapeAttrs{resolved});
}
Tensor reshape(const Tensor& x, std::initializer_list<Dim> shape) { return reshape(x, std::span<const Dim>(shape.begin(), shape.size())); }

Tensor permute(const Tensor& x, const SmallVector<i64, 5>& axes) { return apply_one(permute_op, {x}, PermuteAttrs{axes}); }

Tensor transpose(const Tensor& x, i64 axis_a, i64 axis_b) {
  SmallVector<i64, 5> axes;
  for (i64 a = 0; a < x.ndim(); ++a) axes.push_back(a);
  if (axes.empty()) return x;
  std::swap(axes[static_cast<std::size_t>(normalize_axis(axis_a, x.ndim(), "transpose"))],
            axes[static_cast<std::size_t>(normalize_axis(axis_b, x.ndim(), "transpose"))]);
  return permute(x, axes);
}

Tensor expand(const Tensor& x, std::span<const Dim> shape) {
  Shape sizes(shape);
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    if (!(sizes[a] == -1)) continue;
    const std::size_t added = sizes.size() - std::min(sizes.size(), x.shape().size());
    if (a < added)
      throw ShapeError(cat("expand: the expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension ", a));
    sizes[a] = x.shape()[a - added];
  }
  return apply_one(expand_op, {x}, ReshapeAttrs{sizes});
}
Tensor expand(const Tensor& x, std::initializer_list<Dim> shape) { return expand(x, std::span<const Dim>(shape.begin(), shape.size())); }

Tensor slice(const Tensor& x, i64 axis, i64 start, i64 stop, i64 step) {
  if (step < 1) throw ArgumentError(cat("slice: step must be positive: step is ", step));
  const i64 a = normalize_axis(axis, x.ndim(), "slice");
  const Dim size = x.size(a);
  const auto position = [&](i64 at) -> Dim { return at < 0 ? max(Dim(0), size + Dim(at)) : min(Dim(at), size); };
  const Dim from = position(start);
  return apply_one(slice_op, {x}, SliceAttrs{a, from, max(from, position(stop)), step});
}

Tensor slice(const Tensor& x, const SliceAttrs& attrs) { return apply_one(slice_op, {x}, attrs); }

Tensor index(const Tensor& x, std::span<const Index> indices) {
  Tensor result = x;
  Shape shape;  // of the result; selected axes are dropped and new ones added at the end
  i64 axis = 0;
  bool reshaped = false;
  for (const AxisIndex& at : resolve_index(x.shape(), indices)) {
    if (at.kind == AxisIndex::Kind::NewAxis) {
      shape.push_back(1);
      reshaped = true;
      continue;
    }
    const bool select = at.kind == AxisIndex::Kind::Select;
    const i64 stop = select ? at.start + 1 : at.stop;
    const bool whole = at.start == 0 && at.step == 1 && Dim(stop) == result.size(axis);
    if (!whole) result = apply_one(slice_op, {result}, SliceAttrs{axis, at.start, stop, at.step});
    if (!select) shape.push_back(result.size(axis));
    reshaped = reshaped || select;
    ++axis;
  }
  return reshaped ? reshape(result, shape) : result;
}
Tensor index(const Tensor& x, std::initializer_list<Index> indices) {
  return index(x, std::span<const Index>(indices.begin(), indices.size()));
}

Tensor flip(const Tensor& x, const SmallVector<i64, 5>& axes) { return apply_one(flip_op, {x}, FlipAttrs{axes}); }

Tensor pad(const Tensor& x, std::span<const i64> amounts, Number value) {
  if (amounts.size() % 2 != 0) throw ArgumentError(cat("pad: padding length must be divisible by 2: it is ", amounts.size()));
  if (static_cast<i64>(amounts.size()) > 2 * x.ndim()) {
    throw ArgumentError(cat("pad: padding length should be less than or equal to two times the input dimension: it is ", amounts.size(),
                            " for a tensor of ", x.ndim(), " dims"));
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
