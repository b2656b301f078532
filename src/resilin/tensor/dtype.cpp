// src/resilin/tensor/dtype.cpp -- names of dtypes, promotion, and the conversions of 16- and 8-bit floats.
#include "resilin/tensor/dtype.h"

#include <algorithm>
#include <limits>

namespace resilin {
namespace {

constexpr bool is_float8(DType t) { return t == DType::F8E4M3FN || t == DType::F8E5M2; }

/// Where a small float keeps its fields; the sign is its highest bit.
struct SmallFloat {
  int mantissa_bits;
  int bias;
};
constexpr SmallFloat kF16{10, 15};
constexpr SmallFloat kF8E4M3FN{3, 7};
constexpr SmallFloat kF8E5M2{2, 15};

/// Rounds the magnitude of a float (its bits without sign, below the double of the format's largest power of two) to nearest even.
/// Subnormals are rounded by the adder: a magic addend puts the last bit of the format at the last bit of the sum.
std::uint32_t round_magnitude(std::uint32_t magnitude, SmallFloat to) {
  const int dropped = 23 - to.mantissa_bits;
  const std::uint32_t smallest_normal = static_cast<std::uint32_t>(128 - to.bias) << 23;
  if (magnitude < smallest_normal) {
    const std::uint32_t magic = static_cast<std::uint32_t>(128 - to.bias + dropped) << 23;
    return std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic)) - magic;
  }
  const std::uint32_t odd = (magnitude >> dropped) & 1;
  const std::uint32_t rebased = magnitude - (static_cast<std::uint32_t>(127 - to.bias) << 23);
  return (rebased + (1u << (dropped - 1)) - 1 + odd) >> dropped;
}

/// The float of a finite magnitude.
float widen_magnitude(std::uint32_t magnitude, SmallFloat from) {
  const int shift = 23 - from.mantissa_bits;
  if (magnitude >> from.mantissa_bits == 0) {
    const std::uint32_t unit = static_cast<std::uint32_t>(128 - from.bias - from.mantissa_bits) << 23;
    return static_cast<float>(magnitude) * std::bit_cast<float>(unit);
  }
  return std::bit_cast<float>((magnitude << shift) + (static_cast<std::uint32_t>(127 - from.bias) << 23));
}

float with_sign(float magnitude, bool negative) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (negative ? 0x80000000u : 0u));
}

/// A format with IEEE's infinity and NaN: the largest exponent is reserved for them. `width` is its number of bits.
std::uint32_t round_ieee(float value, SmallFloat to, int width) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t sign = (bits >> 31) << (width - 1);
  const std::uint32_t infinity = ((1u << (width - 1)) - 1) >> to.mantissa_bits << to.mantissa_bits;
  if (magnitude > 0x7f800000u) {
    const std::uint32_t quiet = 1u << (to.mantissa_bits - 1);
    const std::uint32_t payload = (magnitude & 0x7fffffu) >> (23 - to.mantissa_bits);
    return sign | infinity | quiet | payload;
  }
  const std::uint32_t overflow = static_cast<std::uint32_t>(128 + to.bias) << 23;
  return sign | (magnitude >= overflow ? infinity : round_magnitude(magnitude, to));
}

float widen_ieee(std::uint32_t bits, SmallFloat from, int width) {
  const std::uint32_t magnitude = bits & ((1u << (width - 1)) - 1);
  const bool negative = bits >> (width - 1) != 0;
  const std::uint32_t infinity = ((1u << (width - 1)) - 1) >> from.mantissa_bits << from.mantissa_bits;
  if (magnitude < infinity) return with_sign(widen_magnitude(magnitude, from), negative);
  const std::uint32_t payload = (magnitude - infinity) << (23 - from.mantissa_bits);
  const std::uint32_t quiet = payload != 0 ? 0x400000u : 0u;
  return with_sign(std::bit_cast<float>(0x7f800000u | quiet | payload), negative);
}

}  // namespace

std::string_view torch_name(DType dtype) {
  constexpr std::array<std::string_view, kDTypeCount> kNames = {"bool",          "uint8",       "int8",      "int16",     "int32",
                                                                "int64",         "float16",     "bfloat16",  "float32",   "float64",
                                                                "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"};
  return kNames[static_cast<std::size_t>(dtype)];
}

DType parse_dtype(std::string_view text) {
  const std::array<std::string_view, kDTypeCount> names = enum_names(static_cast<const DType*>(nullptr));
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) throw ArgumentError(cat("parse_dtype: unknown dtype: \"", text, "\"; it must be one of ", names));
  return static_cast<DType>(found - names.begin());
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_float8(a) || is_float8(b)) {
    throw DtypeError(cat("promote: Promotion for Float8 Types is not supported, attempted to promote ", torch_name(a), " and ",
                         torch_name(b), "; cast one of them first"));
  }
  if (is_complex(a) || is_complex(b)) {
    const bool wide = a == DType::C128 || b == DType::C128 || a == DType::F64 || b == DType::F64;
    return wide ? DType::C128 : DType::C64;
  }
  const DType low = std::min(a, b);
  const DType high = std::max(a, b);  // declaration order is rank order within a class and between classes
  if (low == DType::F16 && high == DType::BF16) return DType::F32;
  if (low == DType::U8 && high == DType::I8) return DType::I16;
  return high;
}

F16::F16(float value) : bits(static_cast<std::uint16_t>(round_ieee(value, kF16, 16))) {}
F16::operator float() const { return widen_ieee(bits, kF16, 16); }

BF16::BF16(float value) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  if ((word & 0x7fffffffu) > 0x7f800000u) {
    bits = static_cast<std::uint16_t>((word >> 16 & 0x8000u) | 0x7fc0u);
  } else {
    bits = static_cast<std::uint16_t>((word + 0x7fffu + (word >> 16 & 1)) >> 16);
  }
}

F8E4M3FN::F8E4M3FN(float value) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = word & 0x7fffffffu;
  constexpr std::uint32_t kFirstNan = std::bit_cast<std::uint32_t>(480.0f);  // what would round to the pattern of NaN or beyond is NaN
  const std::uint32_t rounded = magnitude >= kFirstNan ? 0x7fu : round_magnitude(magnitude, kF8E4M3FN);
  bits = static_cast<std::uint8_t>((word >> 24 & 0x80u) | rounded);
}
F8E4M3FN::operator float() const {
  const std::uint32_t magnitude = bits & 0x7fu;
  const float value = magnitude == 0x7fu ? std::numeric_limits<float>::quiet_NaN() : widen_magnitude(magnitude, kF8E4M3FN);
  return with_sign(value, (bits & 0x80u) != 0);
}

F8E5M2::F8E5M2(float value) : bits(static_cast<std::uint8_t>(round_ieee(value, kF8E5M2, 8))) {}
F8E5M2::operator float() const { return widen_ieee(bits, kF8E5M2, 8); }

}  // namespace resilin
