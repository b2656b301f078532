// src/resilin/data/permutation.cpp -- a Feistel network over Philox whose walks stay inside the range.
#include "resilin/data/permutation.h"

#include <bit>

#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/tensor/generator.h"

namespace resilin::data {
namespace {

constexpr std::uint64_t kRounds = 6;

/// One permutation of [0, 4^half_bits).
std::uint64_t feistel(std::uint64_t value, int half_bits, std::uint64_t key, std::uint64_t stream) {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = value >> half_bits, right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t mixed = left ^ (philox4x32(key, round << 32 | right, stream).word[0] & mask);
    left = right;
    right = mixed;
  }
  return left << half_bits | right;
}

}  // namespace

i64 permuted(i64 index, i64 count, i64 seed, i64 stream) {
  RESILIN_ASSERT(0 <= index && index < count && count < i64{1} << 62, cat(index, " of ", count));
  // The smallest network that holds the range is less than four times as large: a walk takes less than four steps on average.
  const int bits = std::bit_width(static_cast<std::uint64_t>(count - 1));
  const int half_bits = bits < 2 ? 1 : (bits + 1) / 2;
  // Apart from the numbers that random ops draw with the same seed.
  const std::uint64_t key = hash_mix(static_cast<std::uint64_t>(seed), 0x7065'726d'7574'65ull);
  std::uint64_t value = static_cast<std::uint64_t>(index);
  // The network's cycle through `index` comes back into the range, at the latest at `index` itself.
  do {
    value = feistel(value, half_bits, key, static_cast<std::uint64_t>(stream));
  } while (value >= static_cast<std::uint64_t>(count));
  return static_cast<i64>(value);
}

}  // namespace resilin::data
