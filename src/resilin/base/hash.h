// src/resilin/base/hash.h -- Internal: 64-bit hashing of integers, strings and byte ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace resilin {

/// Mixes `value` into `seed`; order matters; the same on every machine and run.
constexpr std::uint64_t hash_mix(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t x = ((seed * 0xff51afd7ed558ccdull + 0xc4ceb9fe1a85ec53ull) ^ value) * 0x9e3779b97f4a7c15ull;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  return x ^ (x >> 29);
}

/// Hash of bytes, stable over runs (used in file names, so it never changes within a format version).
std::uint64_t hash_bytes(const void* data, std::size_t size_bytes, std::uint64_t seed = 0);
inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed = 0) { return hash_bytes(text.data(), text.size(), seed); }

}  // namespace resilin
