// src/resilin/tensor/allocator.h -- the caching allocator of tensor memory: size classes, per-thread magazines, guard modes, statistics.
#pragma once

#include <cstddef>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin {

/// Bytes and counts since the process started; the peak since reset_peak.
struct AllocatorStats {
  i64 in_use_bytes = 0;       // as they were asked for
  i64 reserved_bytes = 0;     // taken from the system, cached blocks and headers included
  i64 peak_in_use_bytes = 0;  // exact while one thread allocates, else within 64 KiB a thread
  i64 allocations = 0;
  i64 system_allocations = 0;  // calls that went to the operating system
};

/// Memory aligned to 64 bytes (to 4 KiB and advised huge from 2 MiB on) with at least size_bytes bytes; any thread may free it.
///
/// Blocks go back to a free list of their size class: small ones through bounded per-thread magazines, large ones late, so that a steady
/// program touches no fresh page. With the knob allocator.guard = begin | end each block is its own mapping, placed against an inaccessible
/// page at that side, filled with 0xff (a NaN in every float type) and unmapped on free. A block that ends at the page starts where its size
/// puts it: aligned to the largest power of two that divides the size.
/// Throws MemoryError (asked, in use, limit in bytes) when the system refuses or the limit on what is taken from the system would be passed:
/// the knob allocator.limit_bytes, else the memory of the machine and of its control group.
RESILIN_API void* allocate(i64 size_bytes);
RESILIN_API void deallocate(void* block) noexcept;
RESILIN_API AllocatorStats allocator_stats();
RESILIN_API void reset_peak();
/// Gives every cached block back to the system, except those in the magazines of other threads.
RESILIN_API void release_cached();

}  // namespace resilin
