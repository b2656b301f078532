// src/resilin/ops/random/uniform.cpp -- uniform random numbers in [0, 1).
#include "resilin/ops/random/uniform.h"

#include "resilin/dispatch/trace.h"
#include "resilin/ir/attrs_info.h"
#include "resilin/loop/math.h"
#include "resilin/ops/size_rule.h"

namespace resilin {
namespace {

using ir::PointwiseContext;
using loop::Scalar;

constexpr double kHalfToThe24 = 0x1p-24;

// Bits of word 0 that a number of this dtype keeps.
int kept_bits(DType dtype) { return dtype == DType::F16 ? 11 : dtype == DType::BF16 ? 8 : 24; }

[[noreturn]] void refuse_dtype(DType dtype) {
  throw DtypeError(cat("rand: not implemented for dtype ", dtype, "; it makes f16 bf16 f32 f64"));
}

std::vector<ir::Type> infer_rand(ir::InferContext& c) {
  const FillAttrs& attrs = c.attrs<FillAttrs>();
  if ((ir::kFloats & ir::bit(attrs.dtype)) == 0) refuse_dtype(attrs.dtype);
  for (const int input : {0, 1}) {
    if (!c.is_number(input) || c.dtype(input) != DType::I64) throw ArgumentError(cat(c.op(), ": seed and offset must be integers"));
  }
  ops::require_sizes(c, attrs.shape);
  return {{attrs.dtype, attrs.shape, {}}};
}

// The high `bits` bits of an i32 word as a number of the dtype.
Scalar high_bits(const Scalar& word, int bits, DType dtype) {
  return loop::cast(Scalar::make(loop::Code::ShiftRightLogical, DType::I32, {word, Scalar::constant_integer(DType::I32, 32 - bits)}),
                    dtype);
}

Scalar rand_formula(PointwiseContext& c) {
  const Scalar zero = Scalar::constant_integer(DType::I64, 0);
  const loop::PhiloxScalars random = loop::philox(c.input(0), c.input(1) + Scalar::integer(c.element()), zero);
  if (c.output_dtype() == DType::F64) {
    return (high_bits(random.word[0], 27, DType::F64) * 0x1p26 + high_bits(random.word[1], 26, DType::F64)) * 0x1p-53;
  }
  const int bits = kept_bits(c.output_dtype());
  return high_bits(random.word[0], bits, DType::F32) * (kHalfToThe24 * static_cast<double>(1 << (24 - bits)));
}

void rand_reference(ir::ReferenceCall& call) {
  ir::Array& out = call.output();
  const std::uint64_t seed = static_cast<std::uint64_t>(call.input(0).integer(0));
  const std::uint64_t offset = static_cast<std::uint64_t>(call.input(1).integer(0));
  for (i64 i = 0; i < out.numel(); ++i) {
    const PhiloxWords random = philox4x32(seed, offset + static_cast<std::uint64_t>(i), 0);
    if (out.dtype == DType::F64) {
      out.set(i, (static_cast<double>(random.word[0] >> 5) * 0x1p26 + static_cast<double>(random.word[1] >> 6)) * 0x1p-53);
    } else {
      const int bits = kept_bits(out.dtype);
      out.set(i, static_cast<double>(random.word[0] >> (32 - bits)) / static_cast<double>(i64{1} << bits));
    }
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
  if (active_tracer() != nullptr) {
    throw UnsupportedError(
        "rand: a generator is read while tracing, so every run would draw the same numbers; use rand_at with seed and offset as arguments");
  }
  for (const Dim size : shape) {
    if (size.value() < 0) throw ShapeError(cat("rand: negative dimension ", size, ": shape is ", shape, "; sizes must be at least 0"));
  }
  if ((ir::kFloats & ir::bit(dtype)) == 0) refuse_dtype(dtype);  // before the generator moves
  Generator& stream = generator != nullptr ? *generator : default_generator();
  const i64 seed = stream.seed();
  return rand_at(shape, seed, stream.reserve(product(shape).value()), dtype);
}
Tensor rand(std::initializer_list<Dim> shape, DType dtype, Generator* generator) {
  return rand(std::span<const Dim>(shape.begin(), shape.size()), dtype, generator);
}

Tensor rand_at(std::span<const Dim> shape, Number seed, Number offset, DType dtype) {
  return apply_one(rand_op, {seed, offset}, FillAttrs{Shape(shape), dtype});
}

}  // namespace resilin
