// src/resilin/parallel/commitment.cpp -- the machine of votes between two threads.
#include "resilin/parallel/commitment.h"

#include <iterator>
#include <utility>
#include <variant>

#include "resilin/dist/environment.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::parallel {

using namespace dist;

namespace {

/// In a first generation all begin with the same state; later only members of the one before have it.
bool has_state_after(std::uint64_t base, const std::string& blob) {
  if (base == 0) return true;
  if (blob.empty()) return false;
  const StepBlob said = decode<StepBlob>(blob);
  return said.has_state && said.generation == base;
}

}  // namespace

std::string Commitment::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Before its first generation a process has nothing: it joins.
  return votes_ ? votes_->close_admission() : "";
}

void Commitment::reopen() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!votes_) return;
  add(votes_->open_admission());
  if (computed_) feed_computed();
}

void Commitment::install(const GenerationInfo& info) {
  Attempt commit{.verdict = Verdict::Commit, .generation = info.generation, .base = info.base, .blobs = info.blobs};
  for (const std::string& handle : info.handles) commit.handles.push_back(parse_handle(handle));
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!votes_) votes_.emplace(commit.handles[static_cast<std::size_t>(info.rank)].instance);
  rank_ = info.rank;
  size_ = static_cast<int>(info.handles.size());
  donors_.clear();
  takers_.clear();
  for (int rank = 0; rank < size_; ++rank) {
    const std::string& blob = info.blobs[static_cast<std::size_t>(rank)];
    (has_state_after(info.base, blob) ? donors_ : takers_).push_back(rank);
  }
  add(votes_->install(commit));
}

VotePlace Commitment::place() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!votes_) return {};
  return {.generation = votes_->generation(),
          .vote = vote_,
          .steps = votes_->applied_steps(),
          .history = votes_->digest(),
          .rank = rank_,
          .size = size_,
          .has_state = votes_->has_state(),
          .donors = donors_,
          .takers = takers_};
}

void Commitment::computed(const VotePlace& place, bool is_fine) {
  const std::lock_guard<std::mutex> lock(mutex_);
  computed_ = Computed{place.generation, place.vote, is_fine};
  feed_computed();
}

/// The sums are of all ranks: where they have come, all have given. The machine drops what is of an older vote.
void Commitment::feed_computed() {
  for (int rank = 0; computed_->is_fine && rank < size_; ++rank)
    add(votes_->step(step_event::ContributionHeard{static_cast<std::uint64_t>(rank), computed_->generation, computed_->vote}));
  add(votes_->step(step_event::Computed{computed_->generation, computed_->vote, computed_->is_fine}));
}

void Commitment::voted(const VotePlace& place, const std::vector<bool>& yes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t rank = 0; rank < yes.size(); ++rank)
    add(votes_->step(step_event::VoteHeard{rank, place.generation, place.vote, yes[rank]}));
}

void Commitment::healed(const VotePlace& place, const StateLabel& label) {
  const std::lock_guard<std::mutex> lock(mutex_);
  add(votes_->step(step_event::Healed{place.generation, label.votes, label.history}));
}

std::vector<StepAction> Commitment::take(std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (todo_.empty()) machine_clock().wait_until(changed_, lock, machine_clock().now() + patience);
  return std::exchange(todo_, {});
}

void Commitment::add(std::vector<StepAction> actions) {
  for (const StepAction& action : actions) {
    if (const step_action::Compute* const compute = std::get_if<step_action::Compute>(&action)) vote_ = compute->vote;
  }
  todo_.insert(todo_.end(), std::make_move_iterator(actions.begin()), std::make_move_iterator(actions.end()));
  if (!todo_.empty()) changed_.notify_all();
}

}  // namespace resilin::parallel
