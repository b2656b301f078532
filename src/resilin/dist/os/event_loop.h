// src/resilin/dist/os/event_loop.h -- Internal: one thread that waits for many descriptors.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {

/// Calls a function when its descriptor is ready. One thread uses it; only `wake` is for others.
class EventLoop {
 public:
  struct Ready {
    bool readable = false;  // or closed by the other side, or broken: reading tells
    bool writable = false;
  };
  using Callback = std::function<void(Ready)>;

  EventLoop();
  /// Watches a descriptor until `remove`; callbacks may add and remove, themselves too.
  void add(int descriptor, Callback callback);
  void watch_writing(int descriptor, bool wanted);
  void remove(int descriptor);
  /// Waits for something to be ready, at most this long, and calls what is due.
  void run_once(std::optional<std::chrono::nanoseconds> timeout);
  /// Ends the wait of `run_once`, now or, when none is under way, of the next. From any thread.
  void wake();

 private:
  struct Watched {
    std::uint64_t ticket = 0;  // distinguishes two uses of one number
    std::shared_ptr<Callback> callback;
  };

  Descriptor epoll_, wake_;
  std::map<int, Watched> watched_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace resilin::dist
