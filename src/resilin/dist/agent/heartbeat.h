// src/resilin/dist/agent/heartbeat.h -- Heartbeat: a rank tells its agent that it is alive and where it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "resilin/base/api.h"
#include "resilin/base/text.h"
#include "resilin/dist/launch/rank_info.h"

namespace resilin::dist {

/// Beats to the agent of this host, from a thread of its own and at once whenever the step changes. An agent that is lost is no error:
/// the rank goes on, and only a change of membership needs an agent again.
///
/// Errors   StoreError when the agent cannot be reached at the start; UnsupportedError when no agent started this process
/// Threads  any thread may call; in a forked child the object is empty
class RESILIN_API Heartbeat {
 public:
  explicit Heartbeat(const RankInfo& rank, std::chrono::milliseconds interval = std::chrono::milliseconds(200));
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// The step that begins now, and the number of the last collective that was started. Never waits for the agent.
  void report(i64 step, std::uint64_t sequence = 0);
  /// The rank is going to end in good order: that is no failure and it is not started again.
  void leave();
  /// The agent's side of the connection is gone.
  bool agent_lost() const;

 private:
  class Sender;
  std::unique_ptr<Sender> sender_;
};

}  // namespace resilin::dist
