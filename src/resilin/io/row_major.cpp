// src/resilin/io/row_major.cpp -- the elements of a tensor of any layout as row-major bytes.
#include "resilin/io/row_major.h"

#include <cstring>

namespace resilin {
namespace {

/// Copies the elements below position `from` of the axes before `axis`; gives back where the next ones go.
std::byte* copy_axis(const Tensor& x, std::size_t axis, const std::byte* from, std::byte* to) {
  const i64 element_bytes = size_bytes(x.dtype());
  if (axis == x.shape().size()) {
    std::memcpy(to, from, static_cast<std::size_t>(element_bytes));
    return to + element_bytes;
  }
  const i64 count = x.shape()[axis].value(), step = x.strides()[axis].value() * element_bytes;
  if (axis + 1 == x.shape().size() && step == element_bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(count * element_bytes));
    return to + count * element_bytes;
  }
  for (i64 i = 0; i < count; ++i) to = copy_axis(x, axis + 1, from + i * step, to);
  return to;
}

}  // namespace

Tensor row_major(const Tensor& x) {
  if (x.is_contiguous()) return x;
  const Tensor out = Tensor::allocate(x.shape(), x.dtype());
  copy_axis(x, 0, static_cast<const std::byte*>(x.data()), static_cast<std::byte*>(out.data()));
  return out;
}

std::string_view bytes_of(const Tensor& x) {
  return {static_cast<const char*>(x.data()), static_cast<std::size_t>(x.numel().value() * size_bytes(x.dtype()))};
}

}  // namespace resilin
