// src/resilin/ops/pointwise/gradient.cpp -- Internal: what the gradients of broadcasting ops share.
#include "resilin/ops/pointwise/gradient.h"

#include "resilin/dispatch/cast.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/ops/view/shape.h"

namespace resilin::ops {

Input operand(const ir::VjpCall& call, std::size_t i) {
  if (call.inputs[i].defined()) return call.inputs[i];
  return i < call.numbers.size() ? Input(call.numbers[i]) : Input();
}

Tensor reduce_to(const Tensor& grad, const Tensor& like) {
  if (!like.defined() || !is_floating(like.dtype())) return {};
  const i64 added = grad.ndim() - like.ndim();
  SmallVector<i64, 5> axes;
  for (i64 a = 0; a < grad.ndim(); ++a) {
    if (a < added || (like.size(a - added) == 1 && !(grad.size(a) == 1))) axes.push_back(a);
  }
  Tensor result = axes.empty() ? grad : sum(grad, {axes, true});
  if (added > 0) result = reshape(result, like.shape());
  return cast(result, like.dtype());
}

Tensor widened(const Tensor& x) { return x.defined() ? cast(x, compute_dtype(x.dtype())) : x; }

Tensor divided_by_size(const Tensor& x, Dim count) {
  return count.is_constant() ? div(x, Number(count.value())) : div(x, size_tensor(count));
}

}  // namespace resilin::ops
