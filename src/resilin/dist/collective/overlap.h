// src/resilin/dist/collective/overlap.h -- Internal: which tensors of a collective have memory in common.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resilin/tensor/tensor.h"

namespace resilin::dist {

/// True when some element of one is, in whole or in part, an element of the other. Concrete tensors, of any strides.
bool shares_elements(const Tensor& a, const Tensor& b);
/// Two of the list that do, by their places; nothing when all are apart.
std::optional<std::pair<std::size_t, std::size_t>> find_overlap(const std::vector<Tensor>& tensors);
/// "bytes 0 to 400 and 200 to 600", of where the first of them begins.
std::string print_ranges(const Tensor& a, const Tensor& b);

}  // namespace resilin::dist
