// src/resilin/dist/transport/peer_processes.h -- Internal: sees peers of this host end, and ends a sleep when one does.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {

/// The processes of a transport's peers. The kernel tells of an end at once, before anybody has reaped the process.
class PeerProcesses {
 public:
  /// `descriptor()` becomes readable with this one too. UnsupportedError when the system gives no descriptor.
  explicit PeerProcesses(int engine_descriptor);

  /// StoreError when the process cannot be watched.
  void watch(int peer, std::int64_t process);
  int descriptor() const { return sleep_.get(); }
  /// A peer whose process has ended, each once.
  std::optional<int> next_ended();

 private:
  Descriptor ends_;   // ready when a process has ended
  Descriptor sleep_;  // ready when ends_ or the engine is
  std::map<int, Descriptor> processes_;
  std::deque<int> gone_;  // before they were watched
};

}  // namespace resilin::dist
