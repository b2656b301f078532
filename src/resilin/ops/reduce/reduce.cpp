// src/resilin/ops/reduce/reduce.cpp -- reductions over axes: sum, mean, prod, any, all.
#include "resilin/ops/reduce/reduce.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/gradient.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/reduce/reduce_rule.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::ReduceContext;
using loop::Combiner;
using loop::Scalar;
using ops::normalized_axes;
using ops::reduce_axes;
using ops::reduce_samples;

// --- types ------------------------------------------------------------------------------------------------------------------
DType sum_dtype(DType t) { return is_floating(t) ? t : DType::I64; }

std::vector<ir::Type> infer_logic(ir::InferContext& c) {
  const ReduceAttrs& attrs = c.attrs<ReduceAttrs>();
  const Shape& shape = c.shape(0);
  const ops::Axes axes = normalized_axes(attrs.axes, static_cast<i64>(shape.size()), c.op());
  return {{c.dtype(0) == DType::U8 ? DType::U8 : DType::Bool, ops::reduced_shape(shape, axes, attrs.keepdim), {}}};
}

std::vector<ir::Type> infer_sum(ir::InferContext& c) {
  const ReduceAttrs& attrs = c.attrs<ReduceAttrs>();
  const Shape& shape = c.shape(0);
  return {{sum_dtype(c.dtype(0)),
           ops::reduced_shape(shape, normalized_axes(attrs.axes, static_cast<i64>(shape.size()), c.op()), attrs.keepdim),
           {}}};
}

// --- formulas ------------------------------------------------------------------------------------------------------------------------
Combiner build_sum(ReduceContext& c) {
  const DType dtype = compute_dtype(c.output_dtype());
  return {{Scalar::constant(dtype, 0)}, {loop::cast(c.input(), dtype)}, {Scalar::input(dtype, 0) + Scalar::input(dtype, 1)}};
}
std::vector<Scalar> finish_first(ReduceContext&, std::span<const Scalar> results) { return {results[0]}; }
std::vector<Scalar> finish_mean(ReduceContext& c, std::span<const Scalar> results) {
  return {results[0] / loop::cast(Scalar::integer(c.count()), results[0].dtype())};
}

Combiner build_prod(ReduceContext& c) {
  const DType dtype = compute_dtype(c.output_dtype());
  return {{Scalar::constant(dtype, 1)}, {loop::cast(c.input(), dtype)}, {Scalar::input(dtype, 0) * Scalar::input(dtype, 1)}};
}

Combiner build_logic(ReduceContext& c, bool of_all) {
  const Scalar x = c.input();
  const Scalar a = Scalar::input(DType::Bool, 0);
  const Scalar b = Scalar::input(DType::Bool, 1);
  return {{Scalar::constant_integer(DType::Bool, of_all)}, {loop::cast(x, DType::Bool)}, {of_all ? a & b : a | b}};
}

// --- gradients -----------------------------------------------------------------------------------------------------------------------
std::vector<Tensor> sum_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  if (!is_floating(x.dtype())) return {Tensor()};
  const ReduceAttrs& attrs = call.attributes<ReduceAttrs>();
  return {expand(ops::with_reduced_axes(call.grads[0], x, attrs.axes, attrs.keepdim), x.shape())};
}
std::vector<Tensor> mean_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  const ReduceAttrs& attrs = call.attributes<ReduceAttrs>();
  const Tensor share = ops::divided_by_size(call.grads[0], ops::reduced_count(x, attrs.axes, "mean"));
  return {expand(ops::with_reduced_axes(share, x, attrs.axes, attrs.keepdim), x.shape())};
}

// The product of the other elements: the quotient where no element is 0; where one is, it alone has a gradient; where two are, none has.
std::vector<Tensor> prod_vjp(const ir::VjpCall& call) {
  const Tensor& x = call.inputs[0];
  if (!is_floating(x.dtype())) return {Tensor()};
  const ReduceAttrs& attrs = call.attributes<ReduceAttrs>();
  const ReduceAttrs kept{attrs.axes, true};
  const Tensor is_zero = eq(x, 0);
  const Tensor zero_count = sum(is_zero, kept);
  const Tensor others = where(is_zero, 1.0, x);
  const Tensor product = prod(others, kept);
  const Tensor counts = where(is_zero, eq(zero_count, 1), eq(zero_count, 0));
  const Tensor slope = where(counts, div(product, others), 0.0);
  return {mul(ops::with_reduced_axes(call.grads[0], x, attrs.axes, attrs.keepdim), slope)};
}

// --- references and samples ----------------------------------------------------------------------------------------------------------
void sum_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  ops::for_each_reduced(
      x, normalized_axes(call.attributes<ReduceAttrs>().axes, static_cast<i64>(x.shape.size()), "sum"), [&](i64 to, i64 from) {
        if (out.is_real()) {
          out.reals[static_cast<std::size_t>(to)] += x.real(from);
        } else {
          out.set_integer(to, static_cast<i64>(static_cast<std::uint64_t>(out.integer(to)) + static_cast<std::uint64_t>(x.integer(from))));
        }
      });
}
void mean_reference(ir::ReferenceCall& call) {
  sum_reference(call);
  const i64 count = call.output().numel() == 0 ? 0 : call.input(0).numel() / call.output().numel();
  for (double& value : call.output().reals) value /= static_cast<double>(count);
}
void prod_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  for (double& value : out.reals) value = 1;
  for (i64& value : out.integers) value = 1;
  ops::for_each_reduced(
      x, normalized_axes(call.attributes<ReduceAttrs>().axes, static_cast<i64>(x.shape.size()), "prod"), [&](i64 to, i64 from) {
        if (out.is_real()) {
          out.reals[static_cast<std::size_t>(to)] *= x.real(from);
        } else {
          out.set_integer(to, static_cast<i64>(static_cast<std::uint64_t>(out.integer(to)) * static_cast<std::uint64_t>(x.integer(from))));
        }
      });
}
void logic_reference(ir::ReferenceCall& call, bool of_all) {
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  for (i64& value : out.integers) value = of_all;
  ops::for_each_reduced(x, normalized_axes(call.attributes<ReduceAttrs>().axes, static_cast<i64>(x.shape.size()), "any"),
                        [&](i64 to, i64 from) {
                          const bool holds = x.is_real() ? x.real(from) != 0 : x.integer(from) != 0;
                          if (holds != of_all) out.set_integer(to, holds);
                        });
}

std::vector<ir::Sample> samples_of(ir::Fill fill) {
  std::vector<ir::Sample> samples = reduce_samples();
  for (ir::Sample& sample : samples) sample.inputs[0].fill = fill;
  return samples;
}
// Without signs and zeros: partial products that overflow meet none that are 0.
std::vector<ir::Sample> prod_samples() { return samples_of(ir::Fill::Positive); }
// Zeros and ones in every dtype: with random numbers nothing would be 0.
std::vector<ir::Sample> logic_samples() { return samples_of(ir::Fill::Boolean); }

constexpr OpDef sum_op{
    .name = "sum",
    .doc = "Sum over axes.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<ReduceAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_sum,
    .lower = ir::Reduce{reduce_axes, build_sum, finish_first},
    .vjp = sum_vjp,
    .reference = sum_reference,
    .samples = reduce_samples,
};

constexpr OpDef mean_op{
    .name = "mean",
    .doc = "Mean over axes.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<ReduceAttrs>,
    .dtypes = ir::kFloats,
    .infer = infer_sum,
    .lower = ir::Reduce{reduce_axes, build_sum, finish_mean},
    .vjp = mean_vjp,
    .reference = mean_reference,
    .samples = reduce_samples,
};

constexpr OpDef prod_op{
    .name = "prod",
    .doc = "Product over axes.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<ReduceAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_sum,
    .lower = ir::Reduce{reduce_axes, build_prod, finish_first},
    .vjp = prod_vjp,
    .reference = prod_reference,
    .samples = prod_samples,
};

constexpr OpDef any_op{
    .name = "any",
    .doc = "Whether any element over axes is not 0.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<ReduceAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_logic,
    .lower = ir::Reduce{reduce_axes, [](ReduceContext& c) { return build_logic(c, false); }, finish_first},
    .reference = [](ir::ReferenceCall& call) { logic_reference(call, false); },
    .samples = logic_samples,
};

constexpr OpDef all_op{
    .name = "all",
    .doc = "Whether every element over axes is not 0.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<ReduceAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_logic,
    .lower = ir::Reduce{reduce_axes, [](ReduceContext& c) { return build_logic(c, true); }, finish_first},
    .reference = [](ir::ReferenceCall& call) { logic_reference(call, true); },
    .samples = logic_samples,
};

constexpr const OpDef* kTable[] = {&sum_op, &mean_op, &prod_op, &any_op, &all_op};

}  // namespace

constexpr OpTable kReduceOps = kTable;

Tensor sum(const Tensor& x, const ReduceAttrs& attrs) { return apply_one(sum_op, {x}, attrs); }
Tensor mean(const Tensor& x, const ReduceAttrs& attrs) { return apply_one(mean_op, {x}, attrs); }
Tensor prod(const Tensor& x, const ReduceAttrs& attrs) { return apply_one(prod_op, {x}, attrs); }
Tensor any(const Tensor& x, const ReduceAttrs& attrs) { return apply_one(any_op, {x}, attrs); }
Tensor all(const Tensor& x, const ReduceAttrs& attrs) { return apply_one(all_op, {x}, attrs); }

}  // namespace resilin
