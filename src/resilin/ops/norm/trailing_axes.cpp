// src/resilin/ops/norm/trailing_axes.cpp -- Internal: what normalisations over trailing axes ask of their inputs.
#include "resilin/ops/norm/trailing_axes.h"

namespace resilin::ops {

ReduceAttrs trailing_axes(i64 count) {
  ReduceAttrs rows{{}, true};
  for (i64 a = -count; a < 0; ++a) rows.axes.push_back(a);
  return rows;
}

void require_axis_count(const ir::InferContext& c, i64 count) {
  const Shape& x = c.shape(0);
  if (count >= 1 && count <= static_cast<i64>(x.size())) return;
  throw ShapeError(
      cat(c.op(), ": ", count, " trailing axes are to be normalised, but x is ", x, "; there must be between 1 and ", x.size()));
}

void require_of_trailing_shape(ir::InferContext& c, int input, i64 count) {
  if (!c.has(input)) return;
  const std::span<const Dim> normalized = std::span<const Dim>(c.shape(0)).last(static_cast<std::size_t>(count));
  const std::string_view name = input == 1 ? "weight" : "bias";
  const Shape& shape = c.shape(input);
  if (!is_floating(c.dtype(input))) throw DtypeError(cat(c.op(), ": ", name, " must be of a floating dtype, but is ", c.dtype(input)));
  if (!may_be_equal(shape, normalized)) {
    throw ShapeError(cat(c.op(), ": Expected ", name, " to be of same shape as normalized_shape, but got ", name, " of shape ", shape,
                         " and normalized_shape = ", normalized));
  }
  for (std::size_t a = 0; a < shape.size(); ++a) c.same(shape[a], normalized[a], "sizes of weight or bias and of x");
}

void require_trailing(std::string_view op, const Tensor& x, std::span<const Dim> normalized_shape) {
  if (normalized_shape.empty()) {
    throw ArgumentError(cat(op,
                            ": Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
                            "normalized_shape = []"));
  }
  const std::span<const Dim> sizes(x.shape());
  if (sizes.size() >= normalized_shape.size() && may_be_equal(sizes.last(normalized_shape.size()), normalized_shape)) return;
  std::string wanted = "[*";
  for (const Dim size : normalized_shape) wanted += cat(", ", size);
  throw ShapeError(cat(op, ": Given normalized_shape=", normalized_shape, ", expected input with shape ", wanted,
                       "], but got input of size ", x.shape()));
}

}  // namespace resilin::ops
