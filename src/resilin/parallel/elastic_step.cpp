// src/resilin/parallel/elastic_step.cpp -- a step: slots, sums, votes, and what comes of it.
#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

#include "resilin/base/hash.h"
#include "resilin/base/log.h"
#include "resilin/base/overloaded.h"
#include "resilin/base/text.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/parallel/elastic_body.h"
#include "resilin/parallel/slots.h"

namespace resilin::parallel {

using namespace dist;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kGlance{20};
constexpr milliseconds kFarewell{5000};

/// What no next generation mends.
bool ends_process(const DistError& error) {
  const auto is = [&]<class... Types>(std::tuple<Types...>*) { return (... || (dynamic_cast<const Types*>(&error) != nullptr)); };
  return is(static_cast<std::tuple<EvictedError, StoreError, DivergedError, MismatchError, StepFailedError>*>(nullptr));
}

}  // namespace

// ---- the group's thread

ChangeRules Elastic::Body::changes() {
  return {.closed = [commitment = commitment_] { return commitment->close(); },
          .reopened = [commitment = commitment_] { commitment->reopen(); },
          .installed = [commitment = commitment_](const GenerationInfo& info) { commitment->install(info); },
          .hold = options_.hold};
}

void Elastic::Body::join(ProcessGroup group) {
  group_ = std::move(group);
  catch_up(now_s());
}

// ---- a step

/// Does something that the loss of another rank may end; then the next generation is there.
void Elastic::Body::endure(const std::function<void()>& action) {
  try {
    action();
  } catch (const DistError& error) {
    if (!protects_ || ends_process(error)) throw;
    lose(error);
  }
}

StepReport Elastic::Body::step(const SlotFunction& run_slot, const ApplyFunction& apply) {
  begin_s_ = now_s();
  protected_s_ = goodput_.seconds(Spent::Protect);
  milliseconds patience{0};
  std::optional<StepReport> report;
  while (!report) {
    endure([&] {
      report = perform(apply, patience);
      if (report) return;
      if (kept_ && kept_->place.generation != known_) forget_kept();
      const bool waits_for_outcome = kept_ && kept_->has_voted;
      patience = waits_for_outcome ? kGlance : milliseconds(0);
      if (!waits_for_outcome) {
        try_step(run_slot);
      } else if (group_.is_aborted()) {
        throw CancelledError(cat("elastic: generation ", known_, " ended while step ", kept_->step, " was in doubt"));
      } else if (group_.generation() != known_) {
        catch_up(now_s());
      }
    });
  }
  // A change that fails costs the next generation, not the report of the step that is committed.
  if (const std::uint64_t change = std::exchange(change_, 0); change != 0) endure([&] { admit(change); });
  return *report;
}

/// Does what the machine of votes wants done; a report when a step was applied.
std::optional<StepReport> Elastic::Body::perform(const ApplyFunction& apply, milliseconds patience) {
  std::optional<StepReport> report;
  for (const StepAction& action : commitment_->take(patience)) {
    std::visit(Overloaded{[&](const step_action::Apply& one) { report = apply_kept(one, apply); },
                          [&](const step_action::Discard& one) { discard(one); },
                          [&](const step_action::StateLost&) {
                            throw DivergedError("elastic: no member has the state any more; only a checkpoint does: start the job again");
                          },
                          [&](const step_action::Diverged&) {
                            throw DivergedError("elastic: members committed different steps; start the job again from a checkpoint");
                          },
                          [](const auto&) {}},  // Compute, Contribute, WorkDone, Cast, Heal: `place` says where we are
               action);
  }
  if (report) kept_.reset();
  return report;
}

void Elastic::Body::try_step(const SlotFunction& run_slot) {
  if (catches_up()) return;  // with what is to be done first
  VotePlace place = commitment_->place();
  if (!place.takers.empty() && !has_healed_) {
    heal_all(place);
    place = commitment_->place();
  }
  kept_ = Kept{.place = place, .step = first_step_ + static_cast<i64>(place.steps), .attempt = attempt_};
  group_.report_step(kept_->step);
  timeout_ = is_healing(place) ? options_.heal_timeout : options_.step_timeout;
  const Contribution mine = run_slots(place, run_slot);
  write_down(mine);
  sum(mine);
  if (protects_) return vote(mine);
  if (!mine.failure.empty()) throw StepFailedError(cat("elastic: step ", kept_->step, " failed: ", mine.failure));
  commitment_->computed(place, true);
  commitment_->voted(place, std::vector<bool>(static_cast<std::size_t>(place.size), true));
  kept_->has_voted = true;
}

/// Ranks that joined have no slots until the first step of the generation is committed.
Elastic::Body::Contribution Elastic::Body::run_slots(const VotePlace& place, const SlotFunction& run_slot) {
  const Goodput::Scope scope(goodput_, Spent::Train);
  buckets_.clear();
  for (const Tensor& delta : options_.deltas) assign(delta, 0.0);
  std::vector<int> workers = place.donors;
  if (!is_healing(place)) workers.insert(workers.end(), place.takers.begin(), place.takers.end());
  std::ranges::sort(workers);
  Contribution mine;
  const auto me = std::ranges::find(workers, place.rank);
  if (me == workers.end()) return mine;
  const SlotRange range = slots_of(me - workers.begin(), static_cast<i64>(workers.size()), options_.slots);
  const KeptGenerator generator;
  for (i64 slot = range.begin; slot < range.end && !group_.is_aborted(); ++slot) {
    if (slot + 1 == range.end) buckets_.watch(group_, timeout_);
    seed_slot(options_.seed, kept_->step, slot);
    try {
      SlotResult result = run_slot({kept_->step, slot, options_.slots});
      mine.loss += result.loss;
      mine.samples += result.samples;
      mine.epoch = result.epoch;
      mine.ids.insert(mine.ids.end(), result.ids.begin(), result.ids.end());
    } catch (const DistError&) {
      throw;
    } catch (const std::exception& error) {
      mine.failure = cat("slot ", slot, " on rank ", place.rank, ": ", error.what());
      break;
    }
  }
  return mine;
}

/// Before the last of the sums can leave: once the others have them all they may commit the step, with or without this rank's vote.
void Elastic::Body::write_down(const Contribution& mine) {
  if (!ledger_ || !protects_) return;
  const Goodput::Scope scope(goodput_, Spent::Protect);
  const VotePlace& place = kept_->place;
  ledger_->write_try({place.generation, kept_->step, kept_->attempt}, place.rank, place.size, mine.epoch, mine.ids);
}

/// Also of ranks whose slots failed: the others wait for their part.
void Elastic::Body::sum(const Contribution& mine) {
  const Goodput::Scope scope(goodput_, Spent::Idle);
  const Tensor scalars = Tensor::allocate(Shape{2}, DType::F64);
  double* const values = static_cast<double*>(scalars.data());
  values[0] = mine.loss;
  values[1] = static_cast<double>(mine.samples);
  std::vector<Tensor> others = options_.deltas;
  others.push_back(scalars);
  buckets_.finish(group_, others, timeout_);
  kept_->loss = values[0];
  kept_->samples = static_cast<i64>(values[1]);
}

void Elastic::Body::vote(const Contribution& mine) {
  // Waiting for the others' votes is waiting, as for their sums; what protects is the processor time.
  const Goodput::Scope scope(goodput_, Spent::Idle);
  const Goodput::ProcessorTime protects(goodput_, Spent::Protect);
  const VotePlace& place = kept_->place;
  Ballot ballot{.vote = place.vote,
                .step = static_cast<std::uint64_t>(kept_->step),
                .state = state_digest(kept_->step),
                .held_change = group_.held_change().value_or(0),
                .is_yes = static_cast<std::uint8_t>(mine.failure.empty() && kept_->samples > 0),
                .leaves = static_cast<std::uint8_t>(leave_asked_.load(std::memory_order_relaxed))};
  ballot.set_reason(!mine.failure.empty() ? mine.failure : "no rank had a sample");
  commitment_->computed(place, ballot.is_yes != 0);
  kept_->has_cast = ballot.is_yes != 0;
  count(ballots_.exchange(group_, ballot, timeout_));
}

void Elastic::Body::count(std::span<const Ballot> ballots) {
  const Majority majority = majority_of(ballots);
  if (!majority.exists) {
    part();
    throw DivergedError(cat("elastic: before step ", kept_->step, " no majority of the ranks has the same state"));
  }
  if (state_digest(kept_->step) != majority.state)
    throw DivergedError(
        cat("elastic: before step ", kept_->step, " the state of rank ", kept_->place.rank, " is not that of the majority"));
  std::vector<bool> yes;
  reasons_.clear();
  for (const Ballot& ballot : ballots) {
    const bool agrees = ballot.state == majority.state;
    yes.push_back(ballot.is_yes != 0 && agrees);
    kept_->leaves.push_back(ballot.leaves != 0);
    if (!yes.back()) reasons_.push_back(agrees ? ballot.reason_text() : cat("rank ", yes.size() - 1, " has another state"));
  }
  kept_->change = common_change(ballots);
  kept_->has_voted = true;
  commitment_->voted(kept_->place, yes);
}

// ---- its outcome

StepReport Elastic::Body::apply_kept(const step_action::Apply& action, const ApplyFunction& apply) {
  RESILIN_ASSERT(kept_ && kept_->place.generation == action.generation && kept_->place.vote == action.vote,
                 cat("vote ", action.vote, " of generation ", action.generation, " is applied without its gradients"));
  const bool was_in_doubt = action.generation != known_;
  if (was_in_doubt) tell(training_event::InDoubt{action.generation, kept_->step, true});
  {
    const Goodput::Scope scope(goodput_, Spent::Train);
    const NoGrad no_grad;
    for (const std::vector<Tensor>& bucket : buckets_.sums()) {
      for (const Tensor& x : bucket) mul_(x, 1.0 / static_cast<double>(kept_->samples));
    }
    run_apply(apply);
    buckets_.clear();
  }
  window_.reset();
  attempt_ = losses_ = 0;
  if (protects_) {
    const Goodput::Scope scope(goodput_, Spent::Protect);
    const std::uint64_t state = state_digest(kept_->step + 1);
    if (ledger_) ledger_->write_done({action.generation, kept_->step, kept_->attempt}, state);
  }
  StepReport report{.step = kept_->step,
                    .loss = kept_->loss / static_cast<double>(kept_->samples),
                    .samples = kept_->samples,
                    .generation = action.generation,
                    .rank = kept_->place.rank,
                    .world = kept_->place.size,
                    .attempt = kept_->attempt,
                    .healed = is_healing(kept_->place) && std::ranges::count(kept_->place.takers, kept_->place.rank) > 0,
                    .protect_s = goodput_.seconds(Spent::Protect) - protected_s_,
                    .seconds = now_s() - begin_s_};
  if (!kept_->leaves.empty() && !was_in_doubt) {
    change_ = kept_->change;
    report.leaves = kept_->leaves[static_cast<std::size_t>(report.rank)];
    report.all_leave = std::ranges::count(kept_->leaves, false) == 0;
    report.saves = report.leaves && std::ranges::find(kept_->leaves, true) - kept_->leaves.begin() == report.rank;
  }
  return report;
}

/// It is not to be undone: a rank whose apply fails has half a step, and must not go on.
void Elastic::Body::run_apply(const ApplyFunction& apply) {
  try {
    apply({kept_->step, kept_->loss / static_cast<double>(kept_->samples), kept_->samples});
  } catch (const std::exception& error) {
    group_.abort(cat("apply of step ", kept_->step, " failed: ", error.what()));
    throw;
  }
}

/// The step's generation is gone and nobody saw it committed: it is repeated.
void Elastic::Body::forget_kept() {
  if (kept_->has_cast) tell(training_event::InDoubt{kept_->place.generation, kept_->step, false});
  kept_.reset();
}

void Elastic::Body::discard(const step_action::Discard& action) {
  if (!kept_ || kept_->place.generation != action.generation || kept_->place.vote != action.vote) return;
  ++attempt_;
  log(LogLevel::Warning, cat("elastic: step ", kept_->step, ", attempt ", attempt_, ": ", reasons_));
  if (attempt_ < options_.most_attempts) return kept_.reset();
  part();
  throw StepFailedError(cat("elastic: step ", kept_->step, " failed ", attempt_, " times: ", reasons_));
}

/// Before all ranks end for the same reason: whoever went first would look like one that died, and the others would go on without it.
void Elastic::Body::part() {
  try {
    group_.barrier(kFarewell).wait();
  } catch (const DistError&) {
    // Somebody was faster.
  }
}

/// Of a part of the state before a step, another one each step. It is taken once, right after the last step was applied: what the ledger says of that one is
/// what the votes of the next one, whatever their number, are about.
std::uint64_t Elastic::Body::state_digest(i64 step) {
  if (options_.digest_every < 1) return 0;
  if (digest_ && digest_->step == step) return digest_->digest;
  const std::size_t parts = static_cast<std::size_t>(options_.digest_every);
  digest_ = KnownDigest{step, hash_mix(static_cast<std::uint64_t>(step), state_.digest(static_cast<std::size_t>(step) % parts, parts))};
  return digest_->digest;
}

}  // namespace resilin::parallel
