// src/resilin/tensor/system_memory.cpp -- mmap and the C heap behind one count of reserved bytes.
#include "resilin/tensor/system_memory.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include <sys/mman.h>

#include "resilin/base/config.h"
#include "resilin/tensor/block.h"
#include "resilin/tensor/memory_limit.h"

namespace resilin {
namespace {

constinit std::atomic<i64> g_reserved_bytes{0};
constinit std::atomic<i64> g_allocations{0};

/// Counts the bytes unless that would pass the limit.
bool reserve(i64 size_bytes) noexcept {
  const i64 limit = system_limit_bytes();
  i64 reserved = g_reserved_bytes.load(std::memory_order_relaxed);
  do {
    if (size_bytes > limit - reserved) return false;
  } while (!g_reserved_bytes.compare_exchange_weak(reserved, reserved + size_bytes, std::memory_order_relaxed));
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void unreserve(i64 size_bytes) noexcept { g_reserved_bytes.fetch_sub(size_bytes, std::memory_order_relaxed); }

void* map(i64 size_bytes) noexcept {
  void* const pages = mmap(nullptr, static_cast<std::size_t>(size_bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

/// Maps more than is needed and gives the ends back.
void* map_aligned(i64 size_bytes, i64 alignment) noexcept {
  void* const pages = map(size_bytes + alignment - kPageBytes);
  if (pages == nullptr) return nullptr;
  char* const first = static_cast<char*>(pages);
  const i64 before =
      (alignment - static_cast<i64>(reinterpret_cast<std::uintptr_t>(first) % static_cast<std::uintptr_t>(alignment))) % alignment;
  const i64 after = alignment - kPageBytes - before;
  if (before > 0) munmap(first, static_cast<std::size_t>(before));
  if (after > 0) munmap(first + before + size_bytes, static_cast<std::size_t>(after));
  return first + before;
}

}  // namespace

i64 system_limit_bytes() {
  static const config::Knob& knob = config::knob("allocator.limit_bytes");
  const i64 limit = knob.integer();
  return limit > 0 ? limit : memory_limit_bytes();
}

i64 system_reserved_bytes() { return g_reserved_bytes.load(std::memory_order_relaxed); }
i64 system_allocations() { return g_allocations.load(std::memory_order_relaxed); }

void* map_pages(i64 size_bytes, i64 alignment) noexcept {
  if (!reserve(size_bytes)) return nullptr;
  void* const pages = alignment > kPageBytes ? map_aligned(size_bytes, alignment) : map(size_bytes);
  if (pages == nullptr) {
    unreserve(size_bytes);
    return nullptr;
  }
  // A refusal leaves small pages, which are right too.
  if (size_bytes >= kHugePageBytes) madvise(pages, static_cast<std::size_t>(size_bytes), MADV_HUGEPAGE);
  return pages;
}

void unmap_pages(void* pages, i64 size_bytes) noexcept {
  munmap(pages, static_cast<std::size_t>(size_bytes));
  unreserve(size_bytes);
}

void* take_heap(i64 size_bytes) noexcept {
  if (!reserve(size_bytes)) return nullptr;
  void* const memory = std::aligned_alloc(kBlockAlignment, static_cast<std::size_t>(size_bytes));
  if (memory == nullptr) unreserve(size_bytes);
  return memory;
}

void give_heap(void* memory, i64 size_bytes) noexcept {
  std::free(memory);
  unreserve(size_bytes);
}

}  // namespace resilin
