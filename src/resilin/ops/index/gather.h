// src/resilin/ops/index/gather.h -- elements chosen by an index tensor: gather and index_select.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kGatherOps;

struct IndexAttrs {
  i64 axis = 0;
  static constexpr auto fields() { return std::tuple{field("axis", &IndexAttrs::axis, "Axis that is indexed.")}; }
};

/// result[i, j, ...] = x with position index[i, j, ...] along the axis and i, j, ... along the others: the result has the shape of `index` (i64 or i32),
/// which has as many axes as x and is no longer than x along the others.
/// ShapeError, DtypeError; IndexError for an index outside [0, size), found by the kernel.
RESILIN_API Tensor gather(const Tensor& x, i64 axis, const Tensor& index);
/// The slices of x at positions index [k] (i64 or i32) along the axis: x's shape with k there. A 0-d index counts as one position.
/// IndexError for an index outside [0, size) or an index of more than one axis.
RESILIN_API Tensor index_select(const Tensor& x, i64 axis, const Tensor& index);

}  // namespace resilin
