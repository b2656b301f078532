// tests/oracle/reduce_adapters.cpp -- calls of reductions, scans and sorting.
#include "resilin/dispatch/cast.h"
#include "resilin/ops/activation/softmax.h"
#include "resilin/ops/reduce/extreme.h"
#include "resilin/ops/reduce/norm.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/reduce/variance.h"
#include "resilin/ops/scan/cumsum.h"
#include "resilin/ops/sort/sort.h"

#include "tests/oracle/adapters.h"

namespace resilin::oracle {
namespace {

using Axes = SmallVector<i64, 5>;

Axes axes_of(const Argument& dim) {
  const std::vector<i64> axes = dim.integers();
  return Axes(axes.begin(), axes.end());
}

bool flag_or(const Argument& value, bool otherwise) { return value.is_none() ? otherwise : value.flag(); }

ReduceAttrs attrs_of(const Argument& dim, const Argument& keepdim) { return {.axes = axes_of(dim), .keepdim = flag_or(keepdim, false)}; }

// The first argument, in the dtype that a call asks for.
Tensor cast_input(const Call& c, const Argument& dtype) {
  return dtype.is_none() ? c.at(0).tensor() : cast(c.at(0).tensor(), dtype.dtype());
}

template <Tensor (*kFunction)(const Tensor&, const ReduceAttrs&)>
Results reduction(const Call& c) {
  const Argument dtype = c.at(3, "dtype");
  const Tensor x = cast_input(c, dtype);
  const Tensor result = kFunction(x, attrs_of(c.at(1, "dim"), c.at(2, "keepdim")));
  return {dtype.is_none() ? result : cast(result, dtype.dtype())};
}

template <Tensor (*kFunction)(const Tensor&, const ArgReduceAttrs&)>
Results position(const Call& c) {
  const Argument dim = c.at(1, "dim");
  ArgReduceAttrs attrs;
  if (!dim.is_none()) attrs.axis = dim.integer();
  attrs.keepdim = flag_or(c.at(2, "keepdim"), false);
  return {kFunction(c.at(0).tensor(), attrs)};
}

// var(x, unbiased) and var(x, dim, unbiased or correction, keepdim).
template <Tensor (*kFunction)(const Tensor&, const VarianceAttrs&)>
Results variance(const Call& c) {
  VarianceAttrs attrs;
  if (c.positional_count() == 2) {
    attrs.correction = c.at(1).flag() ? 1 : 0;
    return {kFunction(c.at(0).tensor(), attrs)};
  }
  attrs.axes = axes_of(c.at(1, "dim"));
  if (!flag_or(c.at(2, "unbiased"), true)) attrs.correction = 0;
  if (const Argument correction = c.at(2, "correction"); !correction.is_none()) attrs.correction = correction.number();
  attrs.keepdim = flag_or(c.at(3, "keepdim"), false);
  return {kFunction(c.at(0).tensor(), attrs)};
}

Results call_norm(const Call& c) {
  Argument p = c.at(1, "p");
  if (p.is_none()) p = c.at(1, "ord");
  Number order = 2.0;
  if (p.is_text()) {
    if (p.text() != "fro") throw NotOurs{cat("the norm ", p.text())};
  } else if (!p.is_none()) {
    order = p.number();
  }
  return {norm(c.at(0).tensor(), order, attrs_of(c.at(2, "dim"), c.at(3, "keepdim")))};
}

template <Tensor (*kFunction)(const Tensor&, const SoftmaxAttrs&)>
Results normalized(const Call& c) {
  const Tensor x = cast_input(c, c.at(2, "dtype"));
  return {kFunction(x, {.axis = c.at(1, "dim").integer()})};
}

Results call_cumsum(const Call& c) {
  const Tensor x = cast_input(c, c.at(2, "dtype"));
  return {cumsum(x, c.at(1, "dim").integer())};
}

// Ours is always stable.
Results call_sort(const Call& c) {
  flag_or(c.at(c.positional_count(), "stable"), false);
  const Argument dim = c.at(1, "dim");
  const Sorted sorted =
      sort(c.at(0).tensor(), {.axis = dim.is_none() ? -1 : dim.integer(), .descending = flag_or(c.at(2, "descending"), false)});
  return {sorted.values, sorted.indices};
}

Results call_argsort(const Call& c) { return {call_sort(c)[1]}; }
Results call_msort(const Call& c) { return {sort(c.at(0).tensor(), {.axis = 0}).values}; }

constexpr Adapter kAdapters[] = {
    {"all", reduction<all>},
    {"amax", reduction<amax>},
    {"amin", reduction<amin>},
    {"any", reduction<any>},
    {"argmax", position<argmax>},
    {"argmin", position<argmin>},
    {"argsort", call_argsort},
    {"cumsum", call_cumsum},
    {"linalg.vector_norm", call_norm},
    {"log_softmax", normalized<log_softmax>},
    {"log_softmax.dtype", normalized<log_softmax>},
    {"mean", reduction<mean>},
    {"msort", call_msort},
    {"norm", call_norm},
    {"norm.fro", call_norm},
    {"norm.inf", call_norm},
    {"prod", reduction<prod>},
    {"softmax", normalized<softmax>},
    {"softmax.with_dtype", normalized<softmax>},
    {"sort", call_sort},
    {"std", variance<stddev>},
    {"sum", reduction<sum>},
    {"var", variance<var>},
};

}  // namespace

std::span<const Adapter> reduce_adapters() { return kAdapters; }

}  // namespace resilin::oracle
