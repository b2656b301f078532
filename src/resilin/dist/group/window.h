// src/resilin/dist/group/window.h -- Window: memory of each rank that the others read and write without its help.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "resilin/base/api.h"
#include "resilin/dist/group/process_group.h"
#include "resilin/tensor/tensor.h"

namespace resilin::dist {

class SharedSegment;

/// Memory of this process that its host's other processes can map, and that outlives the windows over it: one for each generation, say.
class RESILIN_API WindowMemory {
 public:
  WindowMemory() = default;  // of nothing
  /// Zeros. MemoryError when there is no such memory.
  explicit WindowMemory(std::uint64_t bytes);
  bool defined() const { return segment_ != nullptr; }
  std::uint64_t size_bytes() const;
  /// All of it, as u8; it lives as long as the tensor.
  Tensor tensor() const;

 private:
  friend class Window;
  std::shared_ptr<SharedSegment> segment_;
};

/// Memory of the ranks of one generation.
///
/// What is put is there for the target, and is known to be, once a later `flush` of that rank has come back, or once the target has waited for a
/// later signal: puts before a signal are seen by who has waited for it; among themselves they have no order. Where memory cannot be shared,
/// puts and gets travel as messages, which the target's own process takes whether or not it calls anything.
///
/// Errors   IndexError for bytes outside the target's memory, at the origin and before anything moves; PeerError when a rank died, StaleError
///          when the generation was replaced, at flush, get and wait_signal
/// Threads  any thread may call; copies speak of the same window
class RESILIN_API Window {
 public:
  static constexpr int kSlots = 256;

  /// All ranks call it together, each with the size of its own memory, which begins as zeros.
  Window(ProcessGroup group, std::uint64_t bytes);
  /// Over memory that is there and keeps its bytes; only the slots of signals begin at 0. At most one window at a time.
  Window(ProcessGroup group, const WindowMemory& memory);

  /// Peers reach this memory directly: the target's process need not even run.
  bool is_passive() const;
  std::uint64_t size_bytes(int rank) const;
  /// This rank's memory, as u8; it lives as long as the tensor or the window.
  Tensor tensor() const;
  /// A rank's memory in this process; nothing where it cannot be shared.
  std::optional<std::span<std::byte>> map_remote(int rank) const;

  void put(int rank, std::uint64_t offset, std::span<const std::byte> bytes) const;
  /// Comes back with the bytes.
  void get(int rank, std::uint64_t offset, std::span<std::byte> bytes) const;
  /// Adds to a 64-bit number at a multiple of 8 bytes, and gives back what it was.
  std::uint64_t fetch_add(int rank, std::uint64_t offset, std::uint64_t amount) const;
  /// Writes `desired` when it is `expected`; gives back what it was.
  std::uint64_t compare_swap(int rank, std::uint64_t offset, std::uint64_t expected, std::uint64_t desired) const;
  /// Comes back when all puts and signals of this process to the rank are there.
  void flush(int rank) const;

  /// Counts one up at a slot of the rank, after all puts to it.
  void signal(int rank, int slot) const;
  /// Waits until the slot of this rank has counted so many, and takes them off. TimeoutError when they do not come.
  void wait_signal(int slot, std::uint64_t count, std::chrono::milliseconds timeout) const;

  /// All ranks call it together; nobody reaches this memory any more.
  void destroy();

 private:
  class Body;
  std::shared_ptr<Body> body_;
};

}  // namespace resilin::dist
