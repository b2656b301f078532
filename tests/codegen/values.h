// tests/codegen/values.h -- edge values of every dtype, as bits, and how results are compared.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "resilin/loop/scalar.h"
#include "resilin/tensor/dtype.h"

namespace resilin::kit {

/// The bits of `value` in a dtype.
inline std::uint64_t bits_of(DType dtype, double value) {
  const std::uint64_t wide = std::bit_cast<std::uint64_t>(value);
  return loop::evaluate_primitive(loop::Code::Cast, dtype, DType::F64, {&wide, 1});
}

/// Bits cut to the width of the dtype, as memory holds them.
inline std::uint64_t memory_bits(DType dtype, std::uint64_t bits) {
  const i64 bytes = size_bytes(dtype);
  return bytes == 8 ? bits : bits & ((std::uint64_t{1} << (bytes * 8)) - 1);
}

/// The form evaluate_primitive takes: integers sign-extended.
inline std::uint64_t argument_bits(DType dtype, std::uint64_t bits) {
  switch (dtype) {
    case DType::I8: return static_cast<std::uint64_t>(static_cast<i64>(static_cast<std::int8_t>(bits)));
    case DType::I16: return static_cast<std::uint64_t>(static_cast<i64>(static_cast<std::int16_t>(bits)));
    case DType::I32: return static_cast<std::uint64_t>(static_cast<i64>(static_cast<std::int32_t>(bits)));
    default: return bits;
  }
}

inline bool is_nan_bits(DType dtype, std::uint64_t bits) {
  if (!is_floating(dtype)) return false;
  const std::uint64_t wide = loop::evaluate_primitive(loop::Code::Cast, DType::F64, dtype, {&bits, 1});
  return std::isnan(std::bit_cast<double>(wide));
}

/// The same bits, or two NaNs: which NaN an operation gives is not defined.
inline bool same_value(DType dtype, std::uint64_t a, std::uint64_t b) { return a == b || (is_nan_bits(dtype, a) && is_nan_bits(dtype, b)); }

inline std::vector<std::uint64_t> float_values(DType dtype) {
  std::vector<std::uint64_t> all;
  const double numbers[] = {0,      0.5,    1,        1.5,     2,       2.5,           3,
                            7,      255,    256,      448,     464,     480,           32767.5,
                            32768,  57344,  65504,    65520,   65536,   1e-45,         1e-38,
                            1e-7,   0.1,    1e10,     1e20,    1e38,    3.5e38,        0x1p31,
                            0x1p32, 0x1p63, 0x1p-126, 0x1p-24, 0x1p-17, 0x1p-9,        0x1p-10,
                            1e-320, 1e300,  127.5,    128.5,   0x1p53,  0x1.fffffep30, 0x1.fffffffffffffp62};
  for (const double number : numbers) {
    all.push_back(bits_of(dtype, number));
    all.push_back(bits_of(dtype, -number));
  }
  for (const double special : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), std::nan("")}) {
    all.push_back(bits_of(dtype, special));
  }
  return all;
}

inline std::vector<std::uint64_t> integer_values(DType dtype) {
  std::vector<std::uint64_t> all;
  const i64 numbers[] = {0,
                         1,
                         2,
                         3,
                         5,
                         7,
                         8,
                         31,
                         32,
                         33,
                         63,
                         64,
                         65,
                         100,
                         127,
                         128,
                         129,
                         255,
                         256,
                         1000,
                         32767,
                         32768,
                         65535,
                         46341,
                         1 << 24,
                         (1 << 24) + 1,
                         INT32_MAX,
                         i64{1} << 31,
                         INT64_MAX,
                         i64{1} << 32,
                         i64{1} << 53,
                         (i64{1} << 53) + 1,
                         (i64{1} << 60) + (i64{1} << 36) + 1,
                         i64{1} << 62,
                         0x7fffffbfffffffff,
                         0x7fffffc000000001};
  for (const i64 number : numbers) {
    all.push_back(memory_bits(dtype, static_cast<std::uint64_t>(number)));
    all.push_back(memory_bits(dtype, 0 - static_cast<std::uint64_t>(number)));
  }
  all.push_back(memory_bits(dtype, std::uint64_t{1} << 63));
  return all;
}

/// Edge values and some random bits; all of them for the narrow dtypes.
inline std::vector<std::uint64_t> edge_values(DType dtype) {
  if (dtype == DType::Bool) return {0, 1};
  std::vector<std::uint64_t> all = is_floating(dtype) ? float_values(dtype) : integer_values(dtype);
  std::mt19937_64 random(7);
  for (int i = 0; i < 20; ++i) all.push_back(memory_bits(dtype, random()));
  return all;
}

/// An array in memory, of `dtype`, padded to whole vectors.
inline std::vector<std::byte> to_memory(DType dtype, const std::vector<std::uint64_t>& values) {
  const std::size_t bytes = static_cast<std::size_t>(size_bytes(dtype));
  std::vector<std::byte> memory((values.size() + 64) * bytes);
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(memory.data() + i * bytes, &values[i], bytes);
  return memory;
}

inline std::uint64_t element(DType dtype, const std::vector<std::byte>& memory, std::size_t index) {
  const std::size_t bytes = static_cast<std::size_t>(size_bytes(dtype));
  std::uint64_t value = 0;
  std::memcpy(&value, memory.data() + index * bytes, bytes);
  return value;
}

}  // namespace resilin::kit
