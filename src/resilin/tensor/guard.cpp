// src/resilin/tensor/guard.cpp -- mappings with an inaccessible page, found again by the address of their block.
#include "resilin/tensor/guard.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include <sys/mman.h>

#include "resilin/tensor/block.h"
#include "resilin/tensor/system_memory.h"

namespace resilin {

constinit std::atomic<i64> g_guarded_blocks{0};

namespace {

struct Mapping {
  void* pages;
  i64 mapping_bytes;
  i64 size_bytes;
};

/// The header of a guarded block could not lie before it, so a table keeps what is known.
struct GuardTable {
  std::mutex mutex;  // guards `mappings`
  std::unordered_map<void*, Mapping> mappings;
};

GuardTable& table() {
  static GuardTable* const table = new GuardTable;  // never destroyed: blocks are freed until the process ends
  return *table;
}

}  // namespace

void* allocate_guarded(i64 size_bytes, GuardMode mode) {
  const i64 data_bytes = round_up(size_bytes > 0 ? size_bytes : 1, kPageBytes);
  const i64 mapping_bytes = data_bytes + kPageBytes;
  char* const pages = static_cast<char*>(map_pages(mapping_bytes, kPageBytes));
  if (pages == nullptr) return nullptr;
  char* const data = mode == GuardMode::Begin ? pages + kPageBytes : pages;
  char* const inaccessible = mode == GuardMode::Begin ? pages : pages + data_bytes;
  void* const block = mode == GuardMode::Begin ? data : data + data_bytes - size_bytes;
  std::memset(data, 0xff, static_cast<std::size_t>(data_bytes));
  if (mprotect(inaccessible, static_cast<std::size_t>(kPageBytes), PROT_NONE) != 0) {
    unmap_pages(pages, mapping_bytes);
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(table().mutex);
  table().mappings[block] = {pages, mapping_bytes, size_bytes};
  g_guarded_blocks.fetch_add(1, std::memory_order_relaxed);
  return block;
}

i64 deallocate_guarded(void* block) noexcept {
  Mapping mapping{};
  {
    const std::lock_guard<std::mutex> lock(table().mutex);
    const auto found = table().mappings.find(block);
    if (found == table().mappings.end()) return -1;
    mapping = found->second;
    table().mappings.erase(found);
    g_guarded_blocks.fetch_sub(1, std::memory_order_relaxed);
  }
  unmap_pages(mapping.pages, mapping.mapping_bytes);
  return mapping.size_bytes;
}

void lock_guards_for_fork() { table().mutex.lock(); }
void unlock_guards_after_fork_in_parent() { table().mutex.unlock(); }
void unlock_guards_after_fork_in_child() { new (&table().mutex) std::mutex; }

}  // namespace resilin
