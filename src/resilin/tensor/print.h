// src/resilin/tensor/print.h -- a tensor as PyTorch prints it.
#pragma once

#include <iosfwd>
#include <string>

#include "resilin/tensor/tensor.h"

namespace resilin {

/// torch's print options with torch's defaults.
struct PrintOptions {
  i64 precision = 4;
  i64 threshold = 1000;  // more elements than this are summarised
  i64 edge_items = 3;
  i64 line_width = 80;
};
/// The text of print(x) in PyTorch: common width, scientific mode rules, summary dots, dtype suffix when it is not the default one.
RESILIN_API std::string to_string(const Tensor& x, const PrintOptions& options = {});
RESILIN_API std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace resilin
