// src/resilin/ops/size_rule.h -- Internal: sizes that an attribute gives are at least 0, and one size at most another.
#pragma once

#include <span>
#include <string_view>

#include "resilin/ir/infer.h"

namespace resilin::ops {

/// ShapeError for a negative size; a run-time check for one that is not known.
void require_sizes(ir::InferContext& c, std::span<const Dim> shape);
/// a <= b: a fact from here on, and a run-time check where it is not known. `what` describes the two in a ShapeError.
void require_less_equal(ir::InferContext& c, Dim a, Dim b, std::string_view what);

}  // namespace resilin::ops
