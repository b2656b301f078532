// src/resilin/dist/membership/step_votes.h -- Internal: which steps of training are committed, as a pure machine beside Member.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "resilin/base/reflect.h"
#include "resilin/dist/membership/fault.h"
#include "resilin/dist/membership/records.h"

namespace resilin::dist {

enum class Vote { None, Yes, No };
constexpr std::array<std::string_view, 3> enum_names(Vote*) { return {"none", "yes", "no"}; }

/// What a member says of its steps in READY.
struct StepBlob {
  std::uint64_t generation = 0;
  std::uint64_t vote = 0;    // the number of the first vote whose outcome it has not seen
  Vote cast = Vote::None;    // in that vote
  std::uint64_t step = 0;    // applied steps
  std::uint64_t digest = 0;  // of all of them
  bool has_state = false;    // false: a joiner that has not been healed
  static constexpr auto fields() {
    return std::tuple{field("generation", &StepBlob::generation),
                      field("vote", &StepBlob::vote),
                      field("cast", &StepBlob::cast),
                      field("step", &StepBlob::step),
                      field("digest", &StepBlob::digest),
                      field("has_state", &StepBlob::has_state)};
  }
};

/// What became of the votes that were open when a generation ended, alike for all who read the same blobs.
///
/// A vote that passed was seen by all in it up to their yes, so nobody is more than one step ahead: whoever is behind was in doubt about a vote
/// that somebody saw pass. Votes that failed may have taken others further in number, not in steps.
struct Outcome {
  std::uint64_t seen_step = 0;  // steps that somebody saw pass
  Vote in_doubt = Vote::No;     // of the vote that all of base voted on last
  bool has_state = false;       // somebody of base has the state
  bool agrees = true;           // all who have it have the same afterwards
  std::uint64_t step = 0;       // theirs
  std::uint64_t digest = 0;
};
Outcome outcome_of(const std::vector<StepBlob>& of_base, Fault fault = Fault::None);
/// The digest after one more applied step, which vote (generation, vote) committed.
std::uint64_t digest_after(std::uint64_t digest, std::uint64_t generation, std::uint64_t vote);

namespace step_event {
/// This rank's part of the vote's step is computed, or failed.
struct Computed {
  std::uint64_t generation = 0;
  std::uint64_t vote = 0;
  bool is_fine = true;
};
/// The rank's gradients came in.
struct ContributionHeard {
  std::uint64_t rank = 0;
  std::uint64_t generation = 0;
  std::uint64_t vote = 0;
};
struct VoteHeard {
  std::uint64_t rank = 0;
  std::uint64_t generation = 0;
  std::uint64_t vote = 0;
  bool is_yes = false;
};
/// A joiner holds the state of an old member.
struct Healed {
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
  std::uint64_t digest = 0;
};
}  // namespace step_event
using StepEvent = std::variant<step_event::Computed, step_event::ContributionHeard, step_event::VoteHeard, step_event::Healed>;

namespace step_action {
/// Compute this vote's step.
struct Compute {
  std::uint64_t generation = 0;
  std::uint64_t vote = 0;
};
struct Contribute {
  std::uint64_t generation = 0;
  std::uint64_t vote = 0;
};
/// All gradients of the vote are here: its Work succeeded.
struct WorkDone {
  std::uint64_t generation = 0;
  std::uint64_t vote = 0;
};
struct Cast {
  std::uint64_t generation = 0;
  std::uint64_t vote = 0;
  bool is_yes = false;
};
/// Apply the kept gradients of this vote as this step. No communication.
struct Apply {
  std::uint64_t step = 0;
  std::uint64_t generation = 0;
  std::uint64_t vote = 0;
};
/// Throw the gradients of this vote away and repeat its step.
struct Discard {
  std::uint64_t generation = 0;
  std::uint64_t vote = 0;
};
/// Pull the state from this rank, which has it.
struct Heal {
  std::uint64_t rank = 0;
};
/// Nobody has the state any more: only a checkpoint does.
struct StateLost {};
/// Members with the state differ in it.
struct Diverged {};
}  // namespace step_action
using StepAction = std::variant<step_action::Compute, step_action::Contribute, step_action::WorkDone, step_action::Cast, step_action::Apply,
                                step_action::Discard, step_action::Heal, step_action::StateLost, step_action::Diverged>;

/// Votes of one member: a step is committed when all members of the generation voted yes on it.
///
/// Vote k of a generation is about one try of the next step. Yes: all gradients of the try are here. After yes the member is in doubt until it
/// has seen all votes: n yes, and it applies; one no, and it discards and repeats. A generation that ends leaves members in doubt; the blobs
/// of its READYs tell all of them the same outcome. Frames that come early, or while admission is closed, are kept; older ones are dropped.
class StepVotes {
 public:
  explicit StepVotes(std::uint64_t instance, Fault fault = Fault::None) : instance_(instance), fault_(fault) {}

  std::vector<StepAction> step(const StepEvent& event);
  /// Nothing of the generation succeeds from here on, until it is opened again; gives back the StepBlob of READY.
  std::string close_admission();
  std::vector<StepAction> open_admission();
  /// Ends the generation for good; only `install` goes on.
  void revoke() { is_revoked_ = true; }
  std::vector<StepAction> install(const Attempt& commit);

  std::uint64_t generation() const { return generation_; }
  std::uint64_t applied_steps() const { return step_; }
  std::uint64_t digest() const { return digest_; }
  bool has_state() const { return has_state_; }

 private:
  struct Tally {
    std::vector<bool> contributed;
    std::vector<Vote> votes;
  };

  void handle(const step_event::Computed& event);
  void handle(const step_event::ContributionHeard& event);
  void handle(const step_event::VoteHeard& event);
  void handle(const step_event::Healed& event);
  Tally* tally(std::uint64_t rank, std::uint64_t generation, std::uint64_t vote);
  bool is_open() const { return generation_ != 0 && !is_closed_ && !is_revoked_ && !is_stopped_; }
  bool advance_once();
  void advance();
  void cast(bool is_yes);
  void settle(Vote outcome);
  void begin_vote();
  StepBlob blob() const;
  void resolve(const Attempt& commit);

  std::uint64_t instance_;
  Fault fault_;
  std::uint64_t generation_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t rank_ = 0;
  std::uint64_t vote_ = 0;
  bool is_computed_ = false;
  bool work_done_ = false;
  Vote cast_ = Vote::None;
  std::uint64_t step_ = 0;
  std::uint64_t digest_ = 0;
  bool has_state_ = false;
  bool is_closed_ = false;
  bool is_revoked_ = false;
  bool is_stopped_ = false;                                           // the state is lost or differs
  std::map<std::pair<std::uint64_t, std::uint64_t>, Tally> tallies_;  // (generation, vote)
  StepBlob early_blob_;                                               // for Fault::EarlyBlob
  std::vector<StepAction> out_;                                       // of this step
};

}  // namespace resilin::dist
