// src/resilin/ops/join/cat.h -- tensors put one after another: cat and stack.
#pragma once

#include <concepts>
#include <initializer_list>
#include <ranges>
#include <span>

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kCatOps;

template <std::ranges::range T>
  requires std::same_as<std::ranges::range_value_t<T>, Tensor>
inline constexpr bool kJoinedAsTensors<T> = true;

struct CatAttrs {
  i64 axis = 0;
  static constexpr auto fields() { return std::tuple{field("axis", &CatAttrs::axis, "Axis along which the tensors follow each other.")}; }
};

/// The tensors one after another along an axis: all sizes but that one agree. One kernel for any number of tensors; a row-major copy.
///
/// Dtypes  PyTorch's promotion of all tensors
/// Errors  ShapeError for other sizes or numbers of axes and for 0-d tensors; ArgumentError for an empty list; IndexError for the axis
/// As in PyTorch a tensor of shape [0] may stand anywhere in the list and counts for the dtype only.
RESILIN_API Tensor cat(std::span<const Tensor> tensors, i64 axis = 0);
RESILIN_API Tensor cat(std::initializer_list<Tensor> tensors, i64 axis = 0);
/// The same along a new axis; all shapes are equal.
RESILIN_API Tensor stack(std::span<const Tensor> tensors, i64 axis = 0);
RESILIN_API Tensor stack(std::initializer_list<Tensor> tensors, i64 axis = 0);

}  // namespace resilin
