// src/resilin/ops/reduce/reduce_rule.h -- Internal: axes, shapes, references and samples that reductions share.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "resilin/ir/infer.h"
#include "resilin/ir/reference.h"
#include "resilin/ops/reduce/reduce.h"

namespace resilin::ops {

using Axes = SmallVector<i64, 5>;

/// The axes to reduce, ascending; none given: all. IndexError, ArgumentError for an axis named twice.
Axes normalized_axes(const Axes& axes, i64 ndim, std::string_view op);
/// The same of a ReduceAttrs: what ir::Reduce asks.
Axes reduce_axes(ir::AttrsRef attrs, i64 ndim);
Shape reduced_shape(const Shape& shape, const Axes& axes, bool keepdim);
/// Number of elements that one result is made of.
Dim reduced_count(const Tensor& x, const Axes& axes, std::string_view op);
/// IndexError when a reduced axis is empty; a run-time check where its size is not known.
void refuse_empty(ir::InferContext& c, const Axes& axes);
/// A value per row of x, given the reduced axes back with size 1.
Tensor with_reduced_axes(const Tensor& rows, const Tensor& x, const Axes& axes, bool keepdim);

/// Calls visit(position in the output, position in the input) for every element of the input, in row-major order.
template <class Visit>
void for_each_reduced(const ir::Array& x, const Axes& axes, const Visit& visit) {
  for (i64 i = 0; i < x.numel(); ++i) {
    const std::vector<i64> index = ir::unravel(i, x.shape);
    std::vector<i64> rest_shape;
    std::vector<i64> rest;
    for (std::size_t a = 0; a < index.size(); ++a) {
      if (std::find(axes.begin(), axes.end(), static_cast<i64>(a)) != axes.end()) continue;
      rest.push_back(index[a]);
      rest_shape.push_back(x.shape[a]);
    }
    visit(ir::ravel(rest, rest_shape), i);
  }
}

/// Axes, whether they stay, and a shape: the calls that every reduction is tried with.
struct ReduceCase {
  Shape shape;
  Axes axes;
  bool keepdim;
  std::vector<i64> sizes;
};
std::vector<ReduceCase> reduce_cases();
/// They as samples of an op with the given attributes for axes and keepdim.
template <class AttrsOf>
std::vector<ir::Sample> samples_of_cases(const AttrsOf& attrs_of) {
  std::vector<ir::Sample> samples;
  for (const ReduceCase& c : reduce_cases()) samples.push_back({{{.shape = c.shape}}, attrs_of(c.axes, c.keepdim), c.sizes});
  return samples;
}
std::vector<ir::Sample> reduce_samples();

}  // namespace resilin::ops
