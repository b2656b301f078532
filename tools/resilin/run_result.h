// tools/resilin/run_result.h -- the figures of a finished run, out of its events and its ledger alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "resilin/base/event_log.h"

#include "tools/resilin/ledger.h"

namespace resilin::tool {

/// What result.json holds. Absent: nothing of the kind happened.
struct RunResult {
  std::optional<double> heldout_loss, bigram_entropy;
  i64 steps = 0;
  i64 committed_steps_lost = 0;
  i64 samples_missing = 0, samples_twice = 0;
  std::optional<double> kill_to_next_commit_ms;  // from the first kill to the first step that the next generation committed
  std::optional<double> step_ms_median;
  std::optional<double> respawn_to_full_ms;  // from the start of a new process to the first step with as many ranks as in the beginning
  i64 restarts = 0;                          // of the whole job
  i64 respawns = 0;                          // of single ranks
  std::optional<double> tokens_per_s;        // from the first commit to the last
  std::optional<double> attributed_ft_percent;
  std::string report;  // path
};

/// `launches`: how often the job as a whole was started.
RunResult run_result(const std::vector<Event>& events, const LedgerAccount& account, i64 launches);
/// One JSON object, a member a line.
std::string result_json(const RunResult& result);

}  // namespace resilin::tool
