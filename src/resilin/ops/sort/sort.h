// src/resilin/ops/sort/sort.h -- sorting along an axis.
#pragma once

#include "resilin/dispatch/apply.h"
#include "resilin/ops/registry.h"

namespace resilin {

extern const OpTable kSortOps;

struct SortAttrs {
  i64 axis = -1;
  bool descending = false;
  static constexpr auto fields() {
    return std::tuple{field("axis", &SortAttrs::axis, "Axis to sort along."),
                      field("descending", &SortAttrs::descending, "Largest first.")};
  }
};

struct Sorted {
  Tensor values;
  Tensor indices;  // i64: where in x each value stood
};

/// The elements in ascending (descending) order along an axis, and where they came from. Equal elements keep their order, in both directions; NaN counts
/// as larger than everything; -0 equals 0. [...] -> [...], i64 [...]. IndexError for an axis out of range.
/// Cost  linear: a radix sort with one pass per byte of the dtype that varies; rows run in parallel
RESILIN_API Sorted sort(const Tensor& x, const SortAttrs& attrs = {});

}  // namespace resilin
