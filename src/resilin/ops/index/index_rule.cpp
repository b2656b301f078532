// src/resilin/ops/index/index_rule.cpp -- Internal: what ops with an index tensor ask of it, and their sample inputs.
#include "resilin/ops/index/index_rule.h"

#include "resilin/ops/size_rule.h"

namespace resilin::ops {

void require_index_dtype(const ir::InferContext& c, int input) {
  if (c.dtype(input) == DType::I64 || c.dtype(input) == DType::I32) return;
  throw DtypeError(cat(c.op(), ": expected dtype i32/i64 for index, but got ", c.dtype(input)));
}

void require_index_shape(ir::InferContext& c, const Shape& x, const Shape& index, i64 axis) {
  if (index.size() != x.size()) {
    throw ShapeError(
        cat(c.op(), ": Index tensor must have the same number of dimensions as input tensor: index is ", index, ", input is ", x));
  }
  for (std::size_t a = 0; a < x.size(); ++a) {
    if (static_cast<i64>(a) == axis) continue;
    if (index[a].is_constant() && x[a].is_constant() && index[a].value() > x[a].value()) {
      throw ShapeError(cat(c.op(), ": Size does not match at dimension ", a, " expected index ", index, " to be smaller than self ", x,
                           " apart from dimension ", axis));
    }
    require_less_equal(c, index[a], x[a], "the index is longer than the input");
  }
}

i64 checked_index(std::string_view op, const ir::Array& index, i64 at, i64 size) {
  const i64 value = index.integer(at);
  if (value < 0 || value >= size) throw IndexError(cat(op, ": index out of range: ", value, "; it must be in [0, ", size, ")"));
  return value;
}

ir::SampleInput index_input(Shape shape, Dim bound, DType dtype) {
  return {.shape = std::move(shape), .fill = ir::Fill::Index, .dtype = dtype, .index_bound = bound};
}

}  // namespace resilin::ops
