// src/resilin/ops/random/uniform.h -- uniform random numbers: rand, uniform_.
#pragma once

#include <initializer_list>
#include <span>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/registry.h"
#include "resilin/tensor/generator.h"

namespace resilin {

extern const OpTable kUniformOps;

/// Uniform numbers in [0, 1) from the generator (of this thread, unless one is given), which moves on by one offset per element.
///
/// Element i is made of the words of Philox4x32-10 with key seed and counter offset + i, where offset is the first one reserved:
/// f32: the high 24 bits of word 0; bf16 and f16: its high 8 and 11 bits; f64: the high 27 bits of word 0, then the high 26 bits of word 1. So a result
/// is exact in its dtype, below 1, and the f16 and bf16 streams are the f32 stream cut short.
/// DtypeError for dtypes that are no floats; UnsupportedError while tracing, where `rand_at` serves.
RESILIN_API Tensor rand(std::span<const Dim> shape, DType dtype = DType::F32, Generator* generator = nullptr);
RESILIN_API Tensor rand(std::initializer_list<Dim> shape, DType dtype = DType::F32, Generator* generator = nullptr);
/// The function behind it: the same numbers for the same seed and offset (integers).
RESILIN_API Tensor rand_at(std::span<const Dim> shape, Number seed, Number offset, DType dtype = DType::F32);
/// x filled with numbers in [low, high]: those of rand times high - low, plus low, each step rounded to x's dtype. Gives back x.
/// ArgumentError where low > high; DtypeError; UnsupportedError while tracing.
RESILIN_API const Tensor& uniform_(const Tensor& x, double low = 0, double high = 1, Generator* generator = nullptr);

}  // namespace resilin
