// src/resilin/tensor/generator.h -- Generator: the state of a stream of random numbers (Philox4x32-10 seed and offset).
#pragma once

#include <cstdint>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin {

/// A random number is a pure function of (seed, offset, element), so a retried step draws the same numbers. A random op reserves offsets at apply.
class RESILIN_API Generator {
 public:
  explicit Generator(i64 seed = 0) : seed_(seed) {}
  i64 seed() const { return seed_; }
  i64 offset() const { return offset_; }
  /// Starts the stream of another seed at offset 0.
  void manual_seed(i64 seed);
  void set_offset(i64 offset);
  /// Takes the next `count` offsets and gives back the first.
  i64 reserve(i64 count);

 private:
  i64 seed_;
  i64 offset_ = 0;
};

/// The generator that random ops of this thread use when none is given.
RESILIN_API Generator& default_generator();
/// The four 32-bit words of Philox4x32-10 for a key and a counter: the reference of what kernels compute.
/// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
struct PhiloxWords {
  std::uint32_t word[4];
};
PhiloxWords philox4x32(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high);

}  // namespace resilin
