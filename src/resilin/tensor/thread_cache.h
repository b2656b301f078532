// src/resilin/tensor/thread_cache.h -- Internal: what a thread keeps for itself: magazines of small blocks, bodies of tensors, storages and histories, counters.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "resilin/base/config.h"
#include "resilin/tensor/block.h"
#include "resilin/tensor/guard.h"

namespace resilin {

/// A bounded stack of free things.
template <int N>
struct Magazine {
  int count = 0;
  std::array<void*, N> items;

  void* take() { return count == 0 ? nullptr : items[static_cast<std::size_t>(--count)]; }
  bool put(void* item, int limit = N) {
    if (count >= limit) return false;
    items[static_cast<std::size_t>(count++)] = item;
    return true;
  }
};
using BodyMagazine = Magazine<128>;

/// Only its own thread uses it, except the counters, which allocator_stats reads.
struct ThreadCache {
  std::array<Magazine<kMagazineBlocks>, kSizeClasses> blocks;
  BodyMagazine tensors;
  BodyMagazine storages;
  BodyMagazine grad_states;  // of autograd
  BodyMagazine grad_nodes;   // of autograd
  std::array<BodyMagazine*, 4> all_bodies() { return {&tensors, &storages, &grad_states, &grad_nodes}; }

  // Bytes that were taken less bytes that were given back since the last flush to the process-wide count, their highest value, and the calls.
  std::atomic<i64> pending_bytes{0};
  std::atomic<i64> pending_peak_bytes{0};
  std::atomic<i64> allocations{0};

  const config::Knob* guard_knob = nullptr;
  std::uint64_t unguarded_generation = 0;  // the generation of the knob in which blocks need no guard; 0: none

  bool may_be_guarded() const { return guard_knob->generation() != unguarded_generation; }
  void count_taken(i64 size_bytes) {
    const i64 pending = pending_bytes.load(std::memory_order_relaxed) + size_bytes;
    pending_bytes.store(pending, std::memory_order_relaxed);
    if (pending > pending_peak_bytes.load(std::memory_order_relaxed)) pending_peak_bytes.store(pending, std::memory_order_relaxed);
    allocations.store(allocations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (pending > kFlushBytes) flush_counters();
  }
  void count_given(i64 size_bytes) {
    const i64 pending = pending_bytes.load(std::memory_order_relaxed) - size_bytes;
    pending_bytes.store(pending, std::memory_order_relaxed);
    if (pending < -kFlushBytes) flush_counters();
  }
  void flush_counters();

  static constexpr i64 kFlushBytes = i64{64} << 10;
  ThreadCache* previous = nullptr;  // of the list of all caches
  ThreadCache* next = nullptr;
};

/// Null before a thread's first use and after its end. One word in the initial block of thread storage: reading it is one instruction.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadCache* g_thread_cache;

/// Null when the thread is ending or memory is short; callers then do without. Throws what a wrong knob throws.
ThreadCache* make_thread_cache();
inline ThreadCache* thread_cache() {
  ThreadCache* const cache = g_thread_cache;
  return cache != nullptr ? cache : make_thread_cache();
}

/// The fast path of allocate: a block of this thread's magazine, counted; null when another way must be taken (also for a negative size).
inline void* take_recycled(i64 size_bytes) {
  ThreadCache* const cache = g_thread_cache;
  if (cache == nullptr || static_cast<std::uint64_t>(size_bytes) >= static_cast<std::uint64_t>(kLargeBytes) || cache->may_be_guarded())
    return nullptr;
  BlockHeader* const block = static_cast<BlockHeader*>(cache->blocks[static_cast<std::size_t>(size_class_of(size_bytes))].take());
  if (block == nullptr) return nullptr;
  block->size_bytes = size_bytes;
  cache->count_taken(size_bytes);
  return memory_of(block);
}
/// The fast path of deallocate; false when another way must be taken.
inline bool give_recycled(void* memory) noexcept {
  ThreadCache* const cache = g_thread_cache;
  if (cache == nullptr || memory == nullptr || g_guarded_blocks.load(std::memory_order_relaxed) != 0) return false;
  BlockHeader* const block = header_of(memory);
  const std::size_t size_class = static_cast<std::size_t>(block->size_class);
  if (size_class >= kSizeClasses || !cache->blocks[size_class].put(block, kMagazineLimits[size_class])) return false;
  cache->count_given(block->size_bytes);
  return true;
}
/// The other ways: the shared pool, the system, guards.
void* allocate_slow(i64 size_bytes);
void deallocate_slow(void* memory) noexcept;

/// Memory for a body: recycled or fresh.
template <class Body>
void* take_body(BodyMagazine ThreadCache::*magazine) {
  ThreadCache* const cache = thread_cache();
  void* const memory = cache != nullptr ? (cache->*magazine).take() : nullptr;
  return memory != nullptr ? memory : ::operator new(sizeof(Body));
}
/// Takes the memory of a destroyed body back.
inline void give_body(void* memory, BodyMagazine ThreadCache::*magazine) noexcept {
  ThreadCache* const cache = g_thread_cache;
  if (cache == nullptr || !(cache->*magazine).put(memory)) ::operator delete(memory);
}

}  // namespace resilin
