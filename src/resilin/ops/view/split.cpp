// src/resilin/ops/view/split.cpp -- a tensor cut along an axis: narrow, split, chunk, unbind.
#include "resilin/ops/view/split.h"

#include <algorithm>

#include "resilin/ops/view/axes.h"
#include "resilin/ops/view/range.h"

namespace resilin {
namespace {

i64 axis_of(const Tensor& x, i64 axis, std::string_view op) {
  if (x.ndim() == 0) throw ArgumentError(cat(op, ": ", op, " expects at least a 1-dimensional tensor"));
  return normalize_axis(axis, x.ndim(), op);
}

Tensor part(const Tensor& x, i64 axis, Dim start, Dim size) { return slice(x, SliceAttrs{axis, start, start + size, 1}); }

// Parts of `size` of an axis with `total` positions: at least one, even of nothing.
std::vector<Tensor> equal_parts(const Tensor& x, i64 axis, i64 size, i64 total) {
  std::vector<Tensor> parts;
  for (i64 start = 0; start == 0 || start < total; start += size) {
    parts.push_back(part(x, axis, start, std::min(size, total - start)));
    if (total == 0) break;
  }
  return parts;
}

}  // namespace

Tensor narrow(const Tensor& x, i64 axis, i64 start, i64 length) {
  if (x.ndim() == 0) throw ArgumentError("narrow: narrow() cannot be applied to a 0-dim tensor.");
  const i64 a = normalize_axis(axis, x.ndim(), "narrow");
  const Dim size = x.size(a);
  if (length < 0) throw ArgumentError(cat("narrow: narrow(): length must be non-negative: it is ", length));
  if (size.is_constant() &&
      (start < -size.value() || start > size.value() || (start < 0 ? start + size.value() : start) > size.value() - length)) {
    throw ArgumentError(cat("narrow: start (", start, ") + length (", length, ") exceeds dimension size (", size, ")"));
  }
  return part(x, a, start < 0 ? size + Dim(start) : Dim(start), length);
}

std::vector<Tensor> split(const Tensor& x, i64 size, i64 axis) {
  const i64 a = axis_of(x, axis, "split");
  const i64 total = x.size(a).value();
  if (size < 0) throw ArgumentError(cat("split: split expects split_size be non-negative, but got split_size=", size));
  if (size == 0 && total != 0) {
    throw ArgumentError(cat("split: split_size can only be 0 if dimension size is 0, but got dimension size of ", total));
  }
  return equal_parts(x, a, size, total);
}

std::vector<Tensor> split(const Tensor& x, std::span<const Dim> sizes, i64 axis) {
  const i64 a = axis_of(x, axis, "split");
  std::vector<Tensor> parts;
  Dim start = 0;
  for (const Dim size : sizes) {
    if (size.is_constant() && size.value() < 0) {
      throw ArgumentError(cat("split: split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=", sizes));
    }
    start = start + size;
  }
  if (!may_be_equal(start, x.size(a))) {
    throw ArgumentError(cat("split: split_with_sizes expects split_sizes to sum exactly to ", x.size(a),
                            " (input tensor's size at dimension ", a, "), but got split_sizes=", sizes));
  }
  start = 0;
  for (const Dim size : sizes) {
    parts.push_back(part(x, a, start, size));
    start = start + size;
  }
  return parts;
}
std::vector<Tensor> split(const Tensor& x, std::initializer_list<Dim> sizes, i64 axis) {
  return split(x, std::span<const Dim>(sizes.begin(), sizes.size()), axis);
}

std::vector<Tensor> chunk(const Tensor& x, i64 count, i64 axis) {
  const i64 a = axis_of(x, axis, "chunk");
  if (count < 1) throw ArgumentError(cat("chunk: chunk expects `chunks` to be greater than 0, got: ", count));
  const i64 total = x.size(a).value();
  if (total == 0) return std::vector<Tensor>(static_cast<std::size_t>(count), x);
  return equal_parts(x, a, (total + count - 1) / count, total);
}

std::vector<Tensor> unbind(const Tensor& x, i64 axis) {
  const i64 a = axis_of(x, axis, "unbind");
  std::vector<Tensor> parts;
  for (i64 position = 0; position < x.size(a).value(); ++position) parts.push_back(select(x, a, position));
  return parts;
}

}  // namespace resilin
