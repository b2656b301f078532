// src/resilin/base/ring.h -- Internal: a ring of the last N records, written by one thread and copied by any.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

namespace resilin {

/// The newest N records; a push overwrites the oldest and never waits. One thread pushes; any thread takes snapshots meanwhile.
///
/// Records lie in atomic words. A push announces itself in `started_` before it writes and in `finished_` after, so a snapshot can
/// tell which of the records it copied may have been overwritten under its hands, and leaves those out.
template <class T, std::size_t N>
class Ring {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> && N > 0);

 public:
  Ring() : slots_(std::make_unique<Slot[]>(N)) {}

  void push(const T& record) {
    const std::uint64_t index = finished_.load(std::memory_order_relaxed);
    started_.store(index + 1, std::memory_order_relaxed);
    std::array<std::uint64_t, kWords> words{};
    std::memcpy(words.data(), &record, sizeof(T));
    Slot& slot = slots_[index % N];
    // Release: whoever reads a word of this record also sees the new `started_`.
    for (std::size_t i = 0; i < kWords; ++i) slot[i].store(words[i], std::memory_order_release);
    finished_.store(index + 1, std::memory_order_release);
  }

  /// How many records were ever pushed.
  std::uint64_t pushed() const { return finished_.load(std::memory_order_acquire); }

  /// The records that are still whole, oldest first.
  std::vector<T> snapshot() const {
    const std::uint64_t end = finished_.load(std::memory_order_acquire);
    const std::uint64_t begin = end > N ? end - N : 0;
    std::vector<T> records;
    records.reserve(end - begin);
    for (std::uint64_t index = begin; index < end; ++index) {
      std::array<std::uint64_t, kWords> words;
      for (std::size_t i = 0; i < kWords; ++i) words[i] = slots_[index % N][i].load(std::memory_order_acquire);
      std::memcpy(static_cast<void*>(&records.emplace_back()), words.data(), sizeof(T));
    }
    const std::uint64_t started = started_.load(std::memory_order_relaxed);
    const std::uint64_t first_whole = started > N ? started - N : 0;
    const std::uint64_t lost = first_whole > begin ? std::min(first_whole - begin, end - begin) : 0;
    records.erase(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(lost));
    return records;
  }

 private:
  static constexpr std::size_t kWords = (sizeof(T) + 7) / 8;
  using Slot = std::array<std::atomic<std::uint64_t>, kWords>;

  std::unique_ptr<Slot[]> slots_;
  std::atomic<std::uint64_t> started_{0};
  std::atomic<std::uint64_t> finished_{0};
};

}  // namespace resilin
