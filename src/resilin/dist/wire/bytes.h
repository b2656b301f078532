// src/resilin/dist/wire/bytes.h -- Internal: integers as little-endian bytes.
#pragma once

#include <bit>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>

namespace resilin::dist {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian and integers are copied to it as they are");

template <std::integral T>
void append_little(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The integer at `position`; the caller knows that it lies inside.
template <std::integral T>
T read_little(std::string_view bytes, std::size_t position) {
  T value;
  std::memcpy(&value, bytes.data() + position, sizeof value);
  return value;
}

}  // namespace resilin::dist
