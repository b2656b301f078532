// src/resilin/dispatch/cast.h -- the two ops that apply itself inserts: cast for promotion, assign for writing into a destination.
#pragma once

#include "resilin/dispatch/apply.h"

namespace resilin {

struct CastAttrs {
  DType dtype = DType::F32;
  static constexpr auto fields() { return std::tuple{field("dtype", &CastAttrs::dtype, "Dtype of the result.")}; }
};
extern const ir::OpDef cast_op;
/// Inputs (destination, value): the value broadcast to the destination's shape and cast to its dtype; always applied with a destination.
extern const ir::OpDef assign_op;

/// x in another dtype. A tensor of that dtype already is given back as it is.
RESILIN_API Tensor cast(const Tensor& x, DType dtype);
/// destination[...] = value, broadcast and cast; gives back the destination.
RESILIN_API const Tensor& assign(const Tensor& destination, Input value);

}  // namespace resilin
