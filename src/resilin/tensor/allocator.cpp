// src/resilin/tensor/allocator.cpp -- allocate and deallocate: magazines first, then the shared pool, then the system; thread caches and counters.
#include "resilin/tensor/allocator.h"

#include <algorithm>
#include <mutex>
#include <new>

#include <pthread.h>

#include "resilin/tensor/block_pool.h"
#include "resilin/tensor/guard.h"
#include "resilin/tensor/system_memory.h"
#include "resilin/tensor/thread_cache.h"

namespace resilin {

[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCache* g_thread_cache = nullptr;

namespace {

constinit thread_local bool g_thread_is_ending = false;

/// What ended threads and flushes have added up, and the caches of the living. Lock order: this mutex, then the pool's, then the guards'.
struct Registry {
  std::mutex mutex;  // guards `first` and the links; the counters are atomic
  ThreadCache* first = nullptr;
  std::atomic<i64> in_use_bytes{0};
  std::atomic<i64> peak_in_use_bytes{0};
  std::atomic<i64> allocations{0};

  void raise_peak(i64 candidate) {
    i64 peak = peak_in_use_bytes.load(std::memory_order_relaxed);
    while (candidate > peak && !peak_in_use_bytes.compare_exchange_weak(peak, candidate, std::memory_order_relaxed)) {}
  }
  void link(ThreadCache* cache) {
    const std::lock_guard<std::mutex> lock(mutex);
    cache->next = first;
    if (first != nullptr) first->previous = cache;
    first = cache;
  }
  /// Requires the lock.
  void absorb(ThreadCache* cache) {
    cache->flush_counters();
    allocations.fetch_add(cache->allocations.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
    (cache->previous != nullptr ? cache->previous->next : first) = cache->next;
    if (cache->next != nullptr) cache->next->previous = cache->previous;
    cache->previous = cache->next = nullptr;
  }
};

Registry& registry() {
  static Registry* const registry = new Registry;  // never destroyed: threads end until the process does
  return *registry;
}

void lock_for_fork() {
  registry().mutex.lock();
  BlockPool::instance().lock_for_fork();
  lock_guards_for_fork();
}

void unlock_in_parent() {
  unlock_guards_after_fork_in_parent();
  BlockPool::instance().unlock_after_fork_in_parent();
  registry().mutex.unlock();
}

/// Only the forking thread lives on. The caches of the others may have been caught half way through a change: their counts are kept, their
/// blocks are not used again.
void unlock_in_child() {
  unlock_guards_after_fork_in_child();
  BlockPool::instance().unlock_after_fork_in_child();
  for (ThreadCache* cache = registry().first; cache != nullptr;) {
    ThreadCache* const next = cache->next;
    if (cache != g_thread_cache) registry().absorb(cache);
    cache = next;
  }
  new (&registry().mutex) std::mutex;
}

void release_magazines(ThreadCache& cache) noexcept {
  for (int c = 0; c < kSizeClasses; ++c) {
    Magazine<kMagazineBlocks>& magazine = cache.blocks[static_cast<std::size_t>(c)];
    BlockPool::instance().give_small(c, {magazine.items.data(), static_cast<std::size_t>(magazine.count)});
    magazine.count = 0;
  }
  for (BodyMagazine* bodies : cache.all_bodies()) {
    while (void* const memory = bodies->take()) ::operator delete(memory);
  }
}

/// Runs when its thread ends. Tensors that are freed later on the same thread find no cache.
struct ThreadEnd {
  ~ThreadEnd() {
    g_thread_is_ending = true;
    ThreadCache* const cache = std::exchange(g_thread_cache, nullptr);
    if (cache == nullptr) return;
    release_magazines(*cache);
    {
      const std::lock_guard<std::mutex> lock(registry().mutex);
      registry().absorb(cache);
    }
    delete cache;
  }
};

/// Without a cache there is nobody to count for the thread.
void count_in_registry(i64 size_bytes, i64 calls) {
  registry().raise_peak(registry().in_use_bytes.fetch_add(size_bytes, std::memory_order_relaxed) + size_bytes);
  registry().allocations.fetch_add(calls, std::memory_order_relaxed);
}

BlockHeader* take_small(ThreadCache* cache, i64 size_bytes) noexcept {
  const int size_class = size_class_of(size_bytes);
  if (cache == nullptr) {
    void* block = nullptr;
    BlockPool::instance().take_small(size_class, {&block, 1});
    return static_cast<BlockHeader*>(block);
  }
  Magazine<kMagazineBlocks>& magazine = cache->blocks[static_cast<std::size_t>(size_class)];
  if (magazine.count == 0) {
    const std::size_t wanted = static_cast<std::size_t>((magazine_blocks(size_class) + 1) / 2);
    magazine.count = BlockPool::instance().take_small(size_class, {magazine.items.data(), wanted});
  }
  return static_cast<BlockHeader*>(magazine.take());
}

/// Null when memory is refused.
void* try_allocate(ThreadCache* cache, i64 size_bytes, GuardMode mode) {
  if (mode != GuardMode::Off) return allocate_guarded(size_bytes, mode);
  BlockHeader* const block = size_bytes < kLargeBytes ? take_small(cache, size_bytes) : BlockPool::instance().take_large(size_bytes);
  if (block == nullptr) return nullptr;
  block->size_bytes = size_bytes;
  return memory_of(block);
}

/// Reads the knob and, when guards are off, lets the fast path of this thread skip it until the knob changes.
GuardMode guard_mode(ThreadCache* cache) {
  static const config::Knob& knob = config::knob("allocator.guard");
  const std::uint64_t generation = knob.generation();
  const GuardMode mode = static_cast<GuardMode>(knob.integer());
  if (cache != nullptr) {
    cache->guard_knob = &knob;
    cache->unguarded_generation = mode == GuardMode::Off ? generation : 0;
  }
  return mode;
}

}  // namespace

void* allocate_slow(i64 size_bytes) {
  if (size_bytes < 0) throw ArgumentError(cat("allocate: negative size: ", size_bytes, " bytes; it must be >= 0"));
  ThreadCache* const cache = thread_cache();
  const GuardMode mode = guard_mode(cache);
  constexpr i64 kMostBytes = i64{1} << 56;  // beyond any address space; keeps sums of sizes in range
  void* block = size_bytes > kMostBytes ? nullptr : try_allocate(cache, size_bytes, mode);
  if (block == nullptr && size_bytes <= kMostBytes) {
    release_cached();
    block = try_allocate(cache, size_bytes, mode);
  }
  if (block == nullptr) {
    throw MemoryError(cat("allocate: memory refused: ", size_bytes, " bytes asked, ", allocator_stats().in_use_bytes,
                          " bytes in use, limit ", system_limit_bytes(),
                          " bytes; the sum must stay below the limit and the system must have it"));
  }
  if (cache != nullptr) {
    cache->count_taken(size_bytes);
  } else {
    count_in_registry(size_bytes, 1);
  }
  return block;
}

void deallocate_slow(void* memory) noexcept {
  if (memory == nullptr) return;
  ThreadCache* const cache = thread_cache();
  if (g_guarded_blocks.load(std::memory_order_relaxed) != 0) {
    const i64 size_bytes = deallocate_guarded(memory);
    if (size_bytes >= 0) return cache != nullptr ? cache->count_given(size_bytes) : count_in_registry(-size_bytes, 0);
  }
  BlockHeader* const block = header_of(memory);
  const int size_class = block->size_class;
  const i64 size_bytes = block->size_bytes;
  if (size_class == kLargeClass) {
    BlockPool::instance().give_large(block);
  } else if (cache == nullptr) {
    void* const one = block;
    BlockPool::instance().give_small(size_class, {&one, 1});
  } else {
    // Half of a full magazine goes to the pool, so that neither the next call nor the one after needs it.
    Magazine<kMagazineBlocks>& magazine = cache->blocks[static_cast<std::size_t>(size_class)];
    if (magazine.count >= magazine_blocks(size_class)) {
      const int surplus = (magazine.count + 1) / 2;
      magazine.count -= surplus;
      BlockPool::instance().give_small(size_class, {magazine.items.data() + magazine.count, static_cast<std::size_t>(surplus)});
    }
    magazine.put(block);
  }
  if (cache != nullptr) {
    cache->count_given(size_bytes);
  } else {
    count_in_registry(-size_bytes, 0);
  }
}

ThreadCache* make_thread_cache() {
  if (g_thread_is_ending) return nullptr;
  guard_mode(nullptr);  // throws, if the knob is wrong, before anything is made
  static const int fork_handlers = pthread_atfork(lock_for_fork, unlock_in_parent, unlock_in_child);
  static_cast<void>(fork_handlers);
  static thread_local ThreadEnd end;
  ThreadCache* const cache = new (std::nothrow) ThreadCache;
  if (cache == nullptr) return nullptr;
  registry().link(cache);
  g_thread_cache = cache;
  guard_mode(cache);
  return cache;
}

void ThreadCache::flush_counters() {
  Registry& all = registry();
  const i64 peak = pending_peak_bytes.exchange(0, std::memory_order_relaxed);
  const i64 pending = pending_bytes.exchange(0, std::memory_order_relaxed);
  all.raise_peak(all.in_use_bytes.fetch_add(pending, std::memory_order_relaxed) + peak);
}

void* allocate(i64 size_bytes) {
  void* const block = take_recycled(size_bytes);
  return block != nullptr ? block : allocate_slow(size_bytes);
}

void deallocate(void* block) noexcept {
  if (!give_recycled(block)) deallocate_slow(block);
}

AllocatorStats allocator_stats() {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  AllocatorStats stats{.in_use_bytes = all.in_use_bytes.load(std::memory_order_relaxed),
                       .reserved_bytes = system_reserved_bytes(),
                       .peak_in_use_bytes = 0,
                       .allocations = all.allocations.load(std::memory_order_relaxed),
                       .system_allocations = system_allocations()};
  i64 highest = stats.in_use_bytes;
  for (const ThreadCache* cache = all.first; cache != nullptr; cache = cache->next) {
    stats.in_use_bytes += cache->pending_bytes.load(std::memory_order_relaxed);
    highest += cache->pending_peak_bytes.load(std::memory_order_relaxed);
    stats.allocations += cache->allocations.load(std::memory_order_relaxed);
  }
  stats.peak_in_use_bytes = std::max(highest, all.peak_in_use_bytes.load(std::memory_order_relaxed));
  return stats;
}

void reset_peak() {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.peak_in_use_bytes.store(0, std::memory_order_relaxed);
  for (ThreadCache* cache = all.first; cache != nullptr; cache = cache->next) {
    cache->pending_peak_bytes.store(cache->pending_bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
}

void release_cached() {
  if (ThreadCache* const cache = g_thread_cache) release_magazines(*cache);
  BlockPool::instance().release();
}

}  // namespace resilin
