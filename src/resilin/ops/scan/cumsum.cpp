// src/resilin/ops/scan/cumsum.cpp -- running sums along an axis.
#include "resilin/ops/scan/cumsum.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/view/range.h"
#include "resilin/ops/view/shape.h"

namespace resilin {
namespace {

using loop::Combiner;
using loop::Scalar;

i64 scanned_axis(ir::AttrsRef attrs, i64 ndim) { return normalize_axis(static_cast<const CumsumAttrs*>(attrs.data)->axis, ndim, "cumsum"); }

std::vector<ir::Type> infer_cumsum(ir::InferContext& c) {
  c.axis(c.attrs<CumsumAttrs>().axis, static_cast<i64>(c.shape(0).size()));
  return {{is_floating(c.dtype(0)) ? c.dtype(0) : DType::I64, c.shape(0), {}}};
}

Combiner build_cumsum(ir::ReduceContext& c) {
  const DType dtype = compute_dtype(c.output_dtype());
  return {{Scalar::constant(dtype, 0)}, {loop::cast(c.input(), dtype)}, {Scalar::input(dtype, 0) + Scalar::input(dtype, 1)}};
}

std::vector<Tensor> cumsum_vjp(const ir::VjpCall& call) {
  if (!is_floating(call.inputs[0].dtype())) return {Tensor()};
  const i64 axis = call.attributes<CumsumAttrs>().axis;
  return {flip(cumsum(flip(call.grads[0], {axis}), axis), {axis})};
}

void cumsum_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  ir::Array& out = call.output();
  const i64 ndim = static_cast<i64>(x.shape.size());
  const i64 axis = normalize_axis(call.attributes<CumsumAttrs>().axis, ndim, "cumsum");
  const i64 size = x.shape[static_cast<std::size_t>(axis)];
  i64 stride = 1;
  for (i64 a = axis + 1; a < ndim; ++a) stride *= x.shape[static_cast<std::size_t>(a)];
  for (i64 i = 0; i < x.numel(); ++i) {
    const bool is_first = i / stride % size == 0;
    if (out.is_real()) {
      out.reals[static_cast<std::size_t>(i)] = x.real(i) + (is_first ? 0.0 : out.reals[static_cast<std::size_t>(i - stride)]);
    } else {
      const std::uint64_t before = is_first ? 0 : static_cast<std::uint64_t>(out.integer(i - stride));
      out.set_integer(i, static_cast<i64>(before + static_cast<std::uint64_t>(x.integer(i))));
    }
  }
}

std::vector<ir::Sample> cumsum_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  return {{{{.shape = {m, n}}}, ir::attrs_of(CumsumAttrs{-1}), {3, 37}},
          {{{.shape = {m, n}}}, ir::attrs_of(CumsumAttrs{0}), {37, 5}},
          {{{.shape = {m, n, 3}}}, ir::attrs_of(CumsumAttrs{1}), {3, 37}}};
}

constexpr ir::OpDef cumsum_op{
    .name = "cumsum",
    .doc = "Running sums along an axis.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<CumsumAttrs>,
    .dtypes = ir::kArithmeticDTypes,
    .infer = infer_cumsum,
    .lower = ir::Scan{scanned_axis, build_cumsum,
                      [](ir::ReduceContext&, std::span<const Scalar> results) -> std::vector<Scalar> { return {results[0]}; }},
    .vjp = cumsum_vjp,
    .reference = cumsum_reference,
    .samples = cumsum_samples,
};

constexpr const ir::OpDef* kTable[] = {&cumsum_op};

}  // namespace

constexpr OpTable kCumsumOps = kTable;

Tensor cumsum(const Tensor& x, i64 axis) {
  if (x.ndim() == 0 && (axis == 0 || axis == -1))
    return reshape(cumsum(reshape(x, {1}), 0), Shape{});  // as in PyTorch, a 0-d tensor has an axis here
  return apply_one(cumsum_op, {x}, CumsumAttrs{axis});
}

}  // namespace resilin
