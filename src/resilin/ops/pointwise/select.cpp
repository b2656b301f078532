// src/resilin/ops/pointwise/select.cpp -- one of two values per element: where, masked_fill, maximum, minimum.
#include "resilin/ops/pointwise/select.h"

#include <cmath>

#include "resilin/dispatch/cast.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/pointwise/pointwise.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::PointwiseContext;
using loop::Scalar;

// --- where ---------------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_where(ir::InferContext& c) {
  if (c.dtype(0) != DType::Bool)
    throw DtypeError(cat(c.op(), ": expected condition to be a boolean tensor, but got a tensor with dtype ", c.dtype(0)));
  Shape shape = c.shape(0);
  for (const int i : {1, 2}) {
    if (!c.is_number(i)) shape = c.broadcast(shape, c.shape(i));
  }
  DType dtype = !c.is_number(1) ? c.dtype(1) : !c.is_number(2) ? c.dtype(2) : promote(c.dtype(1), c.dtype(2));
  if (c.is_number(1) && c.is_number(2) && is_floating(dtype)) dtype = DType::F32;
  return {{dtype, shape, {}}};
}

std::vector<Tensor> where_vjp(const ir::VjpCall& call) {
  const Tensor& condition = call.inputs[0];
  const Tensor& g = call.grads[0];
  const auto needs = [&](std::size_t i) { return call.inputs[i].defined() && call.wants(i); };
  return {Tensor(), needs(1) ? ops::reduce_to(where(condition, g, 0.0), call.inputs[1]) : Tensor(),
          needs(2) ? ops::reduce_to(where(condition, 0.0, g), call.inputs[2]) : Tensor()};
}

void where_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  for (i64 i = 0; i < out.numel(); ++i) {
    const std::vector<i64> index = ir::unravel(i, out.shape);
    const bool holds = call.input(0).integer(ir::broadcast_position(index, call.input(0).shape)) != 0;
    const ir::Array& from = call.input(holds ? 1 : 2);
    const i64 at = ir::broadcast_position(index, from.shape);
    if (out.is_real()) {
      out.set(i, from.real(at));
    } else {
      out.set_integer(i, from.integer(at));
    }
  }
}

std::vector<ir::Sample> where_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  const ir::SampleInput condition{.shape = {m, n}, .fill = ir::Fill::Boolean, .dtype = DType::Bool};
  const ir::SampleInput row{.shape = {n}, .fill = ir::Fill::Boolean, .dtype = DType::Bool};
  const ir::SampleInput full{.shape = {m, n}};
  return {{{condition, full, full}, {}, {3, 37}},
          {{row, full, {.shape = {m, 1}}}, {}, {3, 37}},
          {{condition, full, {.number = Number(2.5)}}, {}, {3, 37}},
          {{condition, {.number = Number(3)}, {.shape = {n}}}, {}, {3, 37}}};
}

constexpr OpDef where_op{
    .name = "where",
    .doc = "a where the condition holds, else b.",
    .inputs = {{.name = "condition", .shape = "bool [...]", .promoted = false}, {"a", "[...]"}, {"b", "[...]"}},
    .promote = ir::Promotion::Arithmetic,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_where,
    .lower = ir::Pointwise{[](PointwiseContext& c) { return loop::select(c.input(0), c.input(1), c.input(2)); }},
    .vjp = where_vjp,
    .reference = where_reference,
    .samples = where_samples,
};

// --- maximum and minimum -------------------------------------------------------------------------------------------------------------
// g where the input loses, half of it where both are equal (or NaN decides nothing: all of it).
Tensor share_of(const Tensor& g, const Tensor& loses, const Tensor& ties) { return where(loses, 0.0, where(ties, mul(g, 0.5), g)); }

std::vector<Tensor> larger_vjp(const ir::VjpCall& call, bool want_larger) {
  const Input a = ops::operand(call, 0);
  const Input b = ops::operand(call, 1);
  const Tensor ties = eq(a, b);
  const auto one = [&](std::size_t i, const Tensor& loses) {
    if (!call.inputs[i].defined() || !call.wants(i)) return Tensor();
    return ops::reduce_to(share_of(call.grads[0], loses, ties), call.inputs[i]);
  };
  return {one(0, want_larger ? lt(a, b) : gt(a, b)), one(1, want_larger ? gt(a, b) : lt(a, b))};
}

constexpr OpDef maximum_op{
    .name = "maximum",
    .doc = "The larger of two elements; NaN wins.",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .promote = ir::Promotion::Arithmetic,
    .dtypes = ir::kArithmeticDTypes,
    .infer = ir::infer_pointwise,
    .lower = ir::Pointwise{[](PointwiseContext& c) { return ops::larger(c.input(0), c.input(1)); }},
    .vjp = [](const ir::VjpCall& call) { return larger_vjp(call, true); },
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_binary(
              call, [](double a, double b) { return std::isnan(a) || a > b ? a : b; }, [](i64 a, i64 b) { return a > b ? a : b; });
        },
    .samples = ops::samples_binary,
};

constexpr OpDef minimum_op{
    .name = "minimum",
    .doc = "The smaller of two elements; NaN wins.",
    .inputs = {{"a", "[...]"}, {"b", "[...]"}},
    .promote = ir::Promotion::Arithmetic,
    .dtypes = ir::kArithmeticDTypes,
    .infer = ir::infer_pointwise,
    .lower = ir::Pointwise{[](PointwiseContext& c) { return ops::smaller(c.input(0), c.input(1)); }},
    .vjp = [](const ir::VjpCall& call) { return larger_vjp(call, false); },
    .reference =
        [](ir::ReferenceCall& call) {
          ops::reference_binary(
              call, [](double a, double b) { return std::isnan(a) || a < b ? a : b; }, [](i64 a, i64 b) { return a < b ? a : b; });
        },
    .samples = ops::samples_binary,
};

constexpr const OpDef* kTable[] = {&where_op, &maximum_op, &minimum_op};

// The value of masked_fill in a form that does not change the dtype of x. `storage` holds it where it is a new tensor.
Input fitting_value(const Tensor& x, const Tensor& mask, const Input& value, Tensor& storage) {
  if (mask.defined() && mask.dtype() != DType::Bool) {
    throw DtypeError(cat("masked_fill: masked_fill only supports boolean masks, but got mask with dtype ", mask.dtype()));
  }
  if (value.is_tensor()) {
    if (value.tensor().ndim() != 0) {
      throw ShapeError(cat("masked_fill: masked_fill only supports a 0-dimensional value tensor, but got tensor with ",
                           value.tensor().ndim(), " dimension(s)."));
    }
    if (is_complex(value.tensor().dtype())) {
      throw DtypeError(cat("masked_fill: value cannot be converted to type ", x.dtype(), ": it is ", value.tensor().dtype(),
                           "; a dtype without imaginary parts is needed"));
    }
    storage = cast(value.tensor(), x.dtype());
    return storage;
  }
  const bool keeps_dtype = is_floating(x.dtype()) || value.number_kind() == NumberKind::Bool ||
                           (is_integral(x.dtype()) && value.number_kind() == NumberKind::Integer);
  if (!value.is_number() || keeps_dtype) return value;
  storage = full(Shape{}, value.number(), x.dtype());
  return storage;
}

}  // namespace

constexpr OpTable kSelectOps = kTable;

Tensor where(const Tensor& condition, Input a, Input b) { return apply_one(where_op, {condition, a, b}); }
Tensor masked_fill(const Tensor& x, const Tensor& mask, Input value) {
  Tensor storage;
  return apply_one(where_op, {mask, fitting_value(x, mask, value, storage), x});
}
const Tensor& masked_fill_(const Tensor& x, const Tensor& mask, Input value) {
  Tensor storage;
  return apply_into(x, where_op, {mask, fitting_value(x, mask, value, storage), x});
}
Tensor maximum(Input a, Input b) { return apply_one(maximum_op, {a, b}); }
Tensor minimum(Input a, Input b) { return apply_one(minimum_op, {a, b}); }

}  // namespace resilin
