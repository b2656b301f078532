// src/resilin/ops/contract/products.cpp -- products of matrices and vectors with fixed numbers of axes: mm, bmm, mv, dot, outer.
#include "resilin/ops/contract/products.h"

#include "resilin/ops/contract/matmul.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/view/axes.h"

namespace resilin {
namespace {

void require_axes(const Tensor& a, i64 of_a, const Tensor& b, i64 of_b, std::string_view op) {
  if (a.ndim() == of_a && b.ndim() == of_b) return;
  throw ShapeError(cat(op, ": expected a ", of_a, "D and a ", of_b, "D tensor: a is ", a.shape(), ", b is ", b.shape()));
}

void require_same(Dim a, Dim b, std::string_view what, std::string_view op) {
  if (may_be_equal(a, b)) return;
  throw ShapeError(cat(op, ": ", what, ": ", a, " and ", b, "; they must be equal"));
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  require_axes(a, 2, b, 2, "mm");
  require_same(a.size(1), b.size(0), "mat1 and mat2 shapes cannot be multiplied", "mm");
  return matmul(a, b);
}
Tensor bmm(const Tensor& a, const Tensor& b) {
  require_axes(a, 3, b, 3, "bmm");
  require_same(a.size(0), b.size(0), "numbers of matrices differ", "bmm");
  require_same(a.size(2), b.size(1), "inner sizes differ", "bmm");
  return matmul(a, b);
}
Tensor mv(const Tensor& a, const Tensor& b) {
  require_axes(a, 2, b, 1, "mv");
  require_same(a.size(1), b.size(0), "sizes of matrix and vector differ", "mv");
  return matmul(a, b);
}
Tensor dot(const Tensor& a, const Tensor& b) {
  if (a.ndim() != 1 || b.ndim() != 1)
    throw ShapeError(cat("dot: 1D tensors expected, but got ", a.ndim(), "D and ", b.ndim(), "D tensors"));
  if (!may_be_equal(a.size(0), b.size(0))) {
    throw ShapeError(
        cat("dot: inconsistent tensor size, expected tensor ", a.shape(), " and src ", b.shape(), " to have the same number of elements"));
  }
  return matmul(a, b);
}
Tensor outer(const Tensor& a, const Tensor& b) {
  require_axes(a, 1, b, 1, "outer");
  return mul(unsqueeze(a, 1), b);
}

}  // namespace resilin
