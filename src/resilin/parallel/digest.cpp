// src/resilin/parallel/digest.cpp -- digests of large memory.
#include "resilin/parallel/digest.h"

#include <array>
#include <bit>
#include <cstring>

#include "resilin/base/hash.h"

namespace resilin::parallel {
namespace {

// Eight chains that do not wait for each other: one alone would wait for its own multiplication.
constexpr std::size_t kLanes = 8;
constexpr std::size_t kBlock = kLanes * sizeof(std::uint64_t);
constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ull;

using Lanes = std::array<std::uint64_t, kLanes>;

// Both halves of the product: the lower one alone carries the upper bits of a word nowhere.
std::uint64_t mixed(std::uint64_t lane, std::uint64_t word) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(lane ^ word) * kOdd;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

void take_block(Lanes& lanes, const std::byte* bytes) {
  std::array<std::uint64_t, kLanes> words;
  std::memcpy(words.data(), bytes, kBlock);
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = mixed(lanes[i], words[i]);
}

}  // namespace

std::uint64_t digest_of(std::span<const std::byte> bytes) {
  static_assert(std::endian::native == std::endian::little);
  Lanes lanes;
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = hash_mix(kLanes, i);
  std::size_t at = 0;
  for (; at + kBlock <= bytes.size(); at += kBlock) take_block(lanes, bytes.data() + at);
  std::array<std::byte, kBlock> rest{};
  if (at < bytes.size()) {
    std::memcpy(rest.data(), bytes.data() + at, bytes.size() - at);
    take_block(lanes, rest.data());
  }
  std::uint64_t digest = hash_mix(kOdd, bytes.size());
  for (const std::uint64_t lane : lanes) digest = hash_mix(digest, lane);
  return digest;
}

}  // namespace resilin::parallel
