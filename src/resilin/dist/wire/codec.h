// src/resilin/dist/wire/codec.h -- Internal: values as bytes of a payload and back, by their fields.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "resilin/base/reflect.h"
#include "resilin/dist/wire/bytes.h"

namespace resilin::dist {

/// Reads a payload from front to back. Every read is checked first: bytes that are missing, or that no writer writes, are a DistError.
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view bytes) : rest_(bytes) {}

  template <std::integral T>
  T integer() {
    require(sizeof(T));
    const T value = read_little<T>(rest_, 0);
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  /// The next bytes of the payload itself, not copied.
  std::string_view bytes(std::size_t count) {
    require(count);
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  /// A count of things that take at least `least_bytes` each, so that no more are announced than can follow.
  std::size_t count(std::size_t least_bytes);
  /// The number of an alternative below `limit`.
  std::size_t choice(std::size_t limit);
  std::size_t rest_bytes() const { return rest_.size(); }
  /// DistError when bytes are left.
  void finish() const;

 private:
  void require(std::size_t count) const;

  std::string_view rest_;
};

/// How a value of type T lies in a payload:
///
///   bool                     one byte, 0 or 1
///   integers, floats         as in memory, little-endian
///   enums with names         u32, below the number of names
///   string                   u32 count, bytes
///   vector                   u32 count, items
///   array                    items
///   optional                 one byte, 0 or 1, then the value
///   variant                  one byte, the number of the alternative, then its value
///   structs with fields()    the fields in the order of declaration
template <class T>
struct Codec;

template <class T>
void append_value(std::string& out, const T& value) {
  Codec<T>::write(out, value);
}
template <class T>
T read_value(PayloadReader& in) {
  return Codec<T>::read(in);
}

/// A value as a payload.
template <class T>
std::string encode(const T& value) {
  std::string out;
  append_value(out, value);
  return out;
}

/// The value of a payload; DistError when the bytes are not exactly one value.
template <class T>
T decode(std::string_view payload) {
  PayloadReader in(payload);
  T value = read_value<T>(in);
  in.finish();
  return value;
}

namespace detail {
/// The u32 in front of strings and vectors; ArgumentError when it cannot say `count`.
void append_count(std::string& out, std::size_t count);
[[noreturn]] void fail_enumerator(std::uint32_t value, std::size_t names);
}  // namespace detail

template <>
struct Codec<bool> {
  static constexpr std::size_t kLeastBytes = 1;
  static void write(std::string& out, bool value) { out += value ? '\1' : '\0'; }
  static bool read(PayloadReader& in) { return in.choice(2) == 1; }
};

template <std::integral T>
struct Codec<T> {
  static constexpr std::size_t kLeastBytes = sizeof(T);
  static void write(std::string& out, T value) { append_little(out, value); }
  static T read(PayloadReader& in) { return in.integer<T>(); }
};

template <std::floating_point T>
struct Codec<T> {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr std::size_t kLeastBytes = sizeof(T);
  static void write(std::string& out, T value) { append_little(out, std::bit_cast<Bits>(value)); }
  static T read(PayloadReader& in) { return std::bit_cast<T>(in.integer<Bits>()); }
};

template <NamedEnum E>
struct Codec<E> {
  static constexpr std::size_t kNames = enum_names(static_cast<E*>(nullptr)).size();
  static constexpr std::size_t kLeastBytes = 4;
  static void write(std::string& out, E value) { append_little(out, static_cast<std::uint32_t>(value)); }
  static E read(PayloadReader& in) {
    const std::uint32_t value = in.integer<std::uint32_t>();
    if (value >= kNames) detail::fail_enumerator(value, kNames);
    return static_cast<E>(value);
  }
};

template <>
struct Codec<std::string> {
  static constexpr std::size_t kLeastBytes = 4;
  static void write(std::string& out, const std::string& value) {
    detail::append_count(out, value.size());
    out += value;
  }
  static std::string read(PayloadReader& in) { return std::string(in.bytes(in.count(1))); }
};

template <class T>
struct Codec<std::vector<T>> {
  static constexpr std::size_t kLeastBytes = 4;
  static void write(std::string& out, const std::vector<T>& value) {
    detail::append_count(out, value.size());
    for (const T& item : value) append_value(out, item);
  }
  // Nothing is reserved: what an item takes in memory may be many times its bytes.
  static std::vector<T> read(PayloadReader& in) {
    std::vector<T> value;
    for (std::size_t left = in.count(Codec<T>::kLeastBytes); left > 0; --left) value.push_back(read_value<T>(in));
    return value;
  }
};

template <class T, std::size_t N>
struct Codec<std::array<T, N>> {
  static constexpr std::size_t kLeastBytes = N * Codec<T>::kLeastBytes;
  static void write(std::string& out, const std::array<T, N>& value) {
    for (const T& item : value) append_value(out, item);
  }
  static std::array<T, N> read(PayloadReader& in) {
    std::array<T, N> value;
    for (T& item : value) item = read_value<T>(in);
    return value;
  }
};

template <class T>
struct Codec<std::optional<T>> {
  static constexpr std::size_t kLeastBytes = 1;
  static void write(std::string& out, const std::optional<T>& value) {
    append_value(out, value.has_value());
    if (value) append_value(out, *value);
  }
  static std::optional<T> read(PayloadReader& in) {
    if (!read_value<bool>(in)) return std::nullopt;
    return read_value<T>(in);
  }
};

template <class... Alternatives>
struct Codec<std::variant<Alternatives...>> {
  using Variant = std::variant<Alternatives...>;
  static_assert(sizeof...(Alternatives) < 256);
  static constexpr std::size_t kLeastBytes = 1;
  static void write(std::string& out, const Variant& value) {
    append_little(out, static_cast<std::uint8_t>(value.index()));
    std::visit([&out](const auto& alternative) { append_value(out, alternative); }, value);
  }
  static Variant read(PayloadReader& in) { return read_alternative<0>(in, in.choice(sizeof...(Alternatives))); }

 private:
  template <std::size_t I>
  static Variant read_alternative(PayloadReader& in, std::size_t index) {
    if constexpr (I + 1 < sizeof...(Alternatives)) {
      if (index != I) return read_alternative<I + 1>(in, index);
    }
    return Variant(std::in_place_index<I>, read_value<std::variant_alternative_t<I, Variant>>(in));
  }
};

template <Reflected T>
struct Codec<T> {
  static constexpr std::size_t kLeastBytes = std::apply(
      []<class... Fields>(const Fields&...) { return (std::size_t{0} + ... + Codec<typename Fields::Type>::kLeastBytes); }, T::fields());
  static void write(std::string& out, const T& value) {
    for_each_field(value, [&out](const auto&, const auto& member) { append_value(out, member); });
  }
  static T read(PayloadReader& in) {
    T value;
    for_each_field(value, [&in]<class M>(const auto&, M& member) { member = read_value<M>(in); });
    return value;
  }
};

}  // namespace resilin::dist
