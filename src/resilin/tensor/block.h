// src/resilin/tensor/block.h -- Internal: size classes and the header in front of each block of tensor memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "resilin/base/text.h"

namespace resilin {

inline constexpr i64 kBlockAlignment = 64;
inline constexpr i64 kPageBytes = 4096;
inline constexpr i64 kHugePageBytes = i64{2} << 20;
/// Blocks of this many bytes or more have no size class.
inline constexpr i64 kLargeBytes = i64{1} << 20;
inline constexpr int kSizeClasses = 28;
inline constexpr int kLargeClass = kSizeClasses;
/// What a magazine of one size class holds at most.
inline constexpr i64 kMagazineBlocks = 64;
inline constexpr i64 kMagazineBytes = i64{256} << 10;

/// Lies in the 64 bytes before a block (the alignment keeps it in a cache line of its own).
struct alignas(kBlockAlignment) BlockHeader {
  i64 size_bytes;      // asked for
  i64 capacity_bytes;  // usable
  BlockHeader* next;   // while the pool keeps it
  void* mapping;       // of a large block: what munmap takes
  i64 mapping_bytes;
  int size_class;
};
static_assert(sizeof(BlockHeader) == kBlockAlignment);

inline void* memory_of(BlockHeader* block) { return block + 1; }
inline BlockHeader* header_of(void* memory) { return static_cast<BlockHeader*>(memory) - 1; }

/// The class of a number of units of 64 bytes, >= 1. The classes hold 1, 2, 3, 4, 6, 8, 12, 16 ... units.
constexpr int size_class_of_units(std::uint64_t units) {
  if (units <= 1) return 0;
  const int b = std::bit_width(units - 1);  // 2^(b-1) < units <= 2^b
  const bool fits_middle = 2 * units <= std::uint64_t{3} << (b - 1);
  return 2 * b - 1 - (b >= 2 && fits_middle ? 1 : 0);
}
inline constexpr std::size_t kTabledUnits = 65;
inline constexpr std::array<std::uint8_t, kTabledUnits> kClassOfUnits = [] {
  std::array<std::uint8_t, kTabledUnits> classes{};
  for (std::size_t units = 0; units < kTabledUnits; ++units) classes[units] = static_cast<std::uint8_t>(size_class_of_units(units));
  return classes;
}();
/// The smallest class with at least this many bytes, 0 <= size_bytes < kLargeBytes.
constexpr int size_class_of(i64 size_bytes) {
  const std::uint64_t units = (static_cast<std::uint64_t>(size_bytes) + 63) / 64;
  return units < kTabledUnits ? kClassOfUnits[units] : size_class_of_units(units);
}
constexpr i64 capacity_of_class(int size_class) {
  if (size_class == 0) return 64;
  const int b = size_class / 2 + 1;
  return size_class % 2 == 1 ? i64{64} << b : i64{64} * 3 << (b - 2);
}
constexpr int magazine_blocks(int size_class) {
  return static_cast<int>(std::clamp<i64>(kMagazineBytes / capacity_of_class(size_class), 1, kMagazineBlocks));
}
inline constexpr std::array<std::uint8_t, kSizeClasses> kMagazineLimits = [] {
  std::array<std::uint8_t, kSizeClasses> limits{};
  for (int c = 0; c < kSizeClasses; ++c) limits[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(magazine_blocks(c));
  return limits;
}();
constexpr i64 round_up(i64 value, i64 multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace resilin
