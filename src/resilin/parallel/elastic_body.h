// src/resilin/parallel/elastic_body.h -- Internal: what a rank that trains knows: its group, the votes, the sums that wait for their outcome.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "resilin/base/error.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/group/window.h"
#include "resilin/parallel/ballot.h"
#include "resilin/parallel/commitment.h"
#include "resilin/parallel/elastic.h"
#include "resilin/parallel/gradient_buckets.h"

namespace resilin::parallel {

inline double now_s() { return static_cast<double>(dist::machine_clock().now().count()) * 1e-9; }

/// The training thread's side. elastic_step.cpp takes steps, elastic_members.cpp follows the changes of members.
class Elastic::Body {
 public:
  Body(StepState& state, const std::vector<Tensor>& parameters, ElasticOptions options, std::atomic<bool>& leave_asked)
      : state_(state),
        options_(std::move(options)),
        leave_asked_(leave_asked),
        buckets_(parameters, options_.first_bucket_bytes, options_.bucket_bytes),
        first_step_(options_.first_step),
        protects_(options_.protects) {
    if (options_.slots < 1) throw ArgumentError(cat("elastic: ", options_.slots, " slots; a step has at least one"));
    state_.seal();
    if (options_.ledger && options_.protects) ledger_.emplace(*options_.ledger);
  }

  dist::ChangeRules changes();
  void join(dist::ProcessGroup group);
  StepReport step(const SlotFunction& run_slot, const ApplyFunction& apply);
  void heal();
  void leave();
  void finish(const std::function<void()>& last_words, bool takes_in);
  void save(const std::string& folder, i64 keep);
  void set_protects(bool protects) { protects_ = protects; }

  i64 next_step() const { return first_step_ + static_cast<i64>(commitment_->place().steps); }
  bool is_healed() const { return commitment_->place().has_state; }
  Goodput& goodput() { return goodput_; }
  dist::ProcessGroup& group() { return group_; }

 private:
  /// The sums of one try of a step: kept until its outcome is known.
  struct Kept {
    VotePlace place;
    i64 step = 0;
    i64 attempt = 0;
    double loss = 0;
    i64 samples = 0;
    std::uint64_t change = 0;       // that all ranks hold
    std::vector<bool> leaves = {};  // by rank, once the votes are known
    bool has_cast = false;          // yes
    bool has_voted = false;         // all have
  };
  /// What this rank's own slots gave.
  struct Contribution {
    double loss = 0;
    i64 samples = 0;
    i64 epoch = 0;
    std::vector<i64> ids;
    std::string failure;  // why not
  };

  void endure(const std::function<void()>& action);
  std::optional<StepReport> perform(const ApplyFunction& apply, std::chrono::milliseconds patience);
  void try_step(const SlotFunction& run_slot);
  bool catches_up();
  void heal_all(const VotePlace& place);
  Contribution run_slots(const VotePlace& place, const SlotFunction& run_slot);
  void write_down(const Contribution& mine);
  void sum(const Contribution& mine);
  void vote(const Contribution& mine);
  void count(std::span<const Ballot> ballots);
  StepReport apply_kept(const dist::step_action::Apply& action, const ApplyFunction& apply);
  void run_apply(const ApplyFunction& apply);
  void forget_kept();
  void part();
  void discard(const dist::step_action::Discard& action);
  void admit(std::uint64_t change);
  void lose(const DistError& error);
  void drop_slow_takers();
  void catch_up(double since_s);
  std::uint64_t state_digest(i64 step);
  /// Ranks have joined, and no step of the generation is committed yet.
  bool is_healing(const VotePlace& place) const { return !place.takers.empty() && place.steps == base_steps_; }
  dist::GenerationInfo await_enough();
  void tell(TrainingEvent event) const {
    if (options_.on_event) options_.on_event(event);
  }

  StepState& state_;
  const ElasticOptions options_;
  std::atomic<bool>& leave_asked_;
  GradientBuckets buckets_;
  const std::shared_ptr<Commitment> commitment_ = std::make_shared<Commitment>();  // also the group's
  Goodput goodput_;
  std::optional<Ledger> ledger_;
  BallotBox ballots_;
  dist::ProcessGroup group_;
  i64 first_step_ = 0;                  // of the lineage's first vote
  std::uint64_t known_ = 0;             // the generation that this thread works in
  std::uint64_t base_steps_ = 0;        // applied when it began
  bool has_healed_ = true;              // everybody who joined in it has the state
  bool finishes_ = false;               // no step is to come, so few ranks are enough
  std::optional<dist::Window> window_;  // through which takers read
  std::optional<Kept> kept_;
  std::uint64_t change_ = 0;  // of members, that all hold after the step that was applied; 0: none
  /// Of the state before a step.
  struct KnownDigest {
    i64 step = 0;
    std::uint64_t digest = 0;
  };
  std::optional<KnownDigest> digest_;
  bool protects_;
  i64 attempt_ = 0;                       // of the next step
  int losses_ = 0;                        // of generations, in it
  std::vector<std::string> reasons_;      // why its attempts failed
  std::chrono::milliseconds timeout_{0};  // of this try's sums and votes
  double begin_s_ = 0;                    // of the step
  double protected_s_ = 0;                // spent so far when it began
};

}  // namespace resilin::parallel
