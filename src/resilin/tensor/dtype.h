// src/resilin/tensor/dtype.h -- element types, their names, sizes, classes, and the 16- and 8-bit floats as bit patterns.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "resilin/base/error.h"
#include "resilin/base/reflect.h"
#include "resilin/base/text.h"

namespace resilin {

/// The type of an element. Arithmetic exists for Bool U8 I32 I64 F16 BF16 F32 F64; the others can be stored and cast.
enum class DType : std::uint8_t { Bool, U8, I8, I16, I32, I64, F16, BF16, F32, F64, F8E4M3FN, F8E5M2, C64, C128 };
inline constexpr int kDTypeCount = 14;

/// Names in declaration order: bool u8 i8 ... c128.
constexpr std::array<std::string_view, kDTypeCount> enum_names(const DType*) {
  return {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e5m2", "c64", "c128"};
}
constexpr std::string_view name(DType dtype) { return enum_names(&dtype)[static_cast<std::size_t>(dtype)]; }
/// PyTorch's name, e.g. "float32"; used in printing and in error texts that keep PyTorch's words.
RESILIN_API std::string_view torch_name(DType dtype);
/// Throws ArgumentError naming the known ones.
RESILIN_API DType parse_dtype(std::string_view text);
inline void append_text(std::string& out, DType dtype) { out += name(dtype); }

inline constexpr std::array<std::uint8_t, kDTypeCount> kElementBytes = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 1, 1, 8, 16};
constexpr i64 size_bytes(DType dtype) { return kElementBytes[static_cast<std::size_t>(dtype)]; }
constexpr bool is_complex(DType t) { return t == DType::C64 || t == DType::C128; }
constexpr bool is_floating(DType t) { return t >= DType::F16 && t <= DType::F8E5M2; }
constexpr bool is_integral(DType t) { return t >= DType::U8 && t <= DType::I64; }  // Bool is not integral here
/// F16, BF16 and the 8-bit floats compute in F32, every other dtype in itself.
constexpr DType compute_dtype(DType t) {
  return t == DType::F16 || t == DType::BF16 || t == DType::F8E4M3FN || t == DType::F8E5M2 ? DType::F32 : t;
}

/// PyTorch's promotion lattice for two tensors of equal rank class (bool < u8/i8.. < i64 < f16, bf16 < f32 < f64; f16 with bf16 = f32; u8 with i8 = i16).
RESILIN_API DType promote(DType a, DType b);

/// IEEE half precision as bits; conversion rounds to nearest even, NaN payloads are kept quiet.
struct RESILIN_API F16 {
  std::uint16_t bits = 0;
  F16() = default;
  explicit F16(float value);
  operator float() const;
};
/// bfloat16 as bits; conversion rounds to nearest even, NaN becomes the quiet NaN 0x7fc0 with its sign kept.
struct RESILIN_API BF16 {
  std::uint16_t bits = 0;
  BF16() = default;
  explicit BF16(float value);
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};
/// fp8 with 4 exponent and 3 mantissa bits, no infinity, NaN = 0x7f; overflow gives NaN as PyTorch's non-saturating cast does.
struct RESILIN_API F8E4M3FN {
  std::uint8_t bits = 0;
  F8E4M3FN() = default;
  explicit F8E4M3FN(float value);
  operator float() const;
};
/// fp8 with 5 exponent and 2 mantissa bits, IEEE rules (infinity, NaN).
struct RESILIN_API F8E5M2 {
  std::uint8_t bits = 0;
  F8E5M2() = default;
  explicit F8E5M2(float value);
  operator float() const;
};

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::Bool;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::U8;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::I8;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType value = DType::I16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::I32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::I64;
};
template <>
struct DTypeOf<F16> {
  static constexpr DType value = DType::F16;
};
template <>
struct DTypeOf<BF16> {
  static constexpr DType value = DType::BF16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::F32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::F64;
};
template <>
struct DTypeOf<F8E4M3FN> {
  static constexpr DType value = DType::F8E4M3FN;
};
template <>
struct DTypeOf<F8E5M2> {
  static constexpr DType value = DType::F8E5M2;
};
template <class T>
inline constexpr DType kDTypeOf = DTypeOf<T>::value;

/// Calls f with a value-initialised element of the C++ type of `dtype` (complex dtypes throw UnsupportedError naming `what`).
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f, std::string_view what = "this operation") {
  switch (dtype) {
    case DType::Bool: return f(bool{});
    case DType::U8: return f(std::uint8_t{});
    case DType::I8: return f(std::int8_t{});
    case DType::I16: return f(std::int16_t{});
    case DType::I32: return f(std::int32_t{});
    case DType::I64: return f(i64{});
    case DType::F16: return f(F16{});
    case DType::BF16: return f(BF16{});
    case DType::F32: return f(float{});
    case DType::F64: return f(double{});
    case DType::F8E4M3FN: return f(F8E4M3FN{});
    case DType::F8E5M2: return f(F8E5M2{});
    default: throw UnsupportedError(cat(what, ": complex elements are not supported: dtype is ", dtype));
  }
}

}  // namespace resilin
