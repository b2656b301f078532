// src/resilin/ops/random/dropout.cpp -- dropout: elements set to 0 at random.
#include "resilin/ops/random/dropout.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/random/stream.h"

namespace resilin {
namespace {

using ir::PointwiseContext;
using loop::Scalar;

std::vector<ir::Type> infer_dropout(ir::InferContext& c) {
  ops::require_stream(c, 1);
  return {{c.dtype(0), c.shape(0), {}}};
}

Scalar dropout_formula(PointwiseContext& c) {
  const loop::PhiloxScalars random = ops::random_words(c, 1);
  const Scalar drawn = ops::unit(random.word[0], random.word[1], DType::F32);
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
    const PhiloxWords random = ops::random_words(seed, offset, i);
    const double drawn = ops::unit(random.word[0], random.word[1], DType::F32);
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
  const ops::Draw from = ops::draw(x.shape(), generator, "dropout", "dropout_at");
  // Nothing is kept, and 0 / (1 - 1) is no number.
  return dropout_at(x, from.seed, from.offset, {.p = p == 1 ? 2.0 : p});
}

}  // namespace resilin
