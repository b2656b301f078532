// src/resilin/base/hash.cpp -- 64-bit hashing of byte ranges.
#include "resilin/base/hash.h"

#include <cstring>

namespace resilin {

// Eight bytes a step, read as little endian so that every machine agrees; the length closes the hash, so that a zero byte counts.
std::uint64_t hash_bytes(const void* data, std::size_t size_bytes, std::uint64_t seed) {
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  std::uint64_t hash = hash_mix(seed, 0x7265'7369'6c69'6eull);
  std::size_t i = 0;
  for (; i + 8 <= size_bytes; i += 8) {
    std::uint64_t word = 0;
    for (std::size_t k = 0; k < 8; ++k) word |= static_cast<std::uint64_t>(bytes[i + k]) << (8 * k);
    hash = hash_mix(hash, word);
  }
  std::uint64_t tail = 0;
  for (std::size_t k = 0; i + k < size_bytes; ++k) tail |= static_cast<std::uint64_t>(bytes[i + k]) << (8 * k);
  return hash_mix(hash_mix(hash, tail), size_bytes);
}

}  // namespace resilin
