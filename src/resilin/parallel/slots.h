// src/resilin/parallel/slots.h -- slots: the fixed parts of a step, and which rank computes which of them.
#pragma once

#include <cstdint>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/base/text.h"

namespace resilin::parallel {

/// Slots [begin, end).
struct SlotRange {
  i64 begin = 0;
  i64 end = 0;
  friend bool operator==(const SlotRange& a, const SlotRange& b) = default;
};

/// The slots of the worker at `position` among `workers`: as even as they can be, in order, none left out. A worker may get none.
/// ArgumentError unless 0 <= position < workers and slots >= 0.
RESILIN_API SlotRange slots_of(i64 position, i64 workers, i64 slots);

/// Sets this thread's generator for one slot of one step: random numbers depend on them and on the order of the calls in the slot, never on rank, world size
/// or attempt. ArgumentError for a negative step or a slot outside [0, 2^20).
RESILIN_API void seed_slot(i64 seed, i64 step, i64 slot);

/// This thread's generator, put back at the end of a scope.
class KeptGenerator {
 public:
  RESILIN_API KeptGenerator();
  RESILIN_API ~KeptGenerator();
  KeptGenerator(const KeptGenerator&) = delete;
  KeptGenerator& operator=(const KeptGenerator&) = delete;

 private:
  i64 seed_, offset_;
};

}  // namespace resilin::parallel
