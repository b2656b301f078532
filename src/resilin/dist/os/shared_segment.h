// src/resilin/dist/os/shared_segment.h -- Internal: memory that several processes map, without a name that could be left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {

/// Zeroed memory of this process, or a mapping of another's. Children made by fork do not have it.
class SharedSegment {
 public:
  /// MemoryError when there is none.
  static SharedSegment create(std::size_t bytes);
  /// Maps what another process of this host and user has created, by its numbers there. Empty when that is not possible.
  static SharedSegment open(std::int64_t process, int descriptor, std::size_t bytes);

  SharedSegment() = default;
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  ~SharedSegment();

  explicit operator bool() const { return data_ != nullptr; }
  std::span<std::byte> bytes() const { return {data_, bytes_}; }
  /// Of the one that created it, -1 of others.
  int descriptor() const { return descriptor_.get(); }

 private:
  SharedSegment(Descriptor descriptor, std::byte* data, std::size_t bytes);
  static std::byte* map(int descriptor, std::size_t bytes);

  Descriptor descriptor_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Waits until the number is another than `seen`, or for the time; may return early. Works across processes.
void wait_for_change(const std::uint64_t* number, std::uint64_t seen, std::int64_t nanoseconds);
/// Ends those waits.
void tell_change(const std::uint64_t* number);

}  // namespace resilin::dist
