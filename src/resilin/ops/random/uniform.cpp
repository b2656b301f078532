// src/resilin/ops/random/uniform.cpp -- uniform random numbers: rand, uniform_.
#include "resilin/ops/random/uniform.h"

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/random/stream.h"
#include "resilin/ops/size_rule.h"

namespace resilin {
namespace {

using ir::PointwiseContext;

// Bits of word 0 that a number of this dtype keeps.
int kept_bits(DType dtype) { return dtype == DType::F16 ? 11 : dtype == DType::BF16 ? 8 : 24; }

void require_float(std::string_view op, DType dtype) {
  if ((ir::kFloats & ir::bit(dtype)) != 0) return;
  throw DtypeError(cat(op, ": not implemented for dtype ", dtype, "; it makes f16 bf16 f32 f64"));
}

std::vector<ir::Type> infer_rand(ir::InferContext& c) {
  const FillAttrs& attrs = c.attrs<FillAttrs>();
  require_float(c.op(), attrs.dtype);
  ops::require_stream(c, 0);
  ops::require_sizes(c, attrs.shape);
  return {{attrs.dtype, attrs.shape, {}}};
}

loop::Scalar rand_formula(PointwiseContext& c) {
  const loop::PhiloxScalars random = ops::random_words(c, 0);
  return ops::unit(random.word[0], random.word[1], c.output_dtype(), kept_bits(c.output_dtype()));
}

void rand_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  const std::uint64_t seed = static_cast<std::uint64_t>(call.input(0).integer(0));
  const std::uint64_t offset = static_cast<std::uint64_t>(call.input(1).integer(0));
  for (i64 i = 0; i < out.numel(); ++i) {
    const PhiloxWords random = ops::random_words(seed, offset, i);
    out.set(i, ops::unit(random.word[0], random.word[1], out.dtype, kept_bits(out.dtype)));
  }
}

std::vector<ir::Sample> rand_samples() {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  std::vector<ir::Sample> samples;
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    samples.push_back({{{.number = Number(1234)}, {.number = Number(i64{1} << 33)}}, ir::attrs_of(FillAttrs{shape, dtype}), {3, 37}});
  }
  return samples;
}

constexpr ir::OpDef rand_op{
    .name = "rand",
    .doc = "Uniform random numbers in [0, 1), a function of seed, offset and element.",
    .inputs = {{.name = "seed", .shape = "number", .promoted = false}, {.name = "offset", .shape = "number", .promoted = false}},
    .attrs = &ir::kAttrsInfo<FillAttrs>,
    .infer = infer_rand,
    .lower = ir::Pointwise{rand_formula},
    .reference = rand_reference,
    .samples = rand_samples,
};

constexpr const ir::OpDef* kTable[] = {&rand_op};

}  // namespace

constexpr OpTable kUniformOps = kTable;

Tensor rand(std::span<const Dim> shape, DType dtype, Generator* generator) {
  require_float("rand", dtype);  // before the generator moves
  const ops::Draw at = ops::draw(shape, generator, "rand", "rand_at");
  return rand_at(shape, at.seed, at.offset, dtype);
}
Tensor rand(std::initializer_list<Dim> shape, DType dtype, Generator* generator) {
  return rand(std::span<const Dim>(shape.begin(), shape.size()), dtype, generator);
}

Tensor rand_at(std::span<const Dim> shape, Number seed, Number offset, DType dtype) {
  return apply_one(rand_op, {seed, offset}, FillAttrs{Shape(shape), dtype});
}

const Tensor& uniform_(const Tensor& x, double low, double high, Generator* generator) {
  require_float("uniform_", x.dtype());
  if (!(low <= high))
    throw ArgumentError(cat("uniform_: uniform_ expects to return a [from, to) range, but found from=", low, " > to=", high));
  const ops::Draw at = ops::draw(x.shape(), generator, "uniform_", "rand_at");
  apply_into(x, rand_op, {at.seed, at.offset}, FillAttrs{x.shape(), x.dtype()});
  if (high - low != 1) mul_(x, high - low);
  return low == 0 ? x : add_(x, low);
}

}  // namespace resilin
