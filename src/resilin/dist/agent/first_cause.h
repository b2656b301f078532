// src/resilin/dist/agent/first_cause.h -- Internal: which of several deaths began it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "resilin/base/text.h"
#include "resilin/dist/agent/process_end.h"

namespace resilin::dist {

/// How well something is known about a rank, weakest first. A missed deadline may be anybody's fault; an exit status is the rank's own.
enum class Evidence { Deadline, Heartbeat, Engine, Exit };

/// A rank that is dead, or held to be.
struct Death {
  i64 rank = 0;
  Evidence evidence = Evidence::Exit;
  ProcessEnd end;
  std::string fault;            // the injected fault that did it; empty when none
  std::string evicted_for;      // why the agent killed it; empty when it did not
  std::string error;            // what the rank itself wrote about it; may be empty
  bool reported_other = false;  // it says that it failed because of another rank
  std::chrono::nanoseconds at{0};
};

/// The place of the strongest evidence: what the kernel says before what others say, a process that was killed before one that gave up,
/// a failure of its own before one that is blamed on another rank; of equals the earliest. There must be at least one.
std::size_t first_cause(const std::vector<Death>& deaths);

/// "rank 2 was killed by SIGKILL (Killed), injected by kill:2@50".
std::string describe(const Death& death);

}  // namespace resilin::dist
