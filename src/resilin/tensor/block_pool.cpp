// src/resilin/tensor/block_pool.cpp -- lists of free small blocks, best fit among free large ones, eviction of the oldest.
#include "resilin/tensor/block_pool.h"

#include <algorithm>
#include <utility>

#include "resilin/base/config.h"
#include "resilin/tensor/memory_limit.h"
#include "resilin/tensor/system_memory.h"

namespace resilin {
namespace {

i64 small_bytes(int size_class) { return capacity_of_class(size_class) + kBlockAlignment; }

BlockHeader* make_small(int size_class) noexcept {
  void* const memory = take_heap(small_bytes(size_class));
  if (memory == nullptr) return nullptr;
  return new (memory) BlockHeader{.size_bytes = 0,
                                  .capacity_bytes = capacity_of_class(size_class),
                                  .next = nullptr,
                                  .mapping = nullptr,
                                  .mapping_bytes = 0,
                                  .size_class = size_class};
}

/// The header ends the first page of the mapping, so that the block starts at a page.
BlockHeader* make_large(i64 size_bytes) noexcept {
  const i64 capacity = round_up(size_bytes, kPageBytes);
  const i64 mapping_bytes = capacity + kPageBytes;
  char* const mapping = static_cast<char*>(map_pages(mapping_bytes, capacity >= kHugePageBytes ? kHugePageBytes : kPageBytes));
  if (mapping == nullptr) return nullptr;
  return new (mapping + kPageBytes - kBlockAlignment) BlockHeader{.size_bytes = 0,
                                                                  .capacity_bytes = capacity,
                                                                  .next = nullptr,
                                                                  .mapping = mapping,
                                                                  .mapping_bytes = mapping_bytes,
                                                                  .size_class = kLargeClass};
}

void give_to_system(BlockHeader* block) noexcept {
  if (block->size_class == kLargeClass) {
    unmap_pages(block->mapping, block->mapping_bytes);
  } else {
    give_heap(block, small_bytes(block->size_class));
  }
}

/// Frees a list that is no longer shared.
void give_list_to_system(BlockHeader* block) noexcept {
  while (block != nullptr) give_to_system(std::exchange(block, block->next));
}

}  // namespace

BlockPool& BlockPool::instance() {
  static BlockPool* const pool = new BlockPool;
  return *pool;
}

BlockPool::BlockPool() : watermark_bytes_(memory_limit_bytes() / ranks_on_host() / 100 * config::integer("allocator.cache_percent")) {}

int BlockPool::take_small(int size_class, std::span<void*> out) noexcept {
  std::size_t taken = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    BlockHeader*& list = small_[static_cast<std::size_t>(size_class)];
    for (; taken < out.size() && list != nullptr; ++taken) out[taken] = std::exchange(list, list->next);
    cached_bytes_ -= static_cast<i64>(taken) * small_bytes(size_class);
  }
  if (taken > 0) return static_cast<int>(taken);
  BlockHeader* const fresh = make_small(size_class);
  out[0] = fresh;
  return fresh == nullptr ? 0 : 1;
}

void BlockPool::give_small(int size_class, std::span<void* const> blocks) noexcept {
  BlockHeader* surplus = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    BlockHeader*& list = small_[static_cast<std::size_t>(size_class)];
    for (void* const memory : blocks) {
      BlockHeader* const block = static_cast<BlockHeader*>(memory);
      BlockHeader*& target = passes_watermark(small_bytes(size_class)) ? surplus : list;
      if (&target == &list) cached_bytes_ += small_bytes(size_class);
      block->next = std::exchange(target, block);
    }
  }
  give_list_to_system(surplus);
}

BlockHeader* BlockPool::take_large(i64 size_bytes) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int position = find_large(size_bytes);
    if (position >= 0) return remove_large(position);
  }
  return make_large(size_bytes);
}

void BlockPool::give_large(BlockHeader* block) noexcept {
  BlockHeader* surplus = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (large_count_ > 0 && (large_count_ == kMaxFreeLarge || passes_watermark(block->mapping_bytes))) {
      BlockHeader* const oldest = remove_large(oldest_large());
      oldest->next = std::exchange(surplus, oldest);
    }
    if (passes_watermark(block->mapping_bytes)) {
      block->next = std::exchange(surplus, block);
    } else {
      insert_large(block);
    }
  }
  give_list_to_system(surplus);
}

void BlockPool::release() noexcept {
  BlockHeader* all = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (large_count_ > 0) {
      BlockHeader* const block = remove_large(large_count_ - 1);
      block->next = std::exchange(all, block);
    }
    for (BlockHeader*& list : small_) {
      while (list != nullptr) {
        BlockHeader* const block = std::exchange(list, list->next);
        block->next = std::exchange(all, block);
      }
    }
    cached_bytes_ = 0;
  }
  give_list_to_system(all);
}

int BlockPool::find_large(i64 size_bytes) const {
  const auto end = large_.begin() + large_count_;
  const auto found =
      std::lower_bound(large_.begin(), end, size_bytes, [](const FreeLarge& free, i64 size) { return free.capacity_bytes < size; });
  const i64 most = round_up(size_bytes, kPageBytes) + size_bytes / 4;
  return found == end || found->capacity_bytes > most ? -1 : static_cast<int>(found - large_.begin());
}

BlockHeader* BlockPool::remove_large(int position) {
  BlockHeader* const block = large_[static_cast<std::size_t>(position)].block;
  std::copy(large_.begin() + position + 1, large_.begin() + large_count_, large_.begin() + position);
  --large_count_;
  cached_bytes_ -= block->mapping_bytes;
  return block;
}

/// Before its equals: the block that is given back last is warm and is taken first.
void BlockPool::insert_large(BlockHeader* block) {
  const auto end = large_.begin() + large_count_;
  const auto place = std::lower_bound(large_.begin(), end, block->capacity_bytes,
                                      [](const FreeLarge& free, i64 size) { return free.capacity_bytes < size; });
  std::copy_backward(place, end, end + 1);
  *place = {block->capacity_bytes, ++clock_, block};
  ++large_count_;
  cached_bytes_ += block->mapping_bytes;
}

int BlockPool::oldest_large() const {
  const auto older = [](const FreeLarge& a, const FreeLarge& b) { return a.age < b.age; };
  return static_cast<int>(std::min_element(large_.begin(), large_.begin() + large_count_, older) - large_.begin());
}

}  // namespace resilin
