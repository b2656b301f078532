// tests/support/array.cpp -- plain arrays of numbers as tensors of any layout, and back; tensors compared bit for bit.
#include "tests/support/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "resilin/base/hash.h"

namespace resilin::test {
namespace {

std::vector<i64> row_major_strides(std::span<const i64> shape) {
  std::vector<i64> strides(shape.size());
  i64 next = 1;
  for (std::size_t a = shape.size(); a-- > 0;) {
    strides[a] = next;
    next *= std::max<i64>(shape[a], 1);
  }
  return strides;
}

i64 axes_beyond_one(std::span<const i64> shape) {
  return std::count_if(shape.begin(), shape.end(), [](i64 size) { return size > 1; });
}

i64 numel_of(std::span<const i64> shape) {
  i64 count = 1;
  for (const i64 size : shape) count *= size;
  return count;
}

// Elements from the first one to one past the last.
i64 reach(std::span<const i64> shape, std::span<const i64> strides) {
  if (numel_of(shape) == 0) return 0;
  i64 last = 0;
  for (std::size_t a = 0; a < shape.size(); ++a) last += (shape[a] - 1) * strides[a];
  return last + 1;
}

std::vector<i64> transposed_strides(std::span<const i64> shape) {
  std::vector<i64> strides(shape.size());
  i64 next = 1;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    strides[a] = next;
    next *= std::max<i64>(shape[a], 1);
  }
  return strides;
}

int nth_axis_beyond_one(std::span<const i64> shape, i64 n) {
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (shape[a] > 1 && n-- == 0) return static_cast<int>(a);
  }
  return -1;
}

std::string element_text(const Tensor& x, i64 offset) {
  return visit_dtype(x.dtype(), [&](auto zero) {
    std::memcpy(&zero, static_cast<const std::byte*>(x.storage().data()) + offset * size_bytes(x.dtype()), sizeof zero);
    if constexpr (std::is_integral_v<decltype(zero)>) {
      return cat(static_cast<i64>(zero));
    } else {
      return cat(static_cast<double>(zero));
    }
  });
}

bool same_element(DType dtype, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, static_cast<std::size_t>(size_bytes(dtype))) == 0) return true;
  if (!is_floating(dtype)) return false;
  return visit_dtype(dtype, [&](auto x) {
    decltype(x) y{};
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    return std::isnan(static_cast<double>(x)) && std::isnan(static_cast<double>(y));
  });
}

}  // namespace

std::optional<Placement> place(std::span<const i64> shape, LayoutKind kind, std::uint64_t choice) {
  Placement placement{row_major_strides(shape), 0, -1};
  const i64 axes = axes_beyond_one(shape);
  const bool is_empty = numel_of(shape) == 0;
  switch (kind) {
    case LayoutKind::RowMajor: return placement;
    case LayoutKind::Transposed:
      if (axes < 2) return std::nullopt;
      placement.strides = transposed_strides(shape);
      return placement;
    case LayoutKind::Strided:
      if (axes == 0 || is_empty) return std::nullopt;
      for (i64& stride : placement.strides) stride *= 2;
      return placement;
    case LayoutKind::Padded:
      if (axes < 2 || is_empty) return std::nullopt;
      for (std::size_t a = 0; a + 1 < shape.size(); ++a) placement.strides[a] = placement.strides[a] / shape.back() * (shape.back() + 3);
      return placement;
    case LayoutKind::Offset:
      if (is_empty) return std::nullopt;
      placement.offset = choice % 2 == 0 ? 1 : 3;
      return placement;
    case LayoutKind::Broadcast:
      if (axes == 0 || is_empty) return std::nullopt;
      placement.repeated_axis = nth_axis_beyond_one(shape, static_cast<i64>(choice % static_cast<std::uint64_t>(axes)));
      std::vector<i64> source(shape.begin(), shape.end());
      source[static_cast<std::size_t>(placement.repeated_axis)] = 1;
      placement.strides = row_major_strides(source);
      placement.strides[static_cast<std::size_t>(placement.repeated_axis)] = 0;
      return placement;
  }
  return std::nullopt;
}

void for_each_element(std::span<const i64> shape, std::span<const i64> strides, i64 offset, const std::function<void(i64, i64)>& visit) {
  std::vector<i64> index(shape.size(), 0);
  const i64 count = numel_of(shape);
  for (i64 i = 0; i < count; ++i) {
    visit(i, offset);
    for (std::size_t a = shape.size(); a-- > 0;) {
      offset += strides[a];
      if (++index[a] < shape[a]) break;
      offset -= strides[a] * shape[a];
      index[a] = 0;
    }
  }
}

std::vector<i64> sizes_of(std::span<const Dim> dims) {
  std::vector<i64> sizes;
  for (const Dim d : dims) sizes.push_back(d.value());
  return sizes;
}
Shape shape_of(std::span<const i64> sizes) {
  Shape shape;
  for (const i64 size : sizes) shape.push_back(size);
  return shape;
}

double rounded(DType dtype, double value) {
  return visit_dtype(dtype, [&](auto zero) -> double {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, double>) {
      return value;
    } else if constexpr (std::is_integral_v<T>) {
      return std::trunc(value);
    } else {
      return static_cast<double>(T(static_cast<float>(value)));
    }
  });
}

ir::Array cast_array(const ir::Array& x, DType dtype) {
  if (x.dtype == dtype) return x;
  ir::Array out = ir::Array::zeros(dtype, x.shape);
  for (i64 i = 0; i < x.numel(); ++i) {
    if (out.is_real()) {
      const bool is_single_step = !x.is_real() && dtype == DType::F32;  // i64 to f32 rounds once
      out.set(i, is_single_step ? static_cast<double>(static_cast<float>(x.integer(i))) : rounded(dtype, x.real(i)));
    } else if (x.is_real()) {
      out.set(i, x.real(i));
    } else {
      out.set_integer(i, x.integer(i));
    }
  }
  return out;
}

Tensor to_tensor(const ir::Array& x, const Placement& placement) {
  const i64 elements = placement.offset + reach(x.shape, placement.strides);
  const Tensor out = Tensor::view(Storage::allocate(elements * size_bytes(x.dtype)), x.dtype, placement.offset, shape_of(x.shape),
                                  shape_of(placement.strides));
  visit_dtype(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* const data = static_cast<T*>(out.storage().data());
    for_each_element(x.shape, placement.strides, placement.offset, [&](i64 i, i64 at) {
      const std::size_t position = static_cast<std::size_t>(i);
      if constexpr (std::is_same_v<T, bool>) {
        data[at] = x.integers[position] != 0;
      } else if constexpr (std::is_integral_v<T>) {
        data[at] = static_cast<T>(x.integers[position]);
      } else if constexpr (std::is_same_v<T, double>) {
        data[at] = x.reals[position];
      } else {
        data[at] = T(static_cast<float>(x.reals[position]));
      }
    });
  });
  return out;
}
Tensor to_tensor(const ir::Array& x) { return to_tensor(x, *place(x.shape, LayoutKind::RowMajor, 0)); }

ir::Array to_array(const Tensor& x) {
  ir::Array out = ir::Array::zeros(x.dtype(), sizes_of(x.shape()));
  const std::vector<i64> strides = sizes_of(x.strides());
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* const data = out.numel() == 0 ? nullptr : static_cast<const T*>(x.storage().data());
    for_each_element(out.shape, strides, x.offset(), [&](i64 i, i64 at) {
      if constexpr (std::is_integral_v<T>) {
        out.integers[static_cast<std::size_t>(i)] = static_cast<i64>(data[at]);
      } else {
        out.reals[static_cast<std::size_t>(i)] = static_cast<double>(data[at]);
      }
    });
  });
  return out;
}

Tensor copy_storage(const Tensor& x) {
  const i64 bytes = x.storage().size_bytes();
  const Storage storage = Storage::allocate(bytes);
  if (bytes > 0) std::memcpy(storage.data(), x.storage().data(), static_cast<std::size_t>(bytes));
  return Tensor::view(storage, x.dtype(), x.offset(), x.shape(), x.strides());
}

std::optional<std::string> bit_difference(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype()) return cat("dtypes ", a.dtype(), " and ", b.dtype());
  if (!(a.shape() == b.shape())) return cat("shapes ", a.shape(), " and ", b.shape());
  const std::vector<i64> shape = sizes_of(a.shape());
  std::vector<i64> offsets;
  for_each_element(shape, sizes_of(a.strides()), a.offset(), [&](i64, i64 at) { offsets.push_back(at); });
  const i64 width = size_bytes(a.dtype());
  i64 count = 0;
  std::string first;
  for_each_element(shape, sizes_of(b.strides()), b.offset(), [&](i64 i, i64 at) {
    const i64 from = offsets[static_cast<std::size_t>(i)];
    const std::byte* const left = static_cast<const std::byte*>(a.storage().data()) + from * width;
    if (same_element(a.dtype(), left, static_cast<const std::byte*>(b.storage().data()) + at * width)) return;
    if (count++ == 0)
      first =
          cat("element ", ir::unravel(i, shape), " of ", a.dtype(), a.shape(), ": ", element_text(a, from), " and ", element_text(b, at));
  });
  if (count == 0) return std::nullopt;
  return cat(first, ", ", count, " of ", offsets.size(), " differ");
}

std::uint64_t hash_elements(const Tensor& x, std::uint64_t seed) {
  const std::vector<i64> shape = sizes_of(x.shape());
  seed = hash_text(cat(x.dtype(), x.shape()), seed);
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* const data = x.numel() == 0 ? nullptr : static_cast<const T*>(x.storage().data());
    for_each_element(shape, sizes_of(x.strides()), x.offset(), [&](i64, i64 at) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, data + at, sizeof(T));
      if (is_floating(x.dtype()) && std::isnan(static_cast<double>(data[at]))) bits = ~std::uint64_t{0};
      seed = hash_mix(seed, bits);
    });
  });
  return seed;
}

bool equal_outside(const Tensor& a, const Tensor& b) {
  const i64 width = size_bytes(a.dtype());
  std::vector<bool> is_element(static_cast<std::size_t>(a.storage().size_bytes()), false);
  for_each_element(sizes_of(a.shape()), sizes_of(a.strides()), a.offset(), [&](i64, i64 at) {
    for (i64 k = 0; k < width; ++k) is_element[static_cast<std::size_t>(at * width + k)] = true;
  });
  const std::byte* const left = static_cast<const std::byte*>(a.storage().data());
  const std::byte* const right = static_cast<const std::byte*>(b.storage().data());
  for (std::size_t i = 0; i < is_element.size(); ++i) {
    if (!is_element[i] && left[i] != right[i]) return false;
  }
  return true;
}

}  // namespace resilin::test
