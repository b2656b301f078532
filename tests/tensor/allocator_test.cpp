// tests/tensor/allocator_test.cpp -- size classes, reuse, limits, guards, threads and fork of the allocator.
#include "resilin/tensor/allocator.h"

#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/config.h"
#include "resilin/tensor/block.h"
#include "resilin/tensor/tensor.h"

#include "tests/support/child.h"

namespace resilin {
namespace {

using config::ScopedConfig;
using testing::run_in_child;

constexpr i64 kMiB = i64{1} << 20;

bool is_aligned(const void* block, i64 alignment) {
  return reinterpret_cast<std::uintptr_t>(block) % static_cast<std::uintptr_t>(alignment) == 0;
}

TEST_CASE("a size class holds its sizes and the class below does not") {
  CHECK(size_class_of(0) == 0);
  CHECK(capacity_of_class(kSizeClasses - 1) == kLargeBytes);
  for (i64 size = 0; size < kLargeBytes; size += size < 5000 ? 1 : 61) {
    const int c = size_class_of(size);
    REQUIRE(c >= 0);
    REQUIRE(c < kSizeClasses);
    REQUIRE(capacity_of_class(c) >= size);
    if (c > 0) REQUIRE(capacity_of_class(c - 1) < size);
  }
  CHECK(size_class_of(kLargeBytes - 1) == kSizeClasses - 1);
}

TEST_CASE("blocks of all sizes are aligned, distinct and writable to their last byte") {
  std::vector<std::pair<unsigned char*, i64>> blocks;
  for (const i64 size : {0, 1, 63, 64, 65, 100, 1000, 4096, 100'000, 1'000'000, 1'048'576, 1'500'000, 2'097'152, 5'000'000}) {
    unsigned char* const block = static_cast<unsigned char*>(allocate(size));
    CHECK(is_aligned(block, size >= kHugePageBytes ? kPageBytes : kBlockAlignment));
    std::memset(block, static_cast<int>(blocks.size()), static_cast<std::size_t>(size));
    blocks.emplace_back(block, size);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (i64 at = 0; at < blocks[i].second; at += 97) REQUIRE(blocks[i].first[at] == i);
    if (blocks[i].second > 0) CHECK(blocks[i].first[blocks[i].second - 1] == i);
    deallocate(blocks[i].first);
  }
  deallocate(nullptr);
}

TEST_CASE("a freed block serves the next request of its class without the system") {
  for (const i64 size : {100, 100'000, 3'000'000}) {
    void* const first = allocate(size);
    deallocate(first);
    const i64 before = allocator_stats().system_allocations;
    for (int i = 0; i < 100; ++i) {
      void* const next = allocate(size);
      CHECK(next == first);
      deallocate(next);
    }
    CHECK(allocator_stats().system_allocations == before);
  }
}

TEST_CASE("a large block serves requests up to a fifth smaller and no smaller ones") {
  release_cached();
  void* const block = allocate(10 * kMiB);
  deallocate(block);
  void* const close = allocate(9 * kMiB);
  CHECK(close == block);
  deallocate(close);
  void* const small = allocate(4 * kMiB);
  CHECK(small != block);
  void* const exact = allocate(10 * kMiB);
  CHECK(exact == block);
  deallocate(small);
  deallocate(exact);
}

TEST_CASE("of several free large blocks the one that fits best is taken") {
  release_cached();
  std::array<void*, 3> blocks{allocate(12 * kMiB), allocate(10 * kMiB), allocate(11 * kMiB)};
  for (void* const block : blocks) deallocate(block);
  void* const taken = allocate(10 * kMiB + 4096);
  CHECK(taken == blocks[2]);
  deallocate(taken);
}

TEST_CASE("the statistics count bytes asked for and their highest value") {
  release_cached();
  reset_peak();
  const AllocatorStats start = allocator_stats();
  CHECK(start.peak_in_use_bytes == start.in_use_bytes);
  void* const a = allocate(1000);
  void* const b = allocate(5 * kMiB);
  deallocate(a);
  void* const c = allocate(10);
  const AllocatorStats middle = allocator_stats();
  CHECK(middle.in_use_bytes == start.in_use_bytes + 5 * kMiB + 10);
  CHECK(middle.peak_in_use_bytes == start.in_use_bytes + 5 * kMiB + 1000);
  CHECK(middle.allocations == start.allocations + 3);
  CHECK(middle.reserved_bytes > start.reserved_bytes + 5 * kMiB);
  deallocate(b);
  deallocate(c);
  CHECK(allocator_stats().in_use_bytes == start.in_use_bytes);
  release_cached();
  CHECK(allocator_stats().reserved_bytes == start.reserved_bytes);
  reset_peak();
  CHECK(allocator_stats().peak_in_use_bytes == start.in_use_bytes);
}

TEST_CASE("the limit is kept, cached blocks are given back first, and the refusal names all numbers") {
  release_cached();
  const AllocatorStats start = allocator_stats();
  const i64 limit = start.reserved_bytes + 8 * kMiB;
  const ScopedConfig limited("allocator.limit_bytes", cat(limit));
  void* const a = allocate(5 * kMiB);
  CHECK_THROWS_WITH_AS(allocate(6 * kMiB),
                       cat("allocate: memory refused: 6291456 bytes asked, ", start.in_use_bytes + 5 * kMiB, " bytes in use, limit ", limit,
                           " bytes; the sum must stay below the limit and the system must have it")
                           .c_str(),
                       MemoryError);
  deallocate(a);
  void* const b = allocate(7 * kMiB);  // fits only when the free block of 5 MiB has gone back
  deallocate(b);
  release_cached();
}

TEST_CASE("sizes beyond any machine are refused and negative ones are no sizes") {
  CHECK_THROWS_AS(allocate(i64{1} << 50), MemoryError);
  CHECK_THROWS_AS(allocate(std::numeric_limits<i64>::max()), MemoryError);
  CHECK_THROWS_AS(allocate(-1), ArgumentError);
}

TEST_CASE("blocks may be freed by other threads and outlive the thread that made them") {
  const i64 before = allocator_stats().in_use_bytes;
  std::vector<void*> blocks;
  std::thread([&] {
    for (int i = 1; i < 1000; ++i) blocks.push_back(allocate(i * 37));
  }).join();
  CHECK(allocator_stats().in_use_bytes == before + 37 * 999 * 1000 / 2);
  for (void* const block : blocks) std::memset(block, 1, 1);
  std::thread([&] {
    for (void* const block : blocks) deallocate(block);
  }).join();
  CHECK(allocator_stats().in_use_bytes == before);
}

TEST_CASE("threads that allocate and free at once keep their contents apart") {
  const i64 before = allocator_stats().in_use_bytes;
  std::vector<std::thread> threads;
  std::atomic<int> damaged{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&damaged, t] {
      std::vector<std::pair<unsigned char*, i64>> mine;
      std::uint32_t state = static_cast<std::uint32_t>(t + 1);
      for (int i = 0; i < 20000; ++i) {
        state = state * 1664525 + 1013904223;
        if (mine.size() < 40 && state >> 31 == 0) {
          const i64 size = 1 + (state >> 8) % 3000;
          mine.emplace_back(static_cast<unsigned char*>(allocate(size)), size);
          std::memset(mine.back().first, t, static_cast<std::size_t>(size));
        } else if (!mine.empty()) {
          const auto [block, size] = mine.back();
          if (block[0] != t || block[size - 1] != t) ++damaged;
          deallocate(block);
          mine.pop_back();
        }
      }
      for (const auto& [block, size] : mine) deallocate(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(damaged == 0);
  CHECK(allocator_stats().in_use_bytes == before);
}

struct HoldsTensor {
  Tensor tensor;
};

TEST_CASE("a tensor in a thread-local variable is freed after the thread's cache has gone") {
  const i64 before = allocator_stats().in_use_bytes;
  std::thread([] {
    static thread_local HoldsTensor holder;  // made before the cache, hence destroyed after it
    holder.tensor = Tensor();
    const Shape shape{10};
    holder.tensor = Tensor::allocate(shape, DType::F32);
  }).join();
  CHECK(allocator_stats().in_use_bytes == before);
}

TEST_CASE("a guarded block is filled with NaN, counted, and gone when freed") {
  for (const std::string mode : {"begin", "end"}) {
    CAPTURE(mode);
    const AllocatorStats before = allocator_stats();
    const ScopedConfig guard("allocator.guard", mode);
    float* const block = static_cast<float*>(allocate(12));
    CHECK(allocator_stats().in_use_bytes == before.in_use_bytes + 12);
    for (int i = 0; i < 3; ++i) CHECK(std::isnan(block[i]));
    CHECK(is_aligned(block, mode == "begin" ? 64 : 4));
    deallocate(block);
    CHECK(allocator_stats().in_use_bytes == before.in_use_bytes);
    CHECK(allocator_stats().reserved_bytes == before.reserved_bytes);
  }
}

TEST_CASE("a guarded end lies at the byte after the block") {
  const ScopedConfig guard("allocator.guard", "end");
  for (const i64 size : {1, 12, 64, 4096, 4097, 100'000}) {
    char* const block = static_cast<char*>(allocate(size));
    CHECK(is_aligned(block + size, kPageBytes));
    block[0] = block[size - 1] = 1;
    deallocate(block);
  }
}

TEST_CASE("an access beside a guarded block or after its end of life stops the program") {
  const auto wild_access = [](const char* mode, i64 offset, bool freed) {
    return run_in_child([&] {
      std::signal(SIGSEGV, SIG_DFL);  // the test framework would report it
      const ScopedConfig guard("allocator.guard", mode);
      volatile char* const block = static_cast<char*>(allocate(100));
      if (freed) deallocate(const_cast<char*>(block));
      block[offset] = 1;
      return 0;
    });
  };
  CHECK(wild_access("begin", 0, false) == 0);
  CHECK(wild_access("begin", -1, false) == -SIGSEGV);
  CHECK(wild_access("end", 99, false) == 0);
  CHECK(wild_access("end", 100, false) == -SIGSEGV);
  CHECK(wild_access("end", 50, true) == -SIGSEGV);
}

TEST_CASE("blocks from before and after a change of the guard are freed rightly") {
  const i64 before = allocator_stats().in_use_bytes;
  void* const plain = allocate(100);
  void* guarded = nullptr;
  {
    const ScopedConfig guard("allocator.guard", "end");
    guarded = allocate(100);
    deallocate(plain);
  }
  void* const plain_again = allocate(100);
  deallocate(guarded);
  deallocate(plain_again);
  CHECK(allocator_stats().in_use_bytes == before);
}

TEST_CASE("a child of fork allocates and frees while other threads of the parent did") {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&stop] {
      while (!stop) {
        void* const small = allocate(200'000);
        void* const large = allocate(2 * kMiB);
        deallocate(large);
        deallocate(small);
        release_cached();
      }
    });
  }
  void* const inherited = allocate(1000);
  for (int i = 0; i < 20; ++i) {
    const int status = run_in_child([&] {
      deallocate(inherited);
      for (i64 size = 1; size < 4 * kMiB; size *= 3) deallocate(allocate(size));
      int in_thread = 1;
      std::thread([&] {
        deallocate(allocate(10));
        in_thread = 0;
      }).join();
      return in_thread;
    });
    REQUIRE(status == 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  deallocate(inherited);
}

}  // namespace
}  // namespace resilin
