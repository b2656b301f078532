// src/resilin/ops/view/shape.cpp -- views that rearrange axes: reshape, permute, expand.
#include "resilin/ops/view/shape.h"

#include <algorithm>

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/view/reference_view.h"

namespace resilin {
namespace {

using ir::InferContext;
using ir::OpDef;
using ir::ViewContext;
using ir::ViewMap;
using ops::reference_view;
using ops::size_symbol;

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
constexpr const OpDef* kTable[] = {&reshape_op, &permute_op, &expand_op};

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
  if (!may_be_equal(product(resolved), x.numel())) {
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

}  // namespace resilin
