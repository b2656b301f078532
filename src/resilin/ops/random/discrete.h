// src/resilin/ops/random/discrete.h -- random integers and coins: randint, bernoulli, bernoulli_.
#pragma once

#include <initializer_list>
#include <span>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/registry.h"
#include "resilin/tensor/generator.h"

namespace resilin {

extern const OpTable kDiscreteOps;

/// Integers in [low, high) from the generator (of this thread, unless one is given), which moves on by one offset per element.
///
/// Element i is low + r mod (high - low), where r are the high 63 bits of words 1 and 0 (the high and the low half) of Philox4x32-10 with key seed and counter
/// offset + i. Dtypes  i64 i32 u8 and floats
/// Errors  ArgumentError unless low < high and both ends fit the dtype; DtypeError; UnsupportedError while tracing, where `randint_at` serves
RESILIN_API Tensor randint(i64 low, i64 high, std::span<const Dim> shape, DType dtype = DType::I64, Generator* generator = nullptr);
RESILIN_API Tensor randint(i64 low, i64 high, std::initializer_list<Dim> shape, DType dtype = DType::I64, Generator* generator = nullptr);

struct RandomRange {
  Number low = 0;
  Number high = 1;
};
/// The function behind it: the same numbers for the same seed and offset (integers). Ends that only a run knows are not checked.
RESILIN_API Tensor randint_at(RandomRange range, std::span<const Dim> shape, Number seed, Number offset, DType dtype = DType::I64);

/// 1 with the probability that p holds for an element, else 0: [...] -> [...] of p's dtype. Element i is 1 where the number that rand draws (of f32, for an
/// f64 p of f64) is less than p. p is not checked: below 0 or NaN gives 0, above 1 gives 1. DtypeError unless p is of floats.
RESILIN_API Tensor bernoulli(const Tensor& p, Generator* generator = nullptr);
/// The function behind it, for p a number or a tensor that broadcasts to the shape. Dtypes of the result: any of floats, integers and Bool.
RESILIN_API Tensor bernoulli_at(Input p, std::span<const Dim> shape, Number seed, Number offset, DType dtype = DType::F32);
/// x filled with such numbers; p is a number in [0, 1], else ArgumentError, or a tensor that broadcasts to x. Gives back x.
RESILIN_API const Tensor& bernoulli_(const Tensor& x, Input p = 0.5, Generator* generator = nullptr);

}  // namespace resilin
