// src/resilin/parallel/commitment.h -- Internal: which steps are committed, told between the group's thread and the one that trains.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "resilin/dist/group/process_group.h"
#include "resilin/dist/membership/step_votes.h"
#include "resilin/parallel/healing.h"

namespace resilin::parallel {

/// The vote that is open now, and who takes part in it.
struct VotePlace {
  std::uint64_t generation = 0;
  std::uint64_t vote = 0;
  std::uint64_t steps = 0;    // applied so far, of the lineage
  std::uint64_t history = 0;  // their digest
  int rank = 0;
  int size = 1;
  bool has_state = false;
  std::vector<int> donors;  // ranks that had the state when the generation began
  std::vector<int> takers;  // and that had not
};

/// Runs the machine StepVotes (dist/membership/step_votes.h) on what really happens: generations come in the group's thread, sums and votes in the one
/// that trains. Whatever the machine wants done waits in order until the training thread takes it.
class Commitment {
 public:
  // In the group's thread: ChangeRules.
  std::string close();
  void reopen();
  void install(const dist::GenerationInfo& info);

  // In the training thread.
  VotePlace place() const;
  /// All gradients of the vote are here, summed; or this rank failed at its part, and casts no.
  void computed(const VotePlace& place, bool is_fine);
  /// What all ranks have cast.
  void voted(const VotePlace& place, const std::vector<bool>& yes);
  void healed(const VotePlace& place, const StateLabel& label);
  /// What is to be done, in order. Waits for something to do, at most for the time.
  std::vector<dist::StepAction> take(std::chrono::milliseconds patience);

 private:
  void add(std::vector<dist::StepAction> actions);
  void feed_computed();

  mutable std::mutex mutex_;  // guards all of the below
  std::condition_variable changed_;
  std::optional<dist::StepVotes> votes_;  // since the first generation
  std::uint64_t vote_ = 0;
  int rank_ = 0, size_ = 1;
  std::vector<int> donors_, takers_;
  /// What `computed` said last: the machine does not listen while admission is closed, and must know before this rank's vote can go out.
  struct Computed {
    std::uint64_t generation = 0;
    std::uint64_t vote = 0;
    bool is_fine = true;
  };
  std::optional<Computed> computed_;
  std::vector<dist::StepAction> todo_;
};

}  // namespace resilin::parallel
