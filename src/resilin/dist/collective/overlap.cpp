// src/resilin/dist/collective/overlap.cpp -- memory that tensors have in common: by their extents, and element by element where strides leave gaps.
#include "resilin/dist/collective/overlap.h"

#include <algorithm>
#include <cstdint>

#include "resilin/base/text.h"
#include "resilin/tensor/layout.h"

namespace resilin::dist {
namespace {

struct Extent {
  std::uintptr_t begin = 0, end = 0;  // equal when there are no elements
};

Extent extent_of(const Tensor& x) {
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(x.data());
  return {begin, begin + static_cast<std::uintptr_t>(extent(x.shape(), x.strides())) * static_cast<std::uintptr_t>(size_bytes(x.dtype()))};
}

bool meet(const Extent& a, const Extent& b) { return a.begin < b.end && b.begin < a.end; }

/// Where each element begins, in order.
std::vector<std::uintptr_t> element_addresses(const Tensor& x) {
  const std::uintptr_t bytes = static_cast<std::uintptr_t>(size_bytes(x.dtype()));
  std::vector<std::uintptr_t> addresses{reinterpret_cast<std::uintptr_t>(x.data())};
  for (i64 axis = 0; axis < x.ndim(); ++axis) {
    const std::uintptr_t step = static_cast<std::uintptr_t>(x.stride(axis).value()) * bytes;
    const std::size_t known = addresses.size();
    for (std::uintptr_t i = 1; i < static_cast<std::uintptr_t>(x.size(axis).value()); ++i) {
      for (std::size_t k = 0; k < known; ++k) addresses.push_back(addresses[k] + i * step);
    }
  }
  std::ranges::sort(addresses);
  return addresses;
}

}  // namespace

bool shares_elements(const Tensor& a, const Tensor& b) {
  if (!meet(extent_of(a), extent_of(b))) return false;
  if (a.is_contiguous() && b.is_contiguous()) return true;
  const std::vector<std::uintptr_t> mine = element_addresses(a), theirs = element_addresses(b);
  const std::uintptr_t my_bytes = static_cast<std::uintptr_t>(size_bytes(a.dtype()));
  const std::uintptr_t their_bytes = static_cast<std::uintptr_t>(size_bytes(b.dtype()));
  for (std::size_t i = 0, k = 0; i < mine.size() && k < theirs.size();) {
    if (mine[i] + my_bytes <= theirs[k]) {
      ++i;
    } else if (theirs[k] + their_bytes <= mine[i]) {
      ++k;
    } else {
      return true;
    }
  }
  return false;
}

std::optional<std::pair<std::size_t, std::size_t>> find_overlap(const std::vector<Tensor>& tensors) {
  std::vector<std::pair<Extent, std::size_t>> order;
  for (std::size_t i = 0; i < tensors.size(); ++i) order.emplace_back(extent_of(tensors[i]), i);
  std::ranges::sort(order, {}, [](const auto& one) { return one.first.begin; });
  std::vector<std::pair<Extent, std::size_t>> open;  // that end later than the last one began
  for (const auto& one : order) {
    std::erase_if(open, [&](const auto& other) { return other.first.end <= one.first.begin; });
    for (const auto& other : open) {
      if (shares_elements(tensors[one.second], tensors[other.second])) return std::minmax(one.second, other.second);
    }
    open.push_back(one);
  }
  return std::nullopt;
}

std::string print_ranges(const Tensor& a, const Tensor& b) {
  const Extent x = extent_of(a), y = extent_of(b);
  const std::uintptr_t first = std::min(x.begin, y.begin);
  return cat("bytes ", x.begin - first, " to ", x.end - first, " and ", y.begin - first, " to ", y.end - first);
}

}  // namespace resilin::dist
