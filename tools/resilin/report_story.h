// tools/resilin/report_story.h -- what follows from the events of a run: markers, recoveries and the figures of its header.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/resilin/ledger.h"
#include "tools/resilin/report_events.h"

namespace resilin::tool {

enum class MarkerKind { Kill, Shrink, Join, Heal };
constexpr std::array<std::string_view, 4> enum_names(const MarkerKind*) { return {"kill", "shrink", "join", "heal"}; }

/// Something that befell the run, to be drawn at its time or step.
struct Marker {
  MarkerKind kind = MarkerKind::Kill;
  double t_s = 0;
  i64 step = 0;
  std::string text;
};

/// How the run got over one kill; kUnknown where that did not happen.
struct Recovery {
  KillEvent kill;
  double to_commit_ms = kUnknown;  // to the first commit of a later generation
  i64 commit_step = -1;
  double to_respawn_ms = kUnknown;  // to the start of the rank's next life
  double to_full_ms = kUnknown;     // from there to a generation with as many ranks as before
  double heal_ms = kUnknown;
  double heal_bytes = kUnknown;
};

struct Story {
  RunEvents run;
  std::vector<Marker> markers;  // by kind, then time
  std::vector<Recovery> recoveries;
  i64 full_world = 0;
  double tokens_per_s = kUnknown;   // median of the steps in the full world
  double ft_share = kUnknown;       // of the steps' time, what vote, digest and ledger cost
  double goodput_share = kUnknown;  // train in all that was reported
  std::vector<LifeKey> unreported;  // lives without a goodput event
  double median_to_commit_ms = kUnknown;
  double median_to_full_ms = kUnknown;
  std::optional<LedgerAccount> account;
  std::string ledger_problem;  // why there is no account
};

Story make_story(RunEvents run);
/// What is written of one kill: "kill of rank 2 at step 50".
std::string kill_text(const KillEvent& kill);
/// The median of those that are known; kUnknown when there are none.
double median_known(std::vector<double> values);

}  // namespace resilin::tool
