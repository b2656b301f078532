// src/resilin/tensor/layout.h -- strides of shapes: row-major strides, contiguity, extent in memory, overlap.
#pragma once

#include <optional>
#include <span>

#include "resilin/sym/dim.h"

namespace resilin {

using Strides = Shape;

/// Row-major strides in elements. Axes of size 0 or 1 get the stride they would have.
Strides contiguous_strides(std::span<const Dim> shape);
/// True for row-major order; axes of size 1 do not count, an empty tensor is contiguous.
bool is_contiguous(std::span<const Dim> shape, std::span<const Dim> strides);
/// True when no two positions share an element (concrete dims only; exact for any strides, bounded effort, "false" when it gives up).
bool is_non_overlapping(std::span<const Dim> shape, std::span<const Dim> strides);
/// One past the largest element offset reached; 0 for an empty tensor.
i64 extent(std::span<const Dim> shape, std::span<const Dim> strides);
/// Strides that show the same elements under a new shape, or nothing when a copy is needed (concrete dims; torch's view rule).
std::optional<Strides> reshape_strides(std::span<const Dim> shape, std::span<const Dim> strides, std::span<const Dim> new_shape);

}  // namespace resilin
