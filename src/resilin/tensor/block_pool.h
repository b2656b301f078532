// src/resilin/tensor/block_pool.h -- Internal: the free blocks that all threads share.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>

#include "resilin/tensor/block.h"

namespace resilin {

/// Free blocks of the size classes in lists, and free large blocks ordered by capacity; what passes the watermark goes back to the system.
///
/// The lock guards all members; the system is called without it. Never destroyed: blocks are freed until the process ends.
class BlockPool {
 public:
  static BlockPool& instance();

  /// Fills `out` with blocks of the class from the list, or its first element with a fresh one. Gives back how many; 0 when memory is refused.
  int take_small(int size_class, std::span<void*> out) noexcept;
  void give_small(int size_class, std::span<void* const> blocks) noexcept;
  /// The smallest free block that fits and is at most a quarter larger, else a fresh one; null when memory is refused.
  BlockHeader* take_large(i64 size_bytes) noexcept;
  void give_large(BlockHeader* block) noexcept;
  /// Gives all free blocks to the system.
  void release() noexcept;

  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork_in_parent() { mutex_.unlock(); }
  void unlock_after_fork_in_child() { new (&mutex_) std::mutex; }

 private:
  struct FreeLarge {
    i64 capacity_bytes;
    std::uint64_t age;  // smaller is older
    BlockHeader* block;
  };
  static constexpr int kMaxFreeLarge = 1024;

  BlockPool();
  bool passes_watermark(i64 size_bytes) const { return cached_bytes_ + size_bytes > watermark_bytes_; }
  int find_large(i64 size_bytes) const;
  BlockHeader* remove_large(int position);
  void insert_large(BlockHeader* block);
  int oldest_large() const;

  std::mutex mutex_;
  std::array<BlockHeader*, kSizeClasses> small_{};
  std::array<FreeLarge, kMaxFreeLarge> large_{};  // by capacity; the first large_count_ are in use
  int large_count_ = 0;
  std::uint64_t clock_ = 0;
  i64 cached_bytes_ = 0;
  i64 watermark_bytes_;
};

}  // namespace resilin
