// src/resilin/ops/reduce/norm.h -- vector norms over axes.
#pragma once

#include <array>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/reduce/reduce.h"

namespace resilin {

extern const OpTable kNormOps;

/// Which formula a norm has: the number of elements that are not 0, the sum of magnitudes, ...
enum class NormKind : std::uint8_t { Count, Sum, Euclidean, Largest, Smallest, Power };
constexpr std::array<std::string_view, 6> enum_names(const NormKind*) {
  return {"count", "sum", "euclidean", "largest", "smallest", "power"};
}

struct NormAttrs {
  NormKind kind = NormKind::Euclidean;
  Number order = 2.0;
  SmallVector<i64, 5> axes;
  bool keepdim = false;
  static constexpr auto fields() {
    return std::tuple{field("kind", &NormAttrs::kind, "The formula."), field("order", &NormAttrs::order, "p of a power norm."),
                      field("axes", &NormAttrs::axes, "Axes to reduce; none: all."),
                      field("keepdim", &NormAttrs::keepdim, "Reduced axes stay with size 1.")};
  }
};

/// (sum |x|^p)^(1/p) over axes; for p = 0 the number of elements that are not 0, for infinity the largest, for -infinity the smallest magnitude.
///
/// Dtypes  f16 bf16 f32 f64 -> the same; f16 and bf16 are computed in f32 and rounded once
/// Errors  IndexError when a reduced axis is empty and p is negative or infinite; DtypeError; DataDependentError for a p that only a run knows
/// NaN wins. The gradient of an element that is 0 is 0; elements that share the largest (smallest) magnitude share its gradient equally.
RESILIN_API Tensor norm(const Tensor& x, Number p = 2.0, const ReduceAttrs& attrs = {});

}  // namespace resilin
