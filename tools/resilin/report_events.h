// tools/resilin/report_events.h -- what events.jsonl of a run says, with whatever is malformed left out and counted.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resilin/base/text.h"

namespace resilin::tool {

/// What is not known.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Times are seconds from the first event on.
struct CommitEvent {
  double t_s = 0;
  i64 step = 0;
  i64 generation = 0;
  i64 world = 0;
  double loss = kUnknown;
  double tokens_per_s = kUnknown;
  double step_ms = kUnknown;
  double ft_ms = kUnknown;
};
struct StepEvent {
  i64 rank = 0;
  i64 life = 0;
  i64 generation = 0;
  i64 step = 0;
  double begin_s = 0;
  double end_s = 0;
  bool healing = false;
};
struct KillEvent {
  double t_s = 0;
  i64 rank = 0;
  i64 life = 0;
  i64 step = -1;
  i64 signal = 0;     // 0: it ended by itself
  std::string cause;  // of an end by itself
};
struct GenerationEvent {
  double t_s = 0;
  i64 generation = 0;
  i64 world = 0;
  i64 step = 0;
  std::string cause;
};
struct HealEvent {
  double t_s = 0;
  i64 rank = 0;
  i64 life = 0;
  i64 generation = 0;
  i64 step = 0;
  double bytes = kUnknown;
  double ms = kUnknown;
};
struct Life {
  double start_s = kUnknown;
  double exit_s = kUnknown;
  std::string cause;
  bool left = false;  // in good order
};

/// Where the time of a life went.
inline constexpr std::array<std::string_view, 5> kGoodputParts = {"train", "data", "checkpoint", "recover", "idle"};
struct Goodput {
  std::array<double, 5> parts_s{};
  double ft_s = kUnknown;
};

using LifeKey = std::pair<i64, i64>;  // rank, life

struct RunEvents {
  i64 events = 0;
  i64 unreadable = 0;  // lines that are no event
  double begin_unix_s = kUnknown;
  double end_s = 0;
  std::vector<CommitEvent> commits;          // by time; of each step the first
  std::vector<StepEvent> steps;              // by begin
  std::vector<KillEvent> kills;              // by time: those of the agent that end a process, and ends that nobody asked for
  std::vector<KillEvent> signals;            // the others: stop and continue
  std::vector<GenerationEvent> generations;  // ascending, each when the first rank was in it
  std::vector<HealEvent> heals;              // by time
  std::map<LifeKey, Life> lives;
  std::map<LifeKey, Goodput> goodput;
  i64 planned_steps = -1, batch = -1, parameters = -1, first_step = -1;
  i64 held_out_step = -1;
  double held_out_loss = kUnknown;
  double bigram_entropy = kUnknown;
  std::string sample;
};

/// Reads a file of events; none when there is no such file. Throws IoError when it cannot be read.
RunEvents read_events(const std::string& path);

}  // namespace resilin::tool
