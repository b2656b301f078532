// tests/support/tensor.cpp -- random tensors by Philox, and elements in row-major order.
#include "tests/support/tensor.h"

#include "resilin/tensor/generator.h"

namespace resilin::test {
namespace {

template <class T>
T random_element(std::uint32_t word) {
  if constexpr (std::is_same_v<T, bool>) {
    return (word & 1) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::is_signed_v<T> ? static_cast<i64>(word % 201) - 100 : static_cast<i64>(word % 101));
  } else {
    return convert_element<T>(static_cast<double>(word) * 0x1p-30 - 2.0);
  }
}

void append_values(const Tensor& x, i64 axis, i64 offset, std::vector<double>& out) {
  if (axis == x.ndim()) {
    const std::vector<Dim> none;
    out.push_back(Tensor::unchecked_view(x.storage(), x.dtype(), offset, none, none).item<double>());
    return;
  }
  for (i64 i = 0; i < x.size(axis).value(); ++i) append_values(x, axis + 1, offset + i * x.stride(axis).value(), out);
}

}  // namespace

Tensor random(std::initializer_list<Dim> shape, DType dtype, std::uint64_t seed) {
  const Tensor out = Tensor::allocate({shape.begin(), shape.size()}, dtype);
  const i64 count = out.numel().value();
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (i64 i = 0; i < count; ++i) out.data_as<T>()[i] = random_element<T>(philox4x32(seed, static_cast<std::uint64_t>(i), 0).word[0]);
  });
  return out;
}

std::vector<double> values_of(const Tensor& x) {
  std::vector<double> out;
  append_values(x, 0, x.offset(), out);
  return out;
}

}  // namespace resilin::test
