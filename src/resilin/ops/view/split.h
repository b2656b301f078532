// src/resilin/ops/view/split.h -- a tensor cut along an axis: narrow, split, chunk, unbind.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "resilin/dispatch/apply.h"

namespace resilin {

/// `length` positions of an axis from `start` on, which counts from the end when negative. An alias. ArgumentError outside the axis or for a 0-d tensor.
RESILIN_API Tensor narrow(const Tensor& x, i64 axis, i64 start, i64 length);
/// Parts of `size` positions, the last one shorter where they do not fill the axis. Aliases. ArgumentError for a negative size.
RESILIN_API std::vector<Tensor> split(const Tensor& x, i64 size, i64 axis = 0);
/// Parts of the given sizes, which may be symbols. ArgumentError where their sum is not the axis.
RESILIN_API std::vector<Tensor> split(const Tensor& x, std::span<const Dim> sizes, i64 axis = 0);
RESILIN_API std::vector<Tensor> split(const Tensor& x, std::initializer_list<Dim> sizes, i64 axis = 0);
/// At most `count` parts of one size, the last one shorter where they do not fill the axis. Aliases. ArgumentError unless count >= 1.
RESILIN_API std::vector<Tensor> chunk(const Tensor& x, i64 count, i64 axis = 0);
/// Every position of an axis, which is dropped. Aliases.
RESILIN_API std::vector<Tensor> unbind(const Tensor& x, i64 axis = 0);
// The number of parts must be known: where it depends on a size that is a symbol they are DataDependentError.

}  // namespace resilin
