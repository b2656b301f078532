// src/resilin/ops/reduce/reduce_rule.cpp -- Internal: axes, shapes, references and samples that reductions share.
#include "resilin/ops/reduce/reduce_rule.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/size_rule.h"
#include "resilin/ops/view/shape.h"

namespace resilin::ops {

Axes normalized_axes(const Axes& axes, i64 ndim, std::string_view op) {
  Axes out;
  if (axes.empty()) {
    for (i64 a = 0; a < ndim; ++a) out.push_back(a);
    return out;
  }
  for (const i64 axis : axes) {
    if (ndim == 0 && (axis == 0 || axis == -1)) continue;  // torch lets a 0-d tensor be reduced over axis 0
    const i64 a = normalize_axis(axis, ndim, op);
    if (std::find(out.begin(), out.end(), a) != out.end())
      throw ArgumentError(cat(op, ": dim ", a, " appears multiple times in the list of dims"));
    out.push_back(a);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Axes reduce_axes(ir::AttrsRef attrs, i64 ndim) {
  return normalized_axes(static_cast<const ReduceAttrs*>(attrs.data)->axes, ndim, "reduce");
}

Shape reduced_shape(const Shape& shape, const Axes& axes, bool keepdim) {
  Shape out;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<i64>(a)) != axes.end();
    if (!reduced) out.push_back(shape[a]);
    if (reduced && keepdim) out.push_back(1);
  }
  return out;
}

Dim reduced_count(const Tensor& x, const Axes& axes, std::string_view op) {
  Dim count = 1;
  for (const i64 axis : normalized_axes(axes, x.ndim(), op)) count = count * x.size(axis);
  return count;
}

void refuse_empty(ir::InferContext& c, const Axes& axes) {
  for (const i64 axis : axes) {
    const Dim size = c.shape(0)[static_cast<std::size_t>(axis)];
    if (size == 0) throw IndexError(cat(c.op(), ": Expected reduction dim ", axis, " to have non-zero size: shape is ", c.shape(0)));
    require_less_equal(c, 1, size, "a reduced axis is empty");
  }
}

Tensor with_reduced_axes(const Tensor& rows, const Tensor& x, const Axes& axes, bool keepdim) {
  if (keepdim || x.ndim() == 0) return rows;
  return reshape(rows, reduced_shape(x.shape(), normalized_axes(axes, x.ndim(), "reduce"), true));
}

std::vector<ReduceCase> reduce_cases() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  const Dim k = Dim::symbol('s', 2);
  return {{{m, n}, {-1}, false, {3, 37}},
          {{m, n}, {0}, true, {37, 5}},
          {{m, n}, {}, false, {5, 37}},
          {{m, n, k}, {1}, false, {3, 5, 9}},
          {{m, n, k}, {0, 2}, true, {3, 5, 9}}};
}

std::vector<ir::Sample> reduce_samples() {
  return samples_of_cases([](const Axes& axes, bool keepdim) { return ir::attrs_of(ReduceAttrs{axes, keepdim}); });
}

}  // namespace resilin::ops
