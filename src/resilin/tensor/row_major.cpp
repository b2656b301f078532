// src/resilin/tensor/row_major.cpp -- the elements of a tensor of any layout as row-major bytes.
#include "resilin/tensor/row_major.h"

#include <cstring>

namespace resilin {
namespace {

enum class Way { Gather, Scatter };

/// Copies between the elements below position `strided` of the axes before `axis` and row-major bytes; gives back where the next ones lie.
template <Way kWay>
std::byte* copy_axis(const Tensor& x, std::size_t axis, std::byte* strided, std::byte* packed) {
  const i64 element_bytes = size_bytes(x.dtype());
  const auto copy = [&](i64 bytes) {
    const bool gathers = kWay == Way::Gather;
    std::memcpy(gathers ? packed : strided, gathers ? strided : packed, static_cast<std::size_t>(bytes));
    return packed + bytes;
  };
  if (axis == x.shape().size()) return copy(element_bytes);
  const i64 count = x.shape()[axis].value(), step = x.strides()[axis].value() * element_bytes;
  if (axis + 1 == x.shape().size() && step == element_bytes) return copy(count * element_bytes);
  for (i64 i = 0; i < count; ++i) packed = copy_axis<kWay>(x, axis + 1, strided + i * step, packed);
  return packed;
}

}  // namespace

Tensor row_major(const Tensor& x) {
  if (x.is_contiguous()) return x;
  const Tensor out = Tensor::allocate(x.shape(), x.dtype());
  copy_axis<Way::Gather>(x, 0, static_cast<std::byte*>(x.data()), static_cast<std::byte*>(out.data()));
  return out;
}

void assign_row_major(const Tensor& x, std::string_view bytes) {
  RESILIN_ASSERT(static_cast<i64>(bytes.size()) == x.numel().value() * size_bytes(x.dtype()), "bytes of another number of elements");
  if (bytes.empty()) return;
  copy_axis<Way::Scatter>(x, 0, static_cast<std::byte*>(x.data()), reinterpret_cast<std::byte*>(const_cast<char*>(bytes.data())));
}

std::string_view bytes_of(const Tensor& x) {
  return {static_cast<const char*>(x.data()), static_cast<std::size_t>(x.numel().value() * size_bytes(x.dtype()))};
}

}  // namespace resilin
