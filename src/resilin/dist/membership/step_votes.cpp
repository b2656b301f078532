// src/resilin/dist/membership/step_votes.cpp -- which steps of training are committed, as a pure machine beside Member.
#include "resilin/dist/membership/step_votes.h"

#include <algorithm>

#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {

using namespace step_event;
namespace action = step_action;

std::uint64_t digest_after(std::uint64_t digest, std::uint64_t generation, std::uint64_t vote) {
  return hash_mix(hash_mix(digest, generation), vote);
}

Outcome outcome_of(const std::vector<StepBlob>& of_base, Fault fault) {
  Outcome outcome;
  bool all_yes = !of_base.empty();
  for (const StepBlob& blob : of_base) {
    if (blob.has_state) outcome.seen_step = std::max(outcome.seen_step, blob.step);
    all_yes = all_yes && blob.cast == Vote::Yes && blob.vote == of_base[0].vote;
  }
  if (all_yes && fault != Fault::NobodySawMeansNo) outcome.in_doubt = Vote::Yes;
  for (const StepBlob& blob : of_base) {
    if (!blob.has_state) continue;
    const bool applies = blob.step < outcome.seen_step || outcome.in_doubt == Vote::Yes;
    const std::uint64_t step = blob.step + (applies ? 1 : 0);
    const std::uint64_t digest = applies ? digest_after(blob.digest, blob.generation, blob.vote) : blob.digest;
    if (outcome.has_state && (step != outcome.step || digest != outcome.digest)) outcome.agrees = false;
    outcome.has_state = true;
    outcome.step = step;
    outcome.digest = digest;
  }
  return outcome;
}

std::vector<StepAction> StepVotes::step(const StepEvent& event) {
  out_.clear();
  std::visit([this](const auto& one) { handle(one); }, event);
  advance();
  return std::move(out_);
}

void StepVotes::handle(const Computed& event) {
  if (!is_open() || event.generation != generation_ || event.vote != vote_ || is_computed_) return;
  is_computed_ = true;
  if (!event.is_fine) return cast(false);
  out_.push_back(action::Contribute{generation_, vote_});
  tally(rank_, generation_, vote_)->contributed[rank_] = true;
}

StepVotes::Tally* StepVotes::tally(std::uint64_t rank, std::uint64_t generation, std::uint64_t vote) {
  if (fault_ == Fault::AcceptOldGeneration) generation = std::max(generation, generation_);
  if (generation < generation_ || (generation == generation_ && (vote < vote_ || rank >= size_))) return nullptr;
  Tally& tally = tallies_[{generation, vote}];
  const std::size_t size = std::max<std::size_t>(tally.votes.size(), rank + 1);
  tally.contributed.resize(size);
  tally.votes.resize(size);
  return &tally;
}

void StepVotes::handle(const ContributionHeard& event) {
  if (Tally* const found = tally(event.rank, event.generation, event.vote)) found->contributed[event.rank] = true;
}

void StepVotes::handle(const VoteHeard& event) {
  if (Tally* const found = tally(event.rank, event.generation, event.vote)) found->votes[event.rank] = event.is_yes ? Vote::Yes : Vote::No;
}

void StepVotes::handle(const Healed& event) {
  if (has_state_ || event.generation != generation_) return;
  has_state_ = true;
  step_ = event.step;
  digest_ = event.digest;
}

void StepVotes::advance() {
  while (is_open() && advance_once()) {}
}

bool StepVotes::advance_once() {
  const auto at = tallies_.find({generation_, vote_});
  if (at == tallies_.end()) return false;
  const Tally& tally = at->second;
  const std::uint64_t contributed = static_cast<std::uint64_t>(std::count(tally.contributed.begin(), tally.contributed.end(), true));
  if (!work_done_ && is_computed_ && contributed == size_) {
    work_done_ = true;
    out_.push_back(action::WorkDone{generation_, vote_});
  }
  const bool may_say_yes = has_state_ || fault_ == Fault::VoteUnhealed;
  if (work_done_ && cast_ == Vote::None && may_say_yes) cast(true);
  if (std::ranges::count(tally.votes, Vote::No) > 0) {
    settle(Vote::No);
    return true;
  }
  if (static_cast<std::uint64_t>(std::ranges::count(tally.votes, Vote::Yes)) < size_) return false;
  settle(Vote::Yes);
  return true;
}

void StepVotes::cast(bool is_yes) {
  cast_ = is_yes ? Vote::Yes : Vote::No;
  tally(rank_, generation_, vote_)->votes[rank_] = cast_;
  out_.push_back(action::Cast{generation_, vote_, is_yes});
}

void StepVotes::settle(Vote outcome) {
  if (outcome == Vote::Yes) {
    out_.push_back(action::Apply{step_, generation_, vote_});
    ++step_;
    digest_ = digest_after(digest_, generation_, vote_);
  } else {
    out_.push_back(action::Discard{generation_, vote_});
  }
  ++vote_;
  begin_vote();
}

void StepVotes::begin_vote() {
  is_computed_ = work_done_ = false;
  cast_ = Vote::None;
  early_blob_ = blob();
  tallies_.erase(tallies_.begin(), tallies_.lower_bound({generation_, vote_}));
  out_.push_back(action::Compute{generation_, vote_});
}

StepBlob StepVotes::blob() const { return {generation_, vote_, cast_, step_, digest_, has_state_}; }

std::string StepVotes::close_admission() {
  if (fault_ != Fault::DropPromise) is_closed_ = true;
  return encode(fault_ == Fault::EarlyBlob ? early_blob_ : blob());
}

std::vector<StepAction> StepVotes::open_admission() {
  out_.clear();
  is_closed_ = false;
  // What was computed meanwhile was turned away.
  if (is_open() && !is_computed_) out_.push_back(action::Compute{generation_, vote_});
  advance();
  return std::move(out_);
}

std::vector<StepAction> StepVotes::install(const Attempt& commit) {
  out_.clear();
  if (commit.base == 0) {
    has_state_ = true;  // everybody begins with the same state
  } else {
    resolve(commit);
  }
  const int rank = rank_of(commit.handles, instance_);
  RESILIN_ASSERT(rank >= 0, cat("instance ", instance_, " installs generation ", commit.generation, ", which does not list it"));
  generation_ = commit.generation;
  size_ = commit.handles.size();
  rank_ = static_cast<std::uint64_t>(rank);
  vote_ = 0;
  is_closed_ = is_revoked_ = false;
  if (!is_stopped_) begin_vote();
  advance();
  return std::move(out_);
}

void StepVotes::resolve(const Attempt& commit) {
  std::vector<StepBlob> of_base;
  std::uint64_t donor = 0;
  bool is_of_base = false;
  for (std::size_t rank = 0; rank < commit.blobs.size(); ++rank) {
    if (commit.blobs[rank].empty()) continue;
    const StepBlob blob = decode<StepBlob>(commit.blobs[rank]);
    if (blob.generation != commit.base) continue;
    const bool is_first_with_state = blob.has_state && std::ranges::count(of_base, true, &StepBlob::has_state) == 0;
    if (is_first_with_state) donor = rank;
    if (commit.handles[rank].instance == instance_) is_of_base = true;
    of_base.push_back(blob);
  }
  const Outcome outcome = outcome_of(of_base, fault_);
  is_stopped_ = !outcome.has_state || !outcome.agrees;
  if (!outcome.has_state) out_.push_back(action::StateLost{});
  if (!outcome.agrees) out_.push_back(action::Diverged{});
  if (is_stopped_) return;
  if (!has_state_) {
    out_.push_back(action::Heal{donor});
    return;
  }
  if (!is_of_base) return;
  if (step_ == outcome.seen_step && outcome.in_doubt != Vote::Yes) return;
  out_.push_back(action::Apply{step_, generation_, vote_});
  ++step_;
  digest_ = digest_after(digest_, generation_, vote_);
}

}  // namespace resilin::dist
