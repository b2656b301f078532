// src/resilin/ops/random/normal.cpp -- random numbers of the normal distribution: randn, normal_.
#include "resilin/ops/random/normal.h"

#include <cmath>
#include <numbers>

#include "resilin/ir/attrs_info.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/random/stream.h"
#include "resilin/ops/size_rule.h"

namespace resilin {
namespace {

using ir::PointwiseContext;
using loop::Scalar;

constexpr double kFullTurn = 2 * std::numbers::pi;

void require_float(std::string_view op, DType dtype) {
  if ((ir::kFloats & ir::bit(dtype)) != 0) return;
  throw DtypeError(cat(op, ": not implemented for dtype ", dtype, "; it makes f16 bf16 f32 f64"));
}

std::vector<ir::Type> infer_randn(ir::InferContext& c) {
  const FillAttrs& attrs = c.attrs<FillAttrs>();
  require_float(c.op(), attrs.dtype);
  ops::require_stream(c, 0);
  ops::require_sizes(c, attrs.shape);
  return {{attrs.dtype, attrs.shape, {}}};
}

// A turn in [-1/2, 1/2): a small angle has a small rounding error.
Scalar turn(const loop::PhiloxScalars& random, DType dtype) {
  if (dtype == DType::F64) return ops::unit(random.word[2], random.word[3], dtype) - 0.5;
  const Scalar high = Scalar::make(loop::Code::ShiftRight, DType::I32, {random.word[1], Scalar::constant_integer(DType::I32, 8)});
  return loop::cast(high, DType::F32) * 0x1p-24;
}
double turn(const PhiloxWords& random, DType dtype) {
  if (dtype == DType::F64) return ops::unit(random.word[2], random.word[3], dtype) - 0.5;
  return static_cast<double>(static_cast<std::int32_t>(random.word[1]) >> 8) * 0x1p-24;
}

Scalar randn_formula(PointwiseContext& c) {
  const loop::PhiloxScalars random = ops::random_words(c, 0);
  const DType dtype = compute_dtype(c.output_dtype());
  const Scalar radius = loop::sqrt(loop::log(1.0 - ops::unit(random.word[0], random.word[1], dtype)) * -2.0);
  return radius * loop::cos(turn(random, dtype) * kFullTurn);
}

void randn_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  const std::uint64_t seed = static_cast<std::uint64_t>(call.input(0).integer(0));
  const std::uint64_t offset = static_cast<std::uint64_t>(call.input(1).integer(0));
  for (i64 i = 0; i < out.numel(); ++i) {
    const PhiloxWords random = ops::random_words(seed, offset, i);
    const double radius = std::sqrt(-2 * std::log(1 - ops::unit(random.word[0], random.word[1], out.dtype)));
    out.set(i, radius * std::cos(kFullTurn * turn(random, out.dtype)));
  }
}

// Small seeds and offsets: the tolerance of the comparison follows from the largest input.
std::vector<ir::Sample> randn_samples() {
  const Shape shape{Dim::symbol('s', 0), Dim::symbol('s', 1)};
  std::vector<ir::Sample> samples;
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    samples.push_back({{{.number = Number(7)}, {.number = Number(3)}}, ir::attrs_of(FillAttrs{shape, dtype}), {3, 37}});
  }
  return samples;
}

constexpr ir::OpDef randn_op{
    .name = "randn",
    .doc = "Random numbers of mean 0 and variance 1, a function of seed, offset and element.",
    .inputs = {{.name = "seed", .shape = "number", .promoted = false}, {.name = "offset", .shape = "number", .promoted = false}},
    .attrs = &ir::kAttrsInfo<FillAttrs>,
    .infer = infer_randn,
    .lower = ir::Pointwise{randn_formula},
    .reference = randn_reference,
    .samples = randn_samples,
};

constexpr const ir::OpDef* kTable[] = {&randn_op};

}  // namespace

constexpr OpTable kNormalOps = kTable;

Tensor randn(std::span<const Dim> shape, DType dtype, Generator* generator) {
  require_float("randn", dtype);  // before the generator moves
  const ops::Draw at = ops::draw(shape, generator, "randn", "randn_at");
  return randn_at(shape, at.seed, at.offset, dtype);
}
Tensor randn(std::initializer_list<Dim> shape, DType dtype, Generator* generator) {
  return randn(std::span<const Dim>(shape.begin(), shape.size()), dtype, generator);
}

Tensor randn_at(std::span<const Dim> shape, Number seed, Number offset, DType dtype) {
  return apply_one(randn_op, {seed, offset}, FillAttrs{Shape(shape), dtype});
}

const Tensor& normal_(const Tensor& x, double mean, double deviation, Generator* generator) {
  require_float("normal_", x.dtype());
  if (!(deviation >= 0)) throw ArgumentError(cat("normal_: normal expects std >= 0.0, but found std ", deviation));
  const ops::Draw at = ops::draw(x.shape(), generator, "normal_", "randn_at");
  apply_into(x, randn_op, {at.seed, at.offset}, FillAttrs{x.shape(), x.dtype()});
  if (deviation != 1) mul_(x, deviation);
  return mean == 0 ? x : add_(x, mean);
}

}  // namespace resilin
