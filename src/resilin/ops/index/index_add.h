// src/resilin/ops/index/index_add.h -- sums into elements chosen by an index tensor: index_add and scatter_add.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/index/gather.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kIndexAddOps;

struct IndexAddAttrs {
  i64 axis = 0;
  Number alpha = 1;
  static constexpr auto fields() {
    return std::tuple{field("axis", &IndexAddAttrs::axis, "Axis that is indexed."),
                      field("alpha", &IndexAddAttrs::alpha, "Factor of the source.")};
  }
};

/// x with alpha times slice i of `source` added to slice index[i] along the axis, in ascending order of i: the same bits for any number of threads.
///
/// Shapes  x [..., n, ...], index [k] (i64 or i32), source [..., k, ...] -> x's; of f16 and bf16 every sum is rounded
/// Errors  ShapeError; DtypeError where source and x differ; ArgumentError for a floating alpha of integers; IndexError for an index outside [0, n)
RESILIN_API Tensor index_add(const Tensor& x, i64 axis, const Tensor& index, const Tensor& source, Number alpha = 1);
/// The same in x's memory; gives back x. After an IndexError the elements of x are unspecified.
RESILIN_API const Tensor& index_add_(const Tensor& x, i64 axis, const Tensor& index, const Tensor& source, Number alpha = 1);
/// x with each element of `source` added at the position along the axis that `index`, of source's shape, holds for it; in ascending order along the axis.
///
/// Shapes  index (i64 or i32) has as many axes as x, is no longer than x along the other axes and nowhere longer than source -> x's shape
/// Errors  as index_add
RESILIN_API Tensor scatter_add(const Tensor& x, i64 axis, const Tensor& index, const Tensor& source);

}  // namespace resilin
