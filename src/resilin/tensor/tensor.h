// src/resilin/tensor/tensor.h -- Tensor: a counted handle on a strided view of a storage.
#pragma once

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "resilin/base/error.h"
#include "resilin/sym/dim.h"
#include "resilin/tensor/device.h"
#include "resilin/tensor/dtype.h"
#include "resilin/tensor/extension.h"
#include "resilin/tensor/layout.h"
#include "resilin/tensor/storage.h"

namespace resilin {

/// Internal: what a Tensor points to. A traced tensor has symbolic dims and no storage.
struct TensorBody {
  std::atomic<i64> references{1};
  DType dtype = DType::F32;
  i64 offset = 0;  // of the first element, in elements
  Shape shape;
  Strides strides;  // in elements, >= 0
  Storage storage;
  std::unique_ptr<Extension> traced;  // set by dispatch
  std::unique_ptr<Extension> grad;    // set by autograd
};

/// An n-dimensional array of one dtype: a cheap counted handle; copies share the elements. Operators and ops are free functions found by ADL.
class RESILIN_API Tensor {
 public:
  Tensor() = default;  // undefined: defined() is false, every other query throws ArgumentError
  /// Row-major, uninitialised. Dims must be constants >= 0.
  static Tensor allocate(std::span<const Dim> shape, DType dtype);
  /// Another view of `storage`; checks that every element lies inside it (ShapeError).
  static Tensor view(Storage storage, DType dtype, i64 offset, std::span<const Dim> shape, std::span<const Dim> strides);
  /// Internal: as `view`, but trusts the caller (the planner proved it).
  static Tensor unchecked_view(const Storage& storage, DType dtype, i64 offset, std::span<const Dim> shape, std::span<const Dim> strides);
  /// Internal: a tensor without storage whose dims may be symbols; `traced` says what it stands for.
  static Tensor symbolic(std::span<const Dim> shape, DType dtype, std::unique_ptr<Extension> traced);
  /// A 0-d or 1-d or nested row-major tensor of the values.
  template <class T>
  static Tensor of(std::span<const T> values, std::span<const Dim> shape);

  Tensor(const Tensor& other) noexcept : body_(other.body_) {
    if (body_ != nullptr) body_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Tensor() {
    if (body_ != nullptr) release(body_);
  }

  bool defined() const { return body_ != nullptr; }
  DType dtype() const { return body().dtype; }
  Device device() const { return kCpu; }
  i64 ndim() const { return static_cast<i64>(body().shape.size()); }
  const Shape& shape() const { return body().shape; }
  const Strides& strides() const { return body().strides; }
  /// Axis may be negative; IndexError with torch's words outside [-ndim, ndim).
  Dim size(i64 axis) const;
  Dim stride(i64 axis) const;
  Dim numel() const { return product(body().shape); }
  i64 offset() const { return body().offset; }
  bool is_contiguous() const;
  const Storage& storage() const { return body().storage; }
  /// Steps with every write to the storage; 0 for a traced tensor.
  i64 version() const { return body().storage.defined() ? body().storage.version() : 0; }
  bool is_traced() const { return body().traced != nullptr; }

  /// Address of the first element; null for an empty tensor.
  void* data() const;
  template <class T>
  T* data_as() const {
    check_dtype(kDTypeOf<T>);
    return static_cast<T*>(data());
  }
  /// The one element of a tensor with one element, converted to T; else ArgumentError with torch's words.
  template <class T>
  T item() const;

  bool is_same(const Tensor& other) const { return body_ == other.body_; }
  TensorBody& body() const { return body_ != nullptr ? *body_ : refuse_undefined(); }

 private:
  explicit Tensor(TensorBody* body) : body_(body) {}
  /// Gives one reference back and frees with the last.
  static void release(TensorBody* body) noexcept;
  /// Throws unless there is exactly one element, whose address it gives.
  const void* only_element() const;
  void check_dtype(DType dtype) const;
  [[noreturn]] static TensorBody& refuse_undefined();
  TensorBody* body_ = nullptr;
};

/// True when the two may share an element (exact when both are dense intervals; else by storage and extent).
RESILIN_API bool may_overlap(const Tensor& a, const Tensor& b);
/// Internal: both are the same elements in the same order.
bool is_same_view(const Tensor& a, const Tensor& b);
/// Normalises a negative axis; IndexError: "Dimension out of range (expected to be in range of [-2, 1], but got 2)", after "<what>: " unless
/// `what` is empty. A 0-d shape has no axis.
RESILIN_API i64 normalize_axis(i64 axis, i64 ndim, std::string_view what);

/// Internal: true when the whole part of a number of type From is a number of the integer type T; false for NaN.
template <class T, class From>
constexpr bool fits_integer(From value) {
  if constexpr (std::is_floating_point_v<From>) {
    constexpr From kLow = static_cast<From>(std::numeric_limits<T>::min());
    constexpr From kHigh = static_cast<From>(std::numeric_limits<T>::max() / 2 + 1) * 2;  // a power of two, hence exact
    return std::trunc(value) >= kLow && std::trunc(value) < kHigh;
  } else if constexpr (std::is_same_v<From, bool>) {
    return true;
  } else {
    return std::in_range<T>(value);
  }
}

/// Internal: an element as another C++ type; NumericError when an integer type cannot hold it.
template <class T, class From>
T convert_element(From value) {
  if constexpr (!std::is_arithmetic_v<From>) {
    return convert_element<T>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != From{};
  } else if constexpr (std::is_integral_v<T>) {
    if (!fits_integer<T>(value)) {
      throw NumericError(cat("item: value cannot be converted to type ", name(kDTypeOf<T>), " without overflow: ", value));
    }
    return static_cast<T>(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}

template <class T>
Tensor Tensor::of(std::span<const T> values, std::span<const Dim> shape) {
  const Tensor out = allocate(shape, kDTypeOf<T>);
  if (!(out.numel() == static_cast<i64>(values.size()))) {
    throw ShapeError(cat("of: ", values.size(), " values do not fill shape ", shape, "; ", out.numel(), " are needed"));
  }
  if (!values.empty()) std::memcpy(out.data(), values.data(), values.size_bytes());
  return out;
}

template <class T>
T Tensor::item() const {
  const void* const element = only_element();
  return visit_dtype(
      dtype(),
      [&](auto zero) {
        std::memcpy(&zero, element, sizeof zero);
        return convert_element<T>(zero);
      },
      "item");
}

}  // namespace resilin
