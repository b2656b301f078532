// src/resilin/ops/random/dropout.h -- dropout: elements set to 0 at random.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"
#include "resilin/tensor/generator.h"

namespace resilin {

extern const OpTable kDropoutOps;

struct DropoutAttrs {
  Number p = 0.5;
  static constexpr auto fields() { return std::tuple{field("p", &DropoutAttrs::p, "Probability of an element to become 0, in [0, 1].")}; }
};

/// While training, each element is 0 with probability p and x / (1 - p) else; x itself otherwise, and for p = 0. The generator (of this thread, unless one
/// is given) moves on by one offset per element. No mask is kept: backward draws the same numbers again.
///
/// Shapes  [...] -> [...]; floats only
/// Errors  ArgumentError for a p outside [0, 1]; UnsupportedError while tracing, where `dropout_at` serves
RESILIN_API Tensor dropout(const Tensor& x, double p = 0.5, bool training = true, Generator* generator = nullptr);
/// The function behind it: element i is kept where number i of rand_at(seed, offset) in f32 is at least p.
RESILIN_API Tensor dropout_at(const Tensor& x, Number seed, Number offset, const DropoutAttrs& attrs);

}  // namespace resilin
