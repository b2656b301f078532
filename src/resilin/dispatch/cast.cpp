// src/resilin/dispatch/cast.cpp -- the two ops that apply itself inserts: cast for promotion, assign for writing into a destination.
#include "resilin/dispatch/cast.h"

#include "resilin/ir/attrs_info.h"

namespace resilin {
namespace {

using ir::PointwiseContext;

std::vector<ir::Type> infer_cast(ir::InferContext& c) { return {{c.attrs<CastAttrs>().dtype, c.shape(0), {}}}; }

loop::Scalar cast_formula(PointwiseContext& c) { return loop::cast(c.input(0), compute_dtype(c.output_dtype())); }

std::vector<Tensor> cast_vjp(const ir::VjpCall& call) {
  return {is_floating(call.inputs[0].dtype()) ? cast(call.grads[0], call.inputs[0].dtype()) : Tensor()};
}

void cast_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  for (i64 i = 0; i < x.numel(); ++i) {
    if (x.is_real() || call.output().is_real()) {
      call.output().set(i, x.real(i));
    } else {
      call.output().set_integer(i, call.output().dtype == DType::Bool ? x.integer(i) != 0 : x.integer(i));
    }
  }
}

std::vector<ir::Sample> cast_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  std::vector<ir::Sample> samples;
  for (const DType to : {DType::F32, DType::BF16, DType::F16, DType::F64, DType::I64, DType::I32, DType::U8, DType::Bool}) {
    samples.push_back({{{.shape = {m, n}, .fill = ir::Fill::Small}}, ir::attrs_of(CastAttrs{to}), {5, 33}});
  }
  return samples;
}

std::vector<ir::Type> infer_assign(ir::InferContext& c) {
  const Shape& destination = c.shape(0);
  if (!c.is_number(1)) {
    const Shape& value = c.shape(1);
    const auto refuse = [&] {
      throw ShapeError(cat("assign: the value cannot be broadcast to the destination: value is ", value, ", destination is ", destination));
    };
    if (value.size() > destination.size()) refuse();
    for (std::size_t a = 0; a < value.size(); ++a) {
      const Dim to = destination[destination.size() - value.size() + a];
      if (value[a] == 1) continue;
      if (!may_be_equal(value[a], to)) refuse();
      c.same(value[a], to, "sizes of value and destination");
    }
  }
  return {{c.dtype(0), destination, {}}};
}

loop::Scalar assign_formula(PointwiseContext& c) { return loop::cast(c.input(1), compute_dtype(c.output_dtype())); }

void assign_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  const ir::Array& value = call.input(1);
  for (i64 i = 0; i < out.numel(); ++i) {
    const i64 from = ir::broadcast_position(ir::unravel(i, out.shape), value.shape);
    if (value.is_real() || out.is_real()) {
      out.set(i, value.real(from));
    } else {
      out.set_integer(i, out.dtype == DType::Bool ? value.integer(from) != 0 : value.integer(from));
    }
  }
}

std::vector<ir::Sample> assign_samples() {
  const Dim m = Dim::symbol('s', 0);
  const Dim n = Dim::symbol('s', 1);
  return {{{{.shape = {m, n}}, {.shape = {m, n}}}, {}, {5, 33}}, {{{.shape = {m, n}}, {.shape = {n}}}, {}, {5, 33}}};
}

}  // namespace

constexpr ir::OpDef cast_op{
    .name = "cast",
    .doc = "The elements in another dtype, rounded to nearest even; floats become integers by truncation, anything becomes Bool by != 0.",
    .inputs = {{"x", "[...]"}},
    .attrs = &ir::kAttrsInfo<CastAttrs>,
    .infer = infer_cast,
    .lower = ir::Pointwise{cast_formula},
    .vjp = cast_vjp,
    .reference = cast_reference,
    .samples = cast_samples,
};

constexpr ir::OpDef assign_op{
    .name = "assign",
    .doc = "Writes the value, broadcast and cast, into the destination.",
    .inputs = {{"destination", "[...]"}, {"value", "broadcasts to destination"}},
    .infer = infer_assign,
    .lower = ir::Pointwise{assign_formula},
    .reference = assign_reference,
    .samples = assign_samples,
};

Tensor cast(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : apply_one(cast_op, {x}, CastAttrs{dtype}); }

const Tensor& assign(const Tensor& destination, Input value) { return apply_into(destination, assign_op, {destination, value}); }

}  // namespace resilin
