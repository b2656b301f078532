// tests/support/tensor.h -- tensors of given and of random values for tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "resilin/tensor/tensor.h"

namespace resilin::test {

/// A row-major tensor of the values.
template <class T>
Tensor make(std::initializer_list<std::type_identity_t<T>> values, std::initializer_list<Dim> shape) {
  return Tensor::of<T>({values.begin(), values.size()}, {shape.begin(), shape.size()});
}
/// A 1-d tensor of the values.
template <class T>
Tensor make(std::initializer_list<std::type_identity_t<T>> values) {
  return make<T>(values, {static_cast<i64>(values.size())});
}
/// A tensor of one value and no axes.
template <class T>
Tensor scalar(std::type_identity_t<T> value) {
  return Tensor::of<T>({&value, 1}, {});
}
/// A row-major tensor of values that are given as another type, for F16 and its kin.
template <class T, class From>
Tensor make_from(const std::vector<From>& values, std::initializer_list<Dim> shape) {
  const Tensor out = Tensor::allocate({shape.begin(), shape.size()}, kDTypeOf<T>);
  T* const data = out.data_as<T>();
  for (std::size_t i = 0; i < values.size(); ++i) data[i] = convert_element<T>(values[i]);
  return out;
}

/// Floats in [-2, 2), integers in [-100, 100] (unsigned: [0, 100]), booleans; the same for the same seed on every machine.
Tensor random(std::initializer_list<Dim> shape, DType dtype, std::uint64_t seed);
/// The elements in row-major order, whatever the strides.
std::vector<double> values_of(const Tensor& x);

}  // namespace resilin::test
