// src/resilin/dist/agent/chaos.h -- Internal: faults that the agent injects on purpose.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/base/text.h"

namespace resilin::dist {

/// One fault: SIGKILL or SIGSTOP for a rank when it reports a step.
struct ChaosFault {
  enum class Kind { Kill, Stop };
  Kind kind = Kind::Kill;
  i64 rank = 0;
  i64 step = 0;
  std::chrono::nanoseconds pause{0};  // of Stop, until SIGCONT
  std::string text;                   // as it was given
};

struct ChaosPlan {
  std::vector<ChaosFault> faults;
  std::uint64_t seed = 0;

  /// Where in a step of this length the fault strikes: the same for the same seed.
  std::chrono::nanoseconds delay(std::size_t fault, std::chrono::nanoseconds step_length) const;
};

/// Reads "kill:2@50;stop:1@80,3s;seed=7": rank 2 is killed in step 50, rank 1 stopped in step 80 for 3 seconds. A pause is a number with
/// ms or s. ArgumentError naming the part that is none of these.
ChaosPlan parse_chaos(std::string_view text);

}  // namespace resilin::dist
