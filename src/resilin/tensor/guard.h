// src/resilin/tensor/guard.h -- Internal: blocks that lie against an inaccessible page, so that a wild access stops the program.
#pragma once

#include <atomic>

#include "resilin/base/text.h"

namespace resilin {

/// The words of the knob allocator.guard, in its order.
enum class GuardMode { Off, Begin, End };

/// A block of its own mapping, filled with 0xff up to its pages' ends; null when memory is refused.
///
/// Begin: the inaccessible page lies before the block, which starts at a page. End: the block ends exactly where the inaccessible page starts,
/// so its start is aligned to the largest power of two that divides its size.
void* allocate_guarded(i64 size_bytes, GuardMode mode);
/// Frees a guarded block and gives back its size; -1 when the block is not guarded.
i64 deallocate_guarded(void* block) noexcept;
/// How many guarded blocks live; while 0, no block can be one.
extern constinit std::atomic<i64> g_guarded_blocks;

void lock_guards_for_fork();
void unlock_guards_after_fork_in_parent();
void unlock_guards_after_fork_in_child();

}  // namespace resilin
