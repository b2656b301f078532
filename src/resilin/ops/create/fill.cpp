// src/resilin/ops/create/fill.cpp -- new tensors: full, zeros, ones, empty, eye, arange, and a size as a tensor.
#include "resilin/ops/create/fill.h"

#include <algorithm>
#include <cmath>

#include "resilin/dispatch/trace.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/ops/size_rule.h"

namespace resilin {
namespace {

using ir::OpDef;
using ir::PointwiseContext;
using loop::Scalar;

void refuse_dtype(std::string_view op, DType dtype) { throw DtypeError(cat(op, ": not implemented for dtype ", dtype)); }

// --- full ----------------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_full(ir::InferContext& c) {
  const FillAttrs& attrs = c.attrs<FillAttrs>();
  if (is_complex(attrs.dtype)) refuse_dtype(c.op(), attrs.dtype);
  ops::require_sizes(c, attrs.shape);
  return {{attrs.dtype, attrs.shape, {}}};
}
void full_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  const ir::Array& value = call.input(0);
  for (i64 i = 0; i < out.numel(); ++i) {
    if (out.is_real() || value.is_real()) {
      out.set(i, value.real(0));
    } else {
      out.set_integer(i, out.dtype == DType::Bool ? value.integer(0) != 0 : value.integer(0));
    }
  }
}
std::vector<ir::Sample> full_samples() {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  std::vector<ir::Sample> samples;
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::I32, DType::U8, DType::Bool}) {
    samples.push_back({{{.number = Number(1.5)}}, ir::attrs_of(FillAttrs{shape, dtype}), {3, 37}});
    samples.push_back({{{.number = Number(7)}}, ir::attrs_of(FillAttrs{shape, dtype}), {3, 37}});
  }
  return samples;
}

constexpr OpDef full_op{
    .name = "full",
    .doc = "Every element is the number.",
    .inputs = {{.name = "value", .shape = "number", .promoted = false}},
    .attrs = &ir::kAttrsInfo<FillAttrs>,
    .infer = infer_full,
    .lower = ir::Pointwise{[](PointwiseContext& c) { return loop::cast(c.input(0), compute_dtype(c.output_dtype())); }},
    .reference = full_reference,
    .samples = full_samples,
};

// --- arange --------------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_arange(ir::InferContext& c) {
  const ArangeAttrs& attrs = c.attrs<ArangeAttrs>();
  if (!is_integral(attrs.dtype) && !is_floating(attrs.dtype)) refuse_dtype(c.op(), attrs.dtype);
  const Dim length[] = {attrs.length};
  ops::require_sizes(c, length);
  return {{attrs.dtype, {attrs.length}, {}}};
}
Scalar arange_formula(PointwiseContext& c) {
  const DType dtype = is_integral(c.output_dtype()) ? DType::I64 : DType::F64;
  const Scalar element = loop::cast(Scalar::integer(c.element()), dtype);
  return loop::cast(loop::cast(c.input(0), dtype) + element * loop::cast(c.input(1), dtype), compute_dtype(c.output_dtype()));
}
void arange_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  const ir::Array& start = call.input(0);
  const ir::Array& step = call.input(1);
  for (i64 i = 0; i < out.numel(); ++i) {
    if (out.is_real()) {
      out.set(i, start.real(0) + static_cast<double>(i) * step.real(0));
    } else {
      out.set_integer(i, start.integer(0) + i * step.integer(0));
    }
  }
}
std::vector<ir::Sample> arange_samples() {
  const Dim n = Dim::symbol('s', 0);
  std::vector<ir::Sample> samples;
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::I32, DType::U8}) {
    samples.push_back({{{.number = Number(2)}, {.number = Number(3)}}, ir::attrs_of(ArangeAttrs{n, dtype}), {37}});
    if (is_floating(dtype))
      samples.push_back({{{.number = Number(0.5)}, {.number = Number(-0.25)}}, ir::attrs_of(ArangeAttrs{n, dtype}), {37}});
  }
  return samples;
}

constexpr OpDef arange_op{
    .name = "arange",
    .doc = "start, start + step, start + 2 step, ...",
    .inputs = {{.name = "start", .shape = "number", .promoted = false}, {.name = "step", .shape = "number", .promoted = false}},
    .attrs = &ir::kAttrsInfo<ArangeAttrs>,
    .infer = infer_arange,
    .lower = ir::Pointwise{arange_formula},
    .reference = arange_reference,
    .samples = arange_samples,
};

// --- eye -----------------------------------------------------------------------------------------------------------------------------
std::vector<ir::Type> infer_eye(ir::InferContext& c) {
  const EyeAttrs& attrs = c.attrs<EyeAttrs>();
  if (is_complex(attrs.dtype)) refuse_dtype(c.op(), attrs.dtype);
  const Shape shape{attrs.rows, attrs.columns};
  ops::require_sizes(c, shape);
  return {{attrs.dtype, shape, {}}};
}
Scalar eye_formula(PointwiseContext& c) {
  const Dim columns = c.attrs<EyeAttrs>().columns;
  const Scalar row = Scalar::integer(floordiv(c.element(), columns));
  const Scalar column = Scalar::integer(mod(c.element(), columns));
  return loop::cast(loop::equal(row, column), compute_dtype(c.output_dtype()));
}
void eye_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  for (i64 i = 0; i < std::min(out.shape[0], out.shape[1]); ++i) {
    const i64 at = i * out.shape[1] + i;
    if (out.is_real()) {
      out.set(at, 1);
    } else {
      out.set_integer(at, 1);
    }
  }
}
std::vector<ir::Sample> eye_samples() {
  std::vector<ir::Sample> samples;
  for (const DType dtype : {DType::F32, DType::BF16, DType::I64, DType::Bool}) {
    samples.push_back({{}, ir::attrs_of(EyeAttrs{Dim::symbol('s', 0), Dim::symbol('s', 1), dtype}), {5, 37}});
  }
  samples.push_back({{}, ir::attrs_of(EyeAttrs{Dim::symbol('s', 0), Dim::symbol('s', 0), DType::F64}), {9}});
  return samples;
}

constexpr OpDef eye_op{
    .name = "eye",
    .doc = "1 on the main diagonal, 0 elsewhere.",
    .attrs = &ir::kAttrsInfo<EyeAttrs>,
    .infer = infer_eye,
    .lower = ir::Pointwise{eye_formula},
    .reference = eye_reference,
    .samples = eye_samples,
};

// --- size_tensor ---------------------------------------------------------------------------------------------------------------------
std::vector<ir::Sample> size_samples() { return {{{}, ir::attrs_of(SizeAttrs{Dim::symbol('s', 0) * Dim(2)}), {37}}}; }

constexpr OpDef size_tensor_op{
    .name = "size_tensor",
    .doc = "A size as a tensor without axes.",
    .attrs = &ir::kAttrsInfo<SizeAttrs>,
    .infer = [](ir::InferContext&) -> std::vector<ir::Type> {
      return {{DType::I64, {}, {}}};
    },
    .lower = ir::Pointwise{[](PointwiseContext& c) { return Scalar::integer(c.attrs<SizeAttrs>().size); }},
    .reference = [](ir::ReferenceCall& call) { call.output().set_integer(0, call.attributes<SizeAttrs>().size.value()); },
    .samples = size_samples,
};

constexpr const OpDef* kTable[] = {&full_op, &arange_op, &eye_op, &size_tensor_op};

Tensor filled(std::span<const Dim> shape, Number value, DType dtype) { return apply_one(full_op, {value}, FillAttrs{Shape(shape), dtype}); }

DType dtype_of_number(Number value) {
  if (value.kind() == NumberKind::Float) return DType::F32;
  return value.kind() == NumberKind::Integer ? DType::I64 : DType::Bool;
}

// ceil((end - start) / step) exactly, for a step of the sign of end - start: distances fit 64 bits without a sign.
Dim integer_length(i64 start, i64 end, i64 step) {
  const auto distance = [](i64 from, i64 to) {
    return to > from ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)
                     : static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(to);
  };
  const std::uint64_t whole = distance(start, end);
  const std::uint64_t size = distance(0, step);
  return whole / size + (whole % size != 0 ? 1 : 0);
}

}  // namespace

constexpr OpTable kFillOps = kTable;

Tensor full(std::span<const Dim> shape, Number value, std::optional<DType> dtype) {
  return filled(shape, value, dtype.value_or(dtype_of_number(value)));
}
Tensor full(std::initializer_list<Dim> shape, Number value, std::optional<DType> dtype) {
  return full(std::span<const Dim>(shape.begin(), shape.size()), value, dtype);
}
Tensor zeros(std::span<const Dim> shape, DType dtype) { return filled(shape, 0, dtype); }
Tensor zeros(std::initializer_list<Dim> shape, DType dtype) { return zeros(std::span<const Dim>(shape.begin(), shape.size()), dtype); }
Tensor ones(std::span<const Dim> shape, DType dtype) { return filled(shape, 1, dtype); }
Tensor ones(std::initializer_list<Dim> shape, DType dtype) { return ones(std::span<const Dim>(shape.begin(), shape.size()), dtype); }
Tensor empty(std::span<const Dim> shape, DType dtype) {
  if (active_tracer() != nullptr) return zeros(shape, dtype);
  for (const Dim size : shape) {
    if (size.value() < 0) throw ShapeError(cat("empty: negative dimension ", size, ": shape is ", shape, "; sizes must be at least 0"));
  }
  return Tensor::allocate(shape, dtype);
}
Tensor empty(std::initializer_list<Dim> shape, DType dtype) { return empty(std::span<const Dim>(shape.begin(), shape.size()), dtype); }
Tensor empty_like(const Tensor& x, std::optional<DType> dtype) { return empty(x.shape(), dtype.value_or(x.dtype())); }
Tensor eye(Dim rows, std::optional<Dim> columns, DType dtype) {
  return apply_one(eye_op, {}, EyeAttrs{rows, columns.value_or(rows), dtype});
}
Tensor full_like(const Tensor& x, Number value, std::optional<DType> dtype) { return filled(x.shape(), value, dtype.value_or(x.dtype())); }
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype) { return full_like(x, 0, dtype); }
Tensor ones_like(const Tensor& x, std::optional<DType> dtype) { return full_like(x, 1, dtype); }

Tensor arange(Number start, Number end, Number step, std::optional<DType> dtype) {
  const bool given_integers = start.kind() != NumberKind::Float && end.kind() != NumberKind::Float && step.kind() != NumberKind::Float;
  const DType type = dtype.value_or(given_integers ? DType::I64 : DType::F32);
  const double from = start.as_double();
  const double to = end.as_double();
  const double by = step.as_double();
  if (!std::isfinite(from) || !std::isfinite(to)) throw ArgumentError(cat("arange: unsupported range: ", from, " -> ", to));
  if (!std::isfinite(by)) throw ArgumentError(cat("arange: unsupported step: ", by));
  const bool as_integers = given_integers || is_integral(type);
  if (as_integers ? step.as_integer() == 0 : by == 0)
    throw ArgumentError(cat("arange: step must be nonzero: start is ", from, ", end is ", to));
  if (by > 0 ? from > to : from < to) {
    throw ArgumentError(
        cat("arange: upper bound and larger bound inconsistent with step sign: start is ", from, ", end is ", to, ", step is ", by));
  }
  if (as_integers) {
    const i64 first = start.as_integer();
    return iota(integer_length(first, end.as_integer(), step.as_integer()), type, first, step.as_integer());
  }
  const double length = std::ceil((to - from) / by);
  if (length >= 0x1p62) throw ArgumentError(cat("arange: invalid size, possible overflow: ", length, " elements"));
  return iota(static_cast<i64>(length), type, start, step);
}
Tensor arange(Number end) { return arange(end.kind() == NumberKind::Float ? Number(0.0) : Number(0), end); }

Tensor iota(Dim length, DType dtype, Number start, Number step) { return apply_one(arange_op, {start, step}, ArangeAttrs{length, dtype}); }

Tensor size_tensor(Dim size) { return apply_one(size_tensor_op, {}, SizeAttrs{size}); }

}  // namespace resilin
