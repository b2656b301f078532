// src/resilin/ops/random/normal.h -- random numbers of the normal distribution: randn, normal_.
#pragma once

#include <initializer_list>
#include <span>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/registry.h"
#include "resilin/tensor/generator.h"

namespace resilin {

extern const OpTable kNormalOps;

/// Numbers of mean 0 and variance 1 from the generator (of this thread, unless one is given), which moves on by one offset per element.
///
/// Element i is sqrt(-2 log u) cos(2 pi v), Box and Muller's formula, of the words of Philox4x32-10 with key seed and counter offset + i, where offset
/// is the first one reserved. f32: u = 1 - (the high 24 bits of word 0) / 2^24 and v = (the high 24 bits of word 1, as a signed number) / 2^24, computed in
/// f32; f16 and bf16: the same numbers rounded. f64: u = 1 - (53 bits of words 0 and 1 as rand takes them), v = (those of words 2 and 3) - 1/2.
/// So no f32 lies beyond 5.8 and no f64 beyond 8.6.
/// DtypeError for dtypes that are no floats; UnsupportedError while tracing, where `randn_at` serves.
/// Source: Box and Muller, "A note on the generation of random normal deviates", 1958.
RESILIN_API Tensor randn(std::span<const Dim> shape, DType dtype = DType::F32, Generator* generator = nullptr);
RESILIN_API Tensor randn(std::initializer_list<Dim> shape, DType dtype = DType::F32, Generator* generator = nullptr);
/// The function behind it: the same numbers for the same seed and offset (integers).
RESILIN_API Tensor randn_at(std::span<const Dim> shape, Number seed, Number offset, DType dtype = DType::F32);
/// x filled with the numbers of randn times deviation, plus mean, each step rounded to x's dtype. Gives back x.
/// ArgumentError for a negative deviation; DtypeError; UnsupportedError while tracing.
RESILIN_API const Tensor& normal_(const Tensor& x, double mean = 0, double deviation = 1, Generator* generator = nullptr);

}  // namespace resilin
