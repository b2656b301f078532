// src/resilin/dispatch/promote.h -- Internal: the dtype to which apply brings the inputs of an op.
#pragma once

#include <optional>
#include <span>

#include "resilin/ir/op.h"

namespace resilin {

/// What promotion looks at: nothing for an absent input; numbers and 0-d tensors count by category only.
struct PromotionInput {
  bool is_present = false;
  bool is_number = false;
  NumberKind kind = NumberKind::Float;
  DType dtype = DType::F32;
  i64 ndim = 0;
};

/// The common dtype of the promoted inputs, or nothing when the op takes them as they are.
/// DtypeError when the op does not accept it, or when inputs that must agree (Promotion::First) do not.
std::optional<DType> promoted_dtype(const ir::OpDef& op, std::span<const PromotionInput> inputs);

/// PyTorch's rule for results written in place: the category may not fall (float -> integer -> Bool). DtypeError with torch's words.
void check_castable(std::string_view op, DType from, DType to);

}  // namespace resilin
