// src/resilin/base/spin_lock.h -- Internal: a lock of one byte for what takes nanoseconds.
#pragma once

#include <atomic>

#include <sched.h>

namespace resilin {

/// For std::lock_guard. Who waits gives way to other threads; nothing that takes long or waits may happen inside.
class SpinLock {
 public:
  void lock() noexcept {
    while (is_locked_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  void unlock() noexcept { is_locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_locked_{false};
};

}  // namespace resilin
