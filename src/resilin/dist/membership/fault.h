// src/resilin/dist/membership/fault.h -- Internal: what a test may break in the machines, to see that its checks notice.
#pragma once

#include <array>
#include <string_view>

namespace resilin::dist {

/// One fault of the protocol's code. Production has None; there is no knob for it.
enum class Fault {
  None,
  DropPromise,          // the old generation goes on after READY
  EarlyBlob,            // READY says what was true before admission was closed
  CommitEarly,          // COMMIT before the last READY
  IgnoreBase,           // COMMIT without a look at cur
  IgnoreAttempt,        // a decision is taken for the one of another attempt
  OverwriteDecision,    // ABORT is written over whatever is there
  ConcludeAlone,        // a promised member takes its own deadline for an ABORT
  LocalGeneration,      // the next generation follows the members' own greatest, not top
  AcceptOldGeneration,  // frames of an older generation count
  NobodySawMeansNo,     // a vote whose outcome nobody saw counts as no
  NoOverlap,            // a list without a member of base is fine
  VoteUnhealed,         // a joiner votes yes before it has the state
};
constexpr std::array<std::string_view, 13> enum_names(Fault*) {
  return {"none",
          "drop_promise",
          "early_blob",
          "commit_early",
          "ignore_base",
          "ignore_attempt",
          "overwrite_decision",
          "conclude_alone",
          "local_generation",
          "accept_old_generation",
          "nobody_saw_means_no",
          "no_overlap",
          "vote_unhealed"};
}

}  // namespace resilin::dist
