// src/resilin/ops/random/stream.h -- Internal: what random ops share: numbers of a stream, and the offsets that a call takes.
#pragma once

#include <span>
#include <string_view>

#include "resilin/ir/infer.h"
#include "resilin/ir/lowering.h"
#include "resilin/loop/math.h"
#include "resilin/tensor/generator.h"

namespace resilin::ops {

/// The words of Philox4x32-10 for key `seed` and counter offset + element, where inputs `seed` and seed + 1 of the op are seed and offset.
loop::PhiloxScalars random_words(ir::PointwiseContext& c, int seed);
PhiloxWords random_words(std::uint64_t seed, std::uint64_t offset, i64 element);
/// The high `bits` bits of an i32 word as a number >= 0 of the dtype.
loop::Scalar high_bits(const loop::Scalar& word, int bits, DType dtype);
/// A number in [0, 1) of 53 bits of two words for F64, else of the high `bits` bits of the first, in F32.
loop::Scalar unit(const loop::Scalar& first, const loop::Scalar& second, DType dtype, int bits = 24);
double unit(std::uint32_t first, std::uint32_t second, DType dtype, int bits = 24);

/// ArgumentError unless inputs `seed` and seed + 1 are integers.
void require_stream(ir::InferContext& c, int seed);
/// Where a call finds its numbers.
struct Draw {
  Number seed;
  Number offset;
};
/// Takes one offset for each element from the generator (this thread's when there is none given). ShapeError for negative sizes, UnsupportedError while
/// tracing, where the function `traced` serves.
Draw draw(std::span<const Dim> shape, Generator* generator, std::string_view op, std::string_view traced);

}  // namespace resilin::ops
