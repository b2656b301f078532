// src/resilin/parallel/elastic_members.cpp -- changes of members, healing, the end, and checkpoints.
#include <algorithm>
#include <utility>

#include "resilin/base/text.h"
#include "resilin/dist/membership/records.h"
#include "resilin/dist/wire/codec.h"
#include "resilin/parallel/elastic_body.h"
#include "resilin/parallel/healing.h"

namespace resilin::parallel {

using namespace dist;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kLook{100};
constexpr milliseconds kStorePatience{10'000};
constexpr int kMostLosses = 100;  // generations that failed in one step
constexpr const char* kLatestKey = "checkpoint/latest";

}  // namespace

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

}  // namespace resilin::parallel
