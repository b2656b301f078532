// src/resilin/dist/recorder/analyze.h -- which rank caused what, told from the ranks' recordings alone.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/dist/recorder/recording.h"

namespace resilin::dist {

enum class FindingKind {
  DeadRank,          // no sign of life, or ended without leaving
  MissingRecording,  // others wait for a rank of which there is no recording
  MissingOp,         // went past an operation that the others have
  ExtraOp,           // has an operation that the others do not have
  Mismatch,          // the same operation, with other type, size, reduction or root
  Stuck,             // alive, and does not come
  Partition,         // alive and there, but bytes do not arrive
  WaitCycle,         // ranks wait for one another in different groups
  Straggler,         // slow and healthy: never a culprit
};
constexpr std::array<std::string_view, 9> enum_names(const FindingKind*) {
  return {"dead rank", "missing recording", "missing operation", "extra operation", "mismatch",
          "stuck",     "partition",         "wait cycle",        "straggler"};
}

/// One thing that went wrong, or is worth knowing.
struct Finding {
  FindingKind kind = FindingKind::DeadRank;
  bool blames = true;                    // the ranks are a cause, not only remarkable
  std::vector<std::int32_t> ranks = {};  // launch ranks, ascending
  std::string group = {};                // name; empty: of no group
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;
  std::uint64_t time_ns = 0;  // in the clock of the lowest rank's recording
  std::string words = {};     // one sentence
  std::vector<std::string> evidence = {};
};

struct AnalyzeOptions {
  std::uint64_t stuck_floor_ns = 60'000'000'000;  // a rank that others wait for is stuck after this time ...
  std::uint64_t stuck_steps = 20;                 // ... and this many of its median steps
  std::uint64_t silent_floor_ns = 1'000'000'000;  // a rank is dead after this time without a beat ...
  std::uint64_t silent_beats = 5;                 // ... and this many intervals of its beats
};

/// What a recording says about its rank, in the common clock.
struct RankSummary {
  std::int32_t rank = 0;
  std::string host;
  std::string source;
  std::uint64_t step = 0;
  std::uint64_t last_sign_ns = 0;
  std::int64_t clock_ahead_ns = 0;  // its clock's reading minus the common clock's
  std::uint64_t clock_error_ns = 0;
  std::string last_operation;
};

struct Analysis {
  std::vector<Finding> findings;  // causes first, each in the order of time
  std::vector<RankSummary> ranks;
};

/// Recordings of one job, each rank's newest if there are several. A pure function: equal recordings give equal findings.
RESILIN_API Analysis analyze(std::span<const Recording> recordings, const AnalyzeOptions& options = {});

/// The findings as lines for people, and as JSON.
RESILIN_API std::string analysis_text(const Analysis& analysis);
RESILIN_API std::string analysis_json(const Analysis& analysis);

}  // namespace resilin::dist
