// tests/support/array.h -- plain arrays of numbers as tensors of any layout, and back; tensors compared bit for bit.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/ir/reference.h"
#include "resilin/tensor/tensor.h"

namespace resilin::test {

/// How the elements of a tensor lie in memory.
enum class LayoutKind : std::uint8_t {
  RowMajor,
  Transposed,  // axes in the opposite order
  Strided,     // every second element of a larger buffer
  Padded,      // rows with a gap behind each
  Offset,      // row-major, but starting at element 1 or 3 of the buffer
  Broadcast    // one axis has stride 0
};
constexpr std::array<std::string_view, 6> enum_names(const LayoutKind*) {
  return {"row_major", "transposed", "strided", "padded", "offset", "broadcast"};
}

/// Strides and start of a tensor in a buffer that ends with its last element.
struct Placement {
  std::vector<i64> strides;
  i64 offset = 0;
  int repeated_axis = -1;  // of a broadcast layout
};
/// Nothing where the kind is no other layout than row-major for this shape. `choice` picks the axis or the offset.
std::optional<Placement> place(std::span<const i64> shape, LayoutKind kind, std::uint64_t choice);

/// Calls visit(row-major position, offset in elements) for every element.
void for_each_element(std::span<const i64> shape, std::span<const i64> strides, i64 offset, const std::function<void(i64, i64)>& visit);
std::vector<i64> sizes_of(std::span<const Dim> dims);
Shape shape_of(std::span<const i64> sizes);

/// A value as an element of the floating `dtype` holds it.
double rounded(DType dtype, double value);
/// The array in another dtype, by the engine's rules for casts.
ir::Array cast_array(const ir::Array& x, DType dtype);

/// A tensor of the array's elements; of a broadcast placement the first element along the repeated axis counts.
Tensor to_tensor(const ir::Array& x, const Placement& placement);
Tensor to_tensor(const ir::Array& x);
ir::Array to_array(const Tensor& x);
/// The same layout in fresh memory, gaps included.
Tensor copy_storage(const Tensor& x);

/// Where two tensors first differ in dtype, shape or the bits of an element (all NaN are one value); nothing when they do not.
std::optional<std::string> bit_difference(const Tensor& a, const Tensor& b);
/// A hash of dtype, shape and elements that is equal where bit_difference finds none.
std::uint64_t hash_elements(const Tensor& x, std::uint64_t seed);
/// The bytes of a tensor's storage that belong to none of its elements are the same in both, which have one layout.
bool equal_outside(const Tensor& a, const Tensor& b);

}  // namespace resilin::test
