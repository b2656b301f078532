// src/resilin/ops/contract/products.h -- products of matrices and vectors with fixed numbers of axes: mm, bmm, mv, dot, outer.
#pragma once

#include "resilin/dispatch/apply.h"

namespace resilin {

/// matmul of exactly [m, k] and [k, n]; of [b, m, k] and [b, k, n]; of [m, k] and [k]; of [k] and [k], whose result has no axes.
/// Nothing is broadcast: ShapeError for other numbers of axes and for sizes that differ. Dtypes and order of summation as matmul's.
RESILIN_API Tensor mm(const Tensor& a, const Tensor& b);
RESILIN_API Tensor bmm(const Tensor& a, const Tensor& b);
RESILIN_API Tensor mv(const Tensor& a, const Tensor& b);
RESILIN_API Tensor dot(const Tensor& a, const Tensor& b);
/// Every element of a times every element of b: [m], [n] -> [m, n]. Dtypes as mul's.
RESILIN_API Tensor outer(const Tensor& a, const Tensor& b);

}  // namespace resilin
