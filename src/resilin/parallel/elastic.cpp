// src/resilin/parallel/elastic.cpp -- training that goes on: steps, votes, changes of members.
#include "resilin/parallel/elastic.h"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/base/log.h"
#include "resilin/base/overloaded.h"
#include "resilin/base/text.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/group/window.h"
#include "resilin/dist/membership/records.h"
#include "resilin/dist/wire/codec.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/parallel/ballot.h"
#include "resilin/parallel/commitment.h"
#include "resilin/parallel/gradient_buckets.h"
#include "resilin/parallel/healing.h"
#include "resilin/parallel/slots.h"

namespace resilin::parallel {
namespace {

using namespace dist;
using std::chrono::milliseconds;

constexpr milliseconds kGlance{20};
constexpr milliseconds kFarewell{5000};
constexpr milliseconds kLook{100};
constexpr milliseconds kStorePatience{10'000};
constexpr int kMostLosses = 100;  // generations that failed in one step
constexpr const char* kLatestKey = "checkpoint/latest";

/// What no next generation mends.
bool ends_process(const DistError& error) {
  const auto is = [&]<class... Types>(std::tuple<Types...>*) { return (... || (dynamic_cast<const Types*>(&error) != nullptr)); };
  return is(static_cast<std::tuple<EvictedError, StoreError, DivergedError, MismatchError, StepFailedError>*>(nullptr));
}

double now_s() { return static_cast<double>(machine_clock().now().count()) * 1e-9; }

}  // namespace

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

  ChangeRules changes();
  void join(ProcessGroup group);
  StepReport step(const SlotFunction& run_slot, const ApplyFunction& apply);
  void heal();
  void leave();
  void finish(const std::function<void()>& last_words, bool takes_in);
  void save(const std::string& folder, i64 keep);
  void set_protects(bool protects) { protects_ = protects; }

  i64 next_step() const { return first_step_ + static_cast<i64>(commitment_->place().steps); }
  bool is_healed() const { return commitment_->place().has_state; }
  Goodput& goodput() { return goodput_; }
  ProcessGroup& group() { return group_; }

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

  template <class Action>
  void endure(Action action);
  std::optional<StepReport> perform(const ApplyFunction& apply, milliseconds patience);
  void try_step(const SlotFunction& run_slot);
  bool catches_up();
  void heal_all(const VotePlace& place);
  Contribution run_slots(const VotePlace& place, const SlotFunction& run_slot);
  void write_down(const Contribution& mine);
  void sum(const Contribution& mine);
  void vote(const Contribution& mine);
  void count(std::span<const Ballot> ballots);
  StepReport apply_kept(const step_action::Apply& action, const ApplyFunction& apply);
  void run_apply(const ApplyFunction& apply);
  void forget_kept();
  void part();
  void discard(const step_action::Discard& action);
  void admit(std::uint64_t change);
  void lose(const DistError& error);
  void drop_slow_takers();
  void catch_up(double since_s);
  std::uint64_t state_digest(i64 step);
  /// Ranks have joined, and no step of the generation is committed yet.
  bool is_healing(const VotePlace& place) const { return !place.takers.empty() && place.steps == base_steps_; }
  GenerationInfo await_enough();
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
  ProcessGroup group_;
  i64 first_step_ = 0;                  // of the lineage's first vote
  std::uint64_t known_ = 0;             // the generation that this thread works in
  std::uint64_t base_steps_ = 0;        // applied when it began
  bool has_healed_ = true;              // everybody who joined in it has the state
  bool finishes_ = false;               // no step is to come, so few ranks are enough
  std::optional<dist::Window> window_;  // through which takers read
  std::optional<Kept> kept_;
  /// Of the state before a step.
  struct KnownDigest {
    i64 step = 0;
    std::uint64_t digest = 0;
  };
  std::optional<KnownDigest> digest_;
  bool protects_;
  i64 attempt_ = 0;                   // of the next step
  int losses_ = 0;                    // of generations, in it
  std::vector<std::string> reasons_;  // why its attempts failed
  milliseconds timeout_{0};           // of this try's sums and votes
  double begin_s_ = 0;                // of the step
  double protected_s_ = 0;            // spent so far when it began
};

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
template <class Action>
void Elastic::Body::endure(Action action) {
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
  if (report && report->generation == known_ && kept_ && kept_->change != 0) admit(std::exchange(kept_->change, 0));
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
  const Goodput::Scope scope(goodput_, Spent::Protect);
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
    throw DivergedError(cat("elastic: before step ", kept_->step, " no half of the ranks has the same state"));
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

// ---- changes of members

/// All ranks hold this change, and have applied the same step.
void Elastic::Body::admit(std::uint64_t change) {
  const Goodput::Scope scope(goodput_, Spent::Recover);
  if (group_.admit_change(change)) catch_up(now_s());
}

void Elastic::Body::lose(const DistError& error) {
  const Goodput::Scope scope(goodput_, Spent::Recover);
  const double since_s = now_s();
  tell(training_event::Lost{known_, next_step(), error.what()});
  if (++losses_ > kMostLosses) throw StepFailedError(cat("elastic: step ", next_step(), " lost ", losses_, " generations: ", error.what()));
  // What this rank alone ran into, the others must hear of.
  if (!group_.is_aborted() && group_.generation() == known_) group_.abort(error.what());
  buckets_.drain();
  window_.reset();
  if (dynamic_cast<const TimeoutError*>(&error) != nullptr) drop_slow_takers();
  catch_up(since_s);
}

/// Those that do not heal in time hold all others up: their agents end them, and their next lives try again.
void Elastic::Body::drop_slow_takers() {
  const VotePlace place = commitment_->place();
  if (place.generation != known_ || !is_healing(place) || place.donors.empty() || place.rank != place.donors.front()) return;
  for (const int taker : place.takers) group_.evict(taker, cat("it did not heal in ", options_.heal_timeout.count(), " ms"));
}

/// The next generation that has enough ranks; until then every change is welcome at once.
GenerationInfo Elastic::Body::await_enough() {
  const std::chrono::nanoseconds until = machine_clock().now() + options_.change_timeout;
  std::uint64_t after = known_;
  while (true) {
    if (const std::optional<std::uint64_t> change = group_.held_change()) group_.admit_change(*change);
    try {
      const GenerationInfo info = group_.await_generation(after, kLook);
      if (finishes_ || static_cast<int>(info.handles.size()) >= options_.min_world) return info;
      after = info.generation;
    } catch (const TimeoutError&) {
      if (machine_clock().now() < until) continue;
      if (after == known_) throw;
      throw TimeoutError(cat("elastic: generation ", after, " has ", group_.size(), " ranks; ", options_.min_world, " did not come in ",
                             options_.change_timeout.count(), " ms"));
    }
  }
}

void Elastic::Body::catch_up(double since_s) {
  using Cause = training_event::Generation::Cause;
  const bool is_first = known_ == 0;
  const GenerationInfo info = await_enough();
  known_ = info.generation;
  const VotePlace place = commitment_->place();
  base_steps_ = place.steps;
  has_healed_ = place.takers.empty();
  tell(training_event::Generation{.generation = info.generation,
                                  .rank = info.rank,
                                  .world = static_cast<int>(info.handles.size()),
                                  .step = next_step(),
                                  .cause = is_first               ? Cause::First
                                           : place.takers.empty() ? Cause::Shrink
                                                                  : Cause::Join,
                                  .members = info.launch_ranks,
                                  .after_s = now_s() - since_s});
}

/// True when another generation is there, or on its way to this thread.
bool Elastic::Body::catches_up() {
  if (commitment_->place().generation == known_ && group_.generation() == known_) return false;
  catch_up(now_s());
  return true;
}

void Elastic::Body::heal() {
  while (!is_healed()) {
    endure([&] {
      perform(nullptr, milliseconds(0));  // of a rank without state there is nothing to apply
      if (!catches_up()) heal_all(commitment_->place());
    });
  }
}

/// Those that have the state offer it, those that have not take it.
void Elastic::Body::heal_all(const VotePlace& place) {
  const Goodput::Scope scope(goodput_, Spent::Recover);
  const double since_s = now_s();
  digest_.reset();  // all ranks vote on the state as takers read it
  window_.emplace(group_, state_.memory());
  if (const auto me = std::ranges::find(place.donors, place.rank); me != place.donors.end()) {
    const StateLabel label{
        .generation = known_, .step = static_cast<std::uint64_t>(next_step()), .votes = place.steps, .history = place.history};
    offer_state(state_, label, static_cast<std::size_t>(me - place.donors.begin()), place.donors.size());
  }
  group_.barrier(options_.heal_timeout).wait();
  has_healed_ = true;
  if (place.has_state) return;
  const parallel::Healed healed = take_state(state_, *window_, place.donors, known_);
  first_step_ = static_cast<i64>(healed.label.step) - static_cast<i64>(healed.label.votes);
  commitment_->healed(place, healed.label);
  base_steps_ = healed.label.votes;
  tell(training_event::Healed{known_, next_step(), healed.bytes, now_s() - since_s});
}

// ---- the end, and checkpoints

void Elastic::Body::leave() { group_.destroy(); }

void Elastic::Body::finish(const std::function<void()>& last_words, bool takes_in) {
  finishes_ = true;
  bool has_spoken = false, is_over = false;
  const auto speak = [&](int first) {
    if (group_.rank() != first || has_spoken) return;
    last_words();
    has_spoken = true;
  };
  while (!is_over) {
    endure([&] {
      perform(nullptr, milliseconds(0));  // the last step is applied
      if (catches_up()) return;
      const VotePlace place = commitment_->place();
      if (!place.takers.empty() && !has_healed_) {
        if (takes_in) return heal_all(place);
        speak(place.donors.front());
        is_over = true;
        return;
      }
      speak(0);
      const Ballot mine{.step = static_cast<std::uint64_t>(next_step()), .held_change = group_.held_change().value_or(0)};
      const std::span<const Ballot> ballots = ballots_.exchange(group_, mine, options_.change_timeout);
      // Who waited for the last words has said what it held before them.
      const bool somebody_waits = takes_in && std::ranges::any_of(ballots, [](const Ballot& ballot) { return ballot.held_change != 0; });
      is_over = !somebody_waits;
      if (const std::uint64_t change = common_change(ballots); somebody_waits && change != 0) admit(change);
    });
  }
  leave();
}

void Elastic::Body::save(const std::string& folder, i64 keep) {
  const Goodput::Scope scope(goodput_, Spent::Checkpoint);
  const i64 step = next_step();
  const auto may_name = [&](std::optional<i64> latest) {
    if (latest && *latest > step)
      throw StaleError(cat("save: ", folder, " has a checkpoint of step ", *latest, "; this one is of step ", step));
    Store& store = *group_.store();
    const StoreValue current = store.watch(kCurrentKey, 0, kStorePatience);
    const std::uint64_t newest = decode<Current>(current.bytes).generation;
    if (newest != known_) throw StaleError(cat("save: this rank is in generation ", known_, "; the newest one is ", newest));
    const Reply reply =
        store.txn({{.key = kCurrentKey, .version = current.version}}, {{.key = kLatestKey, .bytes = cat(step, " ", known_)}});
    if (reply.status != StoreStatus::Ok) throw StaleError(cat("save: generation ", known_, " was replaced meanwhile"));
  };
  save_checkpoint(folder, state_.checkpoint(step), keep, may_name);
}

Elastic::Elastic(StepState& state, const std::vector<Tensor>& parameters, ElasticOptions options)
    : body_(std::make_unique<Body>(state, parameters, std::move(options), leave_asked_)) {}
Elastic::~Elastic() = default;
ChangeRules Elastic::changes() { return body_->changes(); }
void Elastic::join(ProcessGroup group) { body_->join(std::move(group)); }
StepReport Elastic::step(const SlotFunction& run_slot, const ApplyFunction& apply) { return body_->step(run_slot, apply); }
void Elastic::heal() { body_->heal(); }
i64 Elastic::next_step() const { return body_->next_step(); }
bool Elastic::is_healed() const { return body_->is_healed(); }
void Elastic::leave() { body_->leave(); }
void Elastic::finish(const std::function<void()>& last_words) { body_->finish(last_words, true); }
void Elastic::leave_together(const std::function<void()>& last_words) { body_->finish(last_words, false); }
void Elastic::save(const std::string& folder, i64 keep) { body_->save(folder, keep); }
void Elastic::set_protects(bool protects) { body_->set_protects(protects); }
Goodput& Elastic::goodput() { return body_->goodput(); }
ProcessGroup& Elastic::group() { return body_->group(); }

}  // namespace resilin::parallel
