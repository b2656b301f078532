// src/resilin/ops/random/stream.cpp -- Internal: what random ops share: numbers of a stream, and the offsets that a call takes.
#include "resilin/ops/random/stream.h"

#include "resilin/dispatch/trace.h"

namespace resilin::ops {

using loop::Scalar;

loop::PhiloxScalars random_words(ir::PointwiseContext& c, int seed) {
  return loop::philox(c.input(seed), c.input(seed + 1) + Scalar::integer(c.element()), Scalar::constant_integer(DType::I64, 0));
}
PhiloxWords random_words(std::uint64_t seed, std::uint64_t offset, i64 element) {
  return philox4x32(seed, offset + static_cast<std::uint64_t>(element), 0);
}

Scalar high_bits(const Scalar& word, int bits, DType dtype) {
  return loop::cast(Scalar::make(loop::Code::ShiftRightLogical, DType::I32, {word, Scalar::constant_integer(DType::I32, 32 - bits)}),
                    dtype);
}

Scalar unit(const Scalar& first, const Scalar& second, DType dtype, int bits) {
  if (dtype == DType::F64) return (high_bits(first, 27, DType::F64) * 0x1p26 + high_bits(second, 26, DType::F64)) * 0x1p-53;
  return high_bits(first, bits, DType::F32) * (0x1p-24 * static_cast<double>(1 << (24 - bits)));
}
double unit(std::uint32_t first, std::uint32_t second, DType dtype, int bits) {
  if (dtype == DType::F64) return (static_cast<double>(first >> 5) * 0x1p26 + static_cast<double>(second >> 6)) * 0x1p-53;
  return static_cast<double>(first >> (32 - bits)) / static_cast<double>(i64{1} << bits);
}

void require_stream(ir::InferContext& c, int seed) {
  for (const int input : {seed, seed + 1}) {
    if (!c.is_number(input) || c.dtype(input) != DType::I64) throw ArgumentError(cat(c.op(), ": seed and offset must be integers"));
  }
}

Draw draw(std::span<const Dim> shape, Generator* generator, std::string_view op, std::string_view traced) {
  if (active_tracer() != nullptr) {
    throw UnsupportedError(cat(op, ": a generator is read while tracing, so every run would draw the same numbers; use ", traced,
                               " with seed and offset as arguments"));
  }
  for (const Dim size : shape) {
    if (size.value() < 0) throw ShapeError(cat(op, ": negative dimension ", size, ": shape is ", shape, "; sizes must be at least 0"));
  }
  Generator& stream = generator != nullptr ? *generator : default_generator();
  const i64 seed = stream.seed();
  return {seed, stream.reserve(product(shape).value())};
}

}  // namespace resilin::ops
