// src/resilin/tensor/generator.cpp -- the state of random streams and the reference of Philox4x32-10.
#include "resilin/tensor/generator.h"

#include <limits>

namespace resilin {

void Generator::manual_seed(i64 seed) {
  seed_ = seed;
  offset_ = 0;
}

void Generator::set_offset(i64 offset) {
  if (offset < 0) throw ArgumentError(cat("set_offset: negative offset: ", offset, "; it must be >= 0"));
  offset_ = offset;
}

i64 Generator::reserve(i64 count) {
  if (count < 0 || count > std::numeric_limits<i64>::max() - offset_) {
    throw ArgumentError(
        cat("reserve: ", count, " offsets do not follow offset ", offset_, "; the count must be >= 0 and the sum must fit 63 bits"));
  }
  const i64 first = offset_;
  offset_ += count;
  return first;
}

Generator& default_generator() {
  static thread_local Generator generator(0);
  return generator;
}

PhiloxWords philox4x32(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  std::uint32_t key0 = static_cast<std::uint32_t>(key), key1 = static_cast<std::uint32_t>(key >> 32);
  PhiloxWords x{{static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
                 static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)}};
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * x.word[0];
    const std::uint64_t product1 = kMultiplier1 * x.word[2];
    x = {{static_cast<std::uint32_t>(product1 >> 32) ^ x.word[1] ^ key0, static_cast<std::uint32_t>(product1),
          static_cast<std::uint32_t>(product0 >> 32) ^ x.word[3] ^ key1, static_cast<std::uint32_t>(product0)}};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return x;
}

}  // namespace resilin
