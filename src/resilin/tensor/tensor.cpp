// src/resilin/tensor/tensor.cpp -- making, viewing and freeing tensors; their bodies are recycled per thread.
#include "resilin/tensor/tensor.h"

#include <algorithm>
#include <new>

#include "resilin/tensor/thread_cache.h"

namespace resilin {
namespace {

/// The reference belongs to the caller.
TensorBody* make_body(DType dtype, i64 offset, std::span<const Dim> shape, std::span<const Dim> strides) {
  TensorBody* const body = new (take_body<TensorBody>(&ThreadCache::tensors)) TensorBody;
  body->dtype = dtype;
  body->offset = offset;
  body->shape.append(shape.begin(), shape.end());
  body->strides.append(strides.begin(), strides.end());
  return body;
}

[[noreturn]] void refuse_symbol(Dim size) {
  throw DataDependentError(cat("allocate: a size is not known: ", size, "; memory needs sizes that are numbers"));
}

[[noreturn]] void refuse_shape(std::span<const Dim> shape, DType dtype) {
  for (const Dim d : shape) {
    if (d.value() < 0) throw ShapeError(cat("Trying to create tensor with negative dimension ", d, ": ", shape));
  }
  throw ShapeError(cat("allocate: too many elements: shape ", shape, " of ", dtype, "; at most 2^57 are possible"));
}

/// Row-major strides into `strides`; gives back the bytes. Throws on a negative dim and on overflow, which an axis of size 0 does not forgive.
i64 checked_layout(std::span<const Dim> shape, DType dtype, Dim* strides) {
  constexpr i64 kMostElements = i64{1} << 57;  // of any dtype; their bytes fit a Dim
  i64 next = 1;
  bool empty = false;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (!shape[i].is_constant()) refuse_symbol(shape[i]);
    const i64 size = shape[i].value();
    strides[i] = next;
    if (size == 0) {
      empty = true;
    } else if (size < 0 || __builtin_mul_overflow(next, size, &next) || next > kMostElements) {
      refuse_shape(shape, dtype);
    }
  }
  return empty ? 0 : next * size_bytes(dtype);
}

bool has_empty_axis(std::span<const Dim> shape) {
  return std::any_of(shape.begin(), shape.end(), [](Dim d) { return d == 0; });
}

struct ByteRange {
  const char* begin;
  const char* end;
};

ByteRange byte_range(const Tensor& x) {
  const char* const first = static_cast<const char*>(x.data());
  return {first, first + extent(x.shape(), x.strides()) * size_bytes(x.dtype())};
}

}  // namespace

Tensor Tensor::allocate(std::span<const Dim> shape, DType dtype) {
  TensorBody* const body = make_body(dtype, 0, shape, shape);  // the shape holds the place of the strides
  Tensor out(body);
  body->storage = Storage::allocate(checked_layout(shape, dtype, body->strides.data()));
  return out;
}

Tensor Tensor::view(Storage storage, DType dtype, i64 offset, std::span<const Dim> shape, std::span<const Dim> strides) {
  if (!storage.defined()) throw ArgumentError("view: the storage is undefined; it must hold memory");
  const auto refuse = [&](std::string_view what) {
    return ShapeError(cat("view: ", what, ": shape ", shape, ", strides ", strides, ", offset ", offset, " of ", dtype, " in a storage of ",
                          storage.size_bytes(), " bytes; every element must lie inside"));
  };
  if (shape.size() != strides.size()) throw refuse("one stride for each axis is needed");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].value() < 0 || strides[i].value() < 0) throw refuse("sizes and strides must not be negative");
  }
  const i64 capacity = storage.size_bytes() / size_bytes(dtype);
  if (offset < 0 || offset > capacity || extent(shape, strides) > capacity - offset) throw refuse("elements lie outside the storage");
  return unchecked_view(storage, dtype, offset, shape, strides);
}

Tensor Tensor::unchecked_view(const Storage& storage, DType dtype, i64 offset, std::span<const Dim> shape, std::span<const Dim> strides) {
  TensorBody* const body = make_body(dtype, offset, shape, strides);
  body->storage = storage;
  return Tensor(body);
}

Tensor Tensor::symbolic(std::span<const Dim> shape, DType dtype, std::unique_ptr<Extension> traced) {
  TensorBody* const body = make_body(dtype, 0, shape, contiguous_strides(shape));
  body->traced = std::move(traced);
  return Tensor(body);
}

void Tensor::release(TensorBody* body) noexcept {
  // The only holder needs no atomic subtraction: nobody else can add a reference.
  if (body->references.load(std::memory_order_acquire) != 1 && body->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  body->~TensorBody();
  give_body(body, &ThreadCache::tensors);
}

Dim Tensor::size(i64 axis) const { return shape()[static_cast<std::size_t>(normalize_axis(axis, ndim(), {}))]; }
Dim Tensor::stride(i64 axis) const { return strides()[static_cast<std::size_t>(normalize_axis(axis, ndim(), {}))]; }
bool Tensor::is_contiguous() const { return resilin::is_contiguous(shape(), strides()); }

void* Tensor::data() const {
  const TensorBody& self = body();
  if (!self.storage.defined()) {
    throw DataDependentError(cat("data: the tensor is traced and has no elements yet: its shape is ", self.shape,
                                 "; run the graph, or keep what needs the values out of the traced function"));
  }
  if (has_empty_axis(self.shape)) return nullptr;
  return static_cast<char*>(self.storage.data()) + self.offset * size_bytes(self.dtype);
}

const void* Tensor::only_element() const {
  const void* const first = data();
  const Dim count = numel();
  if (!(count == 1)) throw ArgumentError(cat("a Tensor with ", count, " elements cannot be converted to Scalar: its shape is ", shape()));
  return first;
}

void Tensor::check_dtype(DType wanted) const {
  if (dtype() != wanted)
    throw DtypeError(cat("data_as: expected scalar type ", wanted, " but found ", dtype(), "; ask for the tensor's own dtype"));
}

TensorBody& Tensor::refuse_undefined() {
  throw ArgumentError("the tensor is undefined: a default-constructed Tensor has no shape, dtype or data");
}

bool may_overlap(const Tensor& a, const Tensor& b) {
  if (a.is_same(b)) return true;
  if (!a.storage().defined() || !b.storage().defined()) return false;
  const ByteRange x = byte_range(a), y = byte_range(b);
  return x.begin < y.end && y.begin < x.end;  // an empty tensor is the range [null, null)
}

bool is_same_view(const Tensor& a, const Tensor& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.dtype() == b.dtype() && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

i64 normalize_axis(i64 axis, i64 ndim, std::string_view what) {
  const std::string_view separator = what.empty() ? "" : ": ";
  if (ndim == 0) throw IndexError(cat(what, separator, "Dimension specified as ", axis, " but tensor has no dimensions"));
  if (axis < -ndim || axis >= ndim) {
    throw IndexError(
        cat(what, separator, "Dimension out of range (expected to be in range of [", -ndim, ", ", ndim - 1, "], but got ", axis, ")"));
  }
  return axis < 0 ? axis + ndim : axis;
}

}  // namespace resilin
