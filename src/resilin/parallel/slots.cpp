// src/resilin/parallel/slots.cpp -- slots: the fixed parts of a step.
#include "resilin/parallel/slots.h"

#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/tensor/generator.h"

namespace resilin::parallel {
namespace {

// A slot may draw 2^42 numbers before it would meet those of the next one.
constexpr i64 kOffsetsOfSlot = i64{1} << 42;
constexpr i64 kMostSlots = i64{1} << 20;

}  // namespace

SlotRange slots_of(i64 position, i64 workers, i64 slots) {
  if (position < 0 || position >= workers || slots < 0)
    throw ArgumentError(cat("slots_of: worker ", position, " of ", workers, ", ", slots, " slots"));
  const i64 each = slots / workers, more = slots % workers;
  const i64 begin = position * each + std::min(position, more);
  return {begin, begin + each + (position < more ? 1 : 0)};
}

void seed_slot(i64 seed, i64 step, i64 slot) {
  if (step < 0 || slot < 0 || slot >= kMostSlots) throw ArgumentError(cat("seed_slot: step ", step, ", slot ", slot));
  const std::uint64_t key = hash_mix(hash_mix(0, static_cast<std::uint64_t>(seed)), static_cast<std::uint64_t>(step));
  default_generator().manual_seed(static_cast<i64>(key >> 1));
  default_generator().set_offset(slot * kOffsetsOfSlot);
}

KeptGenerator::KeptGenerator() : seed_(default_generator().seed()), offset_(default_generator().offset()) {}
KeptGenerator::~KeptGenerator() {
  default_generator().manual_seed(seed_);
  default_generator().set_offset(offset_);
}

}  // namespace resilin::parallel
