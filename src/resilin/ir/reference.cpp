// src/resilin/ir/reference.cpp -- plain arrays of numbers and their positions.
#include "resilin/ir/reference.h"

#include <limits>
#include <utility>

#include "resilin/base/error.h"

namespace resilin::ir {
namespace {

/// Out of range or NaN gives the lowest value, as the engine's casts do.
i64 truncate(double value) { return value >= -0x1p63 && value < 0x1p63 ? static_cast<i64>(value) : std::numeric_limits<i64>::min(); }

i64 wrap(DType dtype, i64 value) {
  switch (dtype) {
    case DType::Bool: return value != 0 ? 1 : 0;
    case DType::U8: return static_cast<std::uint8_t>(value);
    case DType::I8: return static_cast<std::int8_t>(value);
    case DType::I16: return static_cast<std::int16_t>(value);
    case DType::I32: return static_cast<std::int32_t>(value);
    default: return value;
  }
}

}  // namespace

i64 Array::numel() const {
  i64 count = 1;
  for (const i64 size : shape) count *= size;
  return count;
}

void Array::set(i64 at, double value) {
  if (is_real()) {
    reals[static_cast<std::size_t>(at)] = value;
  } else {
    integers[static_cast<std::size_t>(at)] = dtype == DType::Bool ? (value != 0 ? 1 : 0) : wrap(dtype, truncate(value));
  }
}

void Array::set_integer(i64 at, i64 value) {
  if (is_real()) {
    reals[static_cast<std::size_t>(at)] = static_cast<double>(value);
  } else {
    integers[static_cast<std::size_t>(at)] = wrap(dtype, value);
  }
}

Array Array::zeros(DType dtype, std::vector<i64> shape) {
  if (is_complex(dtype)) throw UnsupportedError(cat("reference: complex arrays are not supported: dtype is ", dtype));
  Array array;
  array.dtype = dtype;
  array.shape = std::move(shape);
  const std::size_t count = static_cast<std::size_t>(array.numel());
  if (array.is_real()) {
    array.reals.resize(count);
  } else {
    array.integers.resize(count);
  }
  return array;
}

std::vector<i64> unravel(i64 at, std::span<const i64> shape) {
  std::vector<i64> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = at % shape[axis];
    at /= shape[axis];
  }
  return index;
}

i64 ravel(std::span<const i64> index, std::span<const i64> shape) {
  i64 at = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) at = at * shape[axis] + index[axis];
  return at;
}

i64 broadcast_position(std::span<const i64> index, std::span<const i64> from) {
  const std::span<const i64> last = index.last(from.size());
  i64 at = 0;
  for (std::size_t axis = 0; axis < from.size(); ++axis) at = at * from[axis] + (from[axis] == 1 ? 0 : last[axis]);
  return at;
}

}  // namespace resilin::ir
