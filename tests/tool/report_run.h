// tests/tool/report_run.h -- Internal: a made-up training run, with the files that a real one leaves.
#pragma once

#include <string>
#include <vector>

#include "resilin/base/text.h"

namespace resilin::testing {

/// A run of four ranks in which rank 2 is killed in a step, the others go on, and its next life joins and heals.
struct MadeRun {
  i64 steps = 400;
  i64 kill_step = 50;
  i64 join_step = 60;
  i64 begin_us = 1'780'000'000'000'000;

  // Of the times that follow: what a figure must show.
  double kill_s = 0;
  double shrink_s = 0;
  double next_commit_s = 0;
  double respawn_s = 0;
  double join_s = 0;
  double end_s = 0;
  std::vector<std::string> events;  // the lines of events.jsonl

  /// Writes events.jsonl, the ledger and result.json.
  void write(const std::string& folder) const;
};

MadeRun make_run(i64 steps = 400, i64 kill_step = 50, i64 join_step = 60);

}  // namespace resilin::testing
