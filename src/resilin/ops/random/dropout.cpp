// src/resilin/ops/random/dropout.cpp -- dropout: elements set to 0 at random.
#include "resilin/ops/random/dropout.h"

#include "resilin/dispatch/trace.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/loop/math.h"

namespace resilin {
namespace {

using ir::PointwiseContext;
using loop::Scalar;

constexpr double kHalfToThe24 = 0x1p-24;

std::vector<ir::Type> infer_dropout(ir::InferContext& c) {
  for (const int input : {1, 2}) {
    if (!c.is_number(input) || c.dtype(input) != DType::I64) throw ArgumentError(cat(c.op(), ": seed and offset must be integers"));
  }
  return {{c.dtype(0), c.shape(0), {}}};
}

Scalar dropout_formula(PointwiseContext& c) {
  const Scalar zero = Scalar::constant_integer(DType::I64, 0);
  const loop::PhiloxScalars random = loop::philox(c.input(1), c.input(2) + Scalar::integer(c.element()), zero);
  const Scalar bits = Scalar::make(loop::Code::ShiftRightLogical, DType::I32, {random.word[0], Scalar::constant_integer(DType::I32, 8)});
  const Scalar drawn = loop::cast(bits, DType::F32) * kHalfToThe24;
  const Scalar x = c.input(0);
  const Scalar p = c.number(c.attrs<DropoutAttrs>().p, x.dtype());
  const Scalar kept = drawn >= c.number(c.attrs<DropoutAttrs>().p, DType::F32);
  return loop::select(kept, x / (1.0 - p), loop::constant_like(x, 0));
}

std::vector<Tensor> dropout_vjp(const ir::VjpCall& call) {
  return {dropout_at(call.grads[0], call.numbers[1], call.numbers[2], call.attributes<DropoutAttrs>()), Tensor(), Tensor()};
}

void dropout_reference(ir::ReferenceCall& call) {
  const ir::Array& x = call.input(0);
  const std::uint64_t seed = static_cast<std::uint64_t>(call.input(1).integer(0));
  const std::uint64_t offset = static_cast<std::uint64_t>(call.input(2).integer(0));
  const double p = call.attributes<DropoutAttrs>().p.as_double();
  for (i64 i = 0; i < x.numel(); ++i) {
    const double drawn = static_cast<double>(philox4x32(seed, offset + static_cast<std::uint64_t>(i), 0).word[0] >> 8) * kHalfToThe24;
    call.output().set(i, drawn >= static_cast<double>(static_cast<float>(p)) ? x.real(i) / (1 - p) : 0);
  }
}

std::vector<ir::Sample> dropout_samples() {
  const ir::SampleInput x{.shape = {Dim::symbol('s', 0), Dim::symbol('s', 1)}};
  const ir::SampleInput seed{.number = Number(1234)};
  return {{{x, seed, {.number = Number(i64{1} << 33)}}, ir::attrs_of(DropoutAttrs{0.5}), {3, 37}},
          {{x, seed, {.number = Number(7)}}, ir::attrs_of(DropoutAttrs{0.125}), {3, 37}}};
}

constexpr ir::OpDef dropout_op{
    .name = "dropout",
    .doc = "Elements set to 0 at random, the others scaled up; a function of seed, offset and element.",
    .inputs = {{"x", "[...]"},
               {.name = "seed", .shape = "number", .promoted = false},
               {.name = "offset", .shape = "number", .promoted = false}},
    .attrs = &ir::kAttrsInfo<DropoutAttrs>,
    .dtypes = ir::kFloats,
    .infer = infer_dropout,
    .lower = ir::Pointwise{dropout_formula},
    .vjp = dropout_vjp,
    .reference = dropout_reference,
    .samples = dropout_samples,
};

constexpr const ir::OpDef* kTable[] = {&dropout_op};

}  // namespace

constexpr OpTable kDropoutOps = kTable;

Tensor dropout_at(const Tensor& x, Number seed, Number offset, const DropoutAttrs& attrs) {
  return apply_one(dropout_op, {x, seed, offset}, attrs);
}

Tensor dropout(const Tensor& x, double p, bool training, Generator* generator) {
  if (!(p >= 0 && p <= 1)) throw ArgumentError(cat("dropout: dropout probability has to be between 0 and 1, but got ", p));
  if (!training || p == 0) return x;
  if (active_tracer() != nullptr) {
    throw UnsupportedError(
        "dropout: a generator is read while tracing, so every run would drop the same elements; use dropout_at with seed and offset as "
        "arguments");
  }
  Generator& stream = generator != nullptr ? *generator : default_generator();
  const i64 seed = stream.seed();
  const Number offset = stream.reserve(x.numel().value());
  // Nothing is kept, and 0 / (1 - 1) is no number.
  return p == 1 ? dropout_at(x, seed, offset, {.p = 2.0}) : dropout_at(x, seed, offset, {.p = p});
}

}  // namespace resilin
