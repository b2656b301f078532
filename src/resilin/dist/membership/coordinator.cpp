// src/resilin/dist/membership/coordinator.cpp -- who proposes the next generation of a lineage, as a pure machine.
#include "resilin/dist/membership/coordinator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/dist/wire/bytes.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {

using namespace coordinator_event;

namespace {

/// The first keys that a transaction compares are among those that the watch tells of.
constexpr std::size_t kWatchedCompares = 3;
constexpr std::uint64_t kNoVersion = std::numeric_limits<std::uint64_t>::max();

std::vector<std::uint64_t> read_joiners(const StoreValue& value) {
  std::vector<std::uint64_t> joiners;
  for (std::size_t at = 0; at + 8 <= value.bytes.size(); at += 8) joiners.push_back(read_little<std::uint64_t>(value.bytes, at));
  return joiners;
}

}  // namespace

std::vector<CoordinatorRequest> Coordinator::step(const CoordinatorEvent& event) {
  out_.clear();
  std::visit([this](const auto& one) { handle(one); }, event);
  return std::move(out_);
}

std::uint64_t Coordinator::next_deadline_ms() const {
  if (!knows_enough()) return std::numeric_limits<std::uint64_t>::max();
  if (attempt_ && attempt_->verdict == Verdict::Open) return deadline_ms_;
  return is_gathering() ? gather_ends_ms_ : std::numeric_limits<std::uint64_t>::max();
}

void Coordinator::ask(Purpose purpose, Request request) {
  asked_[++last_id_] = purpose;
  out_.push_back({last_id_, std::move(request)});
}

void Coordinator::handle(const StoreReplied& event) {
  const std::map<std::uint64_t, Purpose>::iterator at = asked_.find(event.id);
  if (at == asked_.end()) return;
  const Purpose purpose = at->second;
  asked_.erase(at);
  if (event.reply.status == StoreStatus::Invalid) throw StoreError(cat("coordinator: the store refused a request: ", event.reply.error));
  switch (purpose) {
    case Purpose::Watch: return seen(event.reply);
    case Purpose::Read: return propose(event.reply);
    case Purpose::Missing: return blame(event.reply);
    case Purpose::Propose:
    case Purpose::Abort: return written(event.reply);
    case Purpose::Revoke: return revoked(event.reply);
    case Purpose::End: is_ending_ = event.reply.status == StoreStatus::Ok; return;  // else what has changed is seen, and looked at again
  }
}

void Coordinator::handle(const SuspectsAre& event) {
  suspects_ = event.instances;
  left_ = event.left;
  ended_ = event.ended;
  lacking_ = event.lacking;
  evaluate();
}

void Coordinator::handle(const TimePassed& event) {
  now_ms_ = std::max(now_ms_, event.now_ms);
  evaluate();
}

// ---- what there is

void Coordinator::watch() {
  if (!has_seen_) plan_version_ = kNoVersion;
  ask(Purpose::Watch, {.op = StoreOp::Watch,
                       .keys = {kPlanKey, kCurrentKey, kJoinersKey, try_key(plan_.uuid), revoke_key(current_.generation)},
                       .versions = {plan_version_, current_version_, joiners_version_, attempt_version_, revoke_version_},
                       .wait_ms = options_.watch_ms});
}

void Coordinator::seen(const Reply& reply) {
  const Plan plan = reply.values[0].exists() ? decode<Plan>(reply.values[0].bytes) : Plan();
  const Current current = reply.values[1].exists() ? decode<Current>(reply.values[1].bytes) : Current();
  const bool is_other_plan = plan.uuid != plan_.uuid, is_other_base = current.generation != current_.generation;
  joiners_ = read_joiners(reply.values[2]);
  if (!is_other_plan) {
    attempt_.reset();
    if (reply.values[3].exists()) attempt_ = decode<Attempt>(reply.values[3].bytes);
  }
  read_revocation(is_other_base ? StoreValue() : reply.values[4]);
  plan_version_ = reply.values[0].version;
  current_version_ = reply.values[1].version;
  joiners_version_ = reply.values[2].version;
  // The keys of another plan and of another base have not been read yet: nothing is chosen before.
  attempt_version_ = is_other_plan ? kNoVersion : reply.values[3].version;
  revoke_version_ = is_other_base ? kNoVersion : reply.values[4].version;
  has_seen_ = !is_other_plan && !is_other_base;
  if (is_other_plan) deadline_ms_ = now_ms_ + options_.attempt_timeout_ms;
  if (is_other_base) broken_.clear();
  plan_ = plan;
  current_ = current;
  if (has_seen_ && attempt_ && attempt_->verdict == Verdict::Abort && attempt_->base == current_.generation) {
    for (const Pair& pair : attempt_->pairs) {
      if (std::ranges::find(broken_, pair) == broken_.end()) broken_.push_back(pair);
    }
  }
  watch();
  evaluate();
}

void Coordinator::read_revocation(const StoreValue& value) {
  const bool was_revoked = std::exchange(is_revoked_, value.exists());
  lost_.clear();
  if (!is_revoked_) return;
  const Revocation revocation = decode<Revocation>(value.bytes);
  if (revocation.origin == 0) lost_ = revocation.lost;
  if (!was_revoked && !revocation.lost.empty()) gather_ends_ms_ = now_ms_ + options_.gather_ms;
}

// ---- what to do about it

void Coordinator::written(const Reply& reply) {
  is_busy_ = false;
  // The watch tells what the store holds now; here, only whether it has told already.
  for (std::size_t i = 0; i < std::min(reply.values.size(), kWatchedCompares); ++i) {
    awaited_version_ = std::max(awaited_version_, reply.values[i].version);
  }
  if (reply.status == StoreStatus::Ok) awaited_version_ = reply.version;
  evaluate();
}

void Coordinator::revoked(const Reply& reply) {
  is_revoking_ = false;
  awaited_revoke_version_ = reply.version;
  for (const StoreValue& value : reply.values) awaited_revoke_version_ = std::max(awaited_revoke_version_, value.version);
  evaluate();
}

/// Members that are suspected and for whom current is not yet revoked.
std::vector<std::uint64_t> Coordinator::new_losses() const {
  std::vector<std::uint64_t> losses;
  for (const std::uint64_t instance : current_.members) {
    const bool is_suspect = std::ranges::find(suspects_, instance) != suspects_.end();
    if (is_suspect && std::ranges::find(lost_, instance) == lost_.end()) losses.push_back(instance);
  }
  return losses;
}

void Coordinator::revoke() {
  const bool is_up_to_date = has_seen_ && std::max(revoke_version_, current_version_) >= awaited_revoke_version_;
  std::vector<std::uint64_t> losses = new_losses();
  if (is_revoking_ || !is_up_to_date || losses.empty()) return;
  losses.insert(losses.begin(), lost_.begin(), lost_.end());
  is_revoking_ = true;
  const std::string key = revoke_key(current_.generation);
  ask(Purpose::Revoke, {.op = StoreOp::Txn,
                        .compares = {{.key = key, .version = revoke_version_}, {.key = kCurrentKey, .version = current_version_}},
                        .writes = {{.key = key, .bytes = encode(Revocation{current_.generation, 0, losses})}}});
}

/// Only a member can take in another one, and an attempt that is decided cannot be decided otherwise.
void Coordinator::end_lineage() {
  const auto has_ended = [this](std::uint64_t instance) { return std::ranges::find(ended_, instance) != ended_.end(); };
  const bool is_over = current_.generation != 0 && std::ranges::all_of(current_.members, has_ended);
  if (!is_over || is_ending_ || !knows_enough() || (attempt_ && attempt_->verdict == Verdict::Open)) return;
  is_ending_ = true;
  ask(Purpose::End,
      {.op = StoreOp::Txn,
       .compares = {{.key = kPlanKey, .version = plan_version_}, {.key = kCurrentKey, .version = current_version_}, {.key = revoke_key(0)}},
       .writes = {{.key = revoke_key(0), .bytes = encode(Revocation{current_.generation, 0, current_.members})}}});
}

/// A member tells at once that it has lost another; which of the two is gone a detector knows a moment later.
bool Coordinator::is_gathering() const { return is_revoked_ && now_ms_ < gather_ends_ms_ && lost_.empty() && new_losses().empty(); }

bool Coordinator::knows_enough() const {
  const std::uint64_t seen = std::max({plan_version_, current_version_, joiners_version_, attempt_version_});
  return !is_busy_ && has_seen_ && seen >= awaited_version_;
}

void Coordinator::evaluate() {
  revoke();
  end_lineage();
  if (!knows_enough()) return;
  if (attempt_ && attempt_->verdict == Verdict::Open) return guard_attempt();
  if (is_gathering() || choose_handles(situation()).empty()) return;
  is_busy_ = true;
  ask(Purpose::Read, {.op = StoreOp::Get, .keys = {kTopKey, kUsedKey}});
}

Situation Coordinator::situation() const {
  std::vector<std::uint64_t> gone = suspects_;
  gone.insert(gone.end(), left_.begin(), left_.end());
  const std::size_t first_size = options_.first_size - std::min(options_.first_size, lacking_);
  return {current_, is_revoked_, joiners_, gone, plan_, attempt_, broken_, lost_, first_size, options_.fault};
}

void Coordinator::guard_attempt() {
  std::vector<std::uint64_t> culprits;
  for (const std::vector<std::uint64_t>* const gone : {&suspects_, &left_}) {
    for (const std::uint64_t instance : *gone) {
      if (rank_of(attempt_->handles, instance) >= 0) culprits.push_back(instance);
    }
  }
  if (!culprits.empty()) return abort(AbortReason::Suspected, std::move(culprits));
  if (now_ms_ < deadline_ms_) return;
  is_busy_ = true;
  Request request{.op = StoreOp::Get};
  for (const Handle& handle : attempt_->handles) request.keys.push_back(ready_key(attempt_->uuid, handle.instance));
  ask(Purpose::Missing, std::move(request));
}

void Coordinator::blame(const Reply& reply) {
  std::vector<std::uint64_t> culprits;
  is_busy_ = false;
  const bool is_open = attempt_ && attempt_->verdict == Verdict::Open;
  if (!is_open || attempt_->handles.size() != reply.values.size()) return evaluate();  // it ended meanwhile
  for (std::size_t i = 0; i < reply.values.size(); ++i) {
    if (!reply.values[i].exists()) culprits.push_back(attempt_->handles[i].instance);
  }
  abort(AbortReason::Timeout, std::move(culprits));
}

void Coordinator::abort(AbortReason reason, std::vector<std::uint64_t> culprits) {
  Attempt abort = *attempt_;
  abort.verdict = Verdict::Abort;
  abort.reason = reason;
  abort.culprits = std::move(culprits);
  is_busy_ = true;
  Request request{.op = StoreOp::Txn,
                  .compares = {{.key = try_key(plan_.uuid), .version = attempt_version_}},
                  .writes = {{.key = try_key(plan_.uuid), .bytes = encode(abort)}}};
  if (options_.fault == Fault::OverwriteDecision) request.compares.clear();
  ask(Purpose::Abort, std::move(request));
}

void Coordinator::propose(const Reply& reply) {
  const Handles handles = choose_handles(situation());  // again: more may be known by now
  const bool is_open = attempt_ && attempt_->verdict == Verdict::Open;
  if (handles.empty() || is_open || !has_seen_) {
    is_busy_ = false;
    return;
  }
  const std::uint64_t top = reply.values[0].exists() ? decode<std::uint64_t>(reply.values[0].bytes) : 0;
  UsedUuids used;
  if (reply.values[1].exists()) used = decode<UsedUuids>(reply.values[1].bytes);
  std::uint64_t greatest = options_.fault == Fault::LocalGeneration ? 0 : top;
  for (const Handle& handle : handles) greatest = std::max(greatest, handle.generation);
  std::uint64_t uuid = std::max(plan_.uuid, top) + 1;
  while (used.contains(uuid)) ++uuid;
  used.insert(uuid);
  const Attempt attempt{.uuid = uuid,
                        .generation = greatest + 1,
                        .base = current_.generation,
                        .base_version = current_version_,
                        .lineage = true,
                        .handles = handles,
                        .digest = digest_of(uuid, handles, true)};
  ask(Purpose::Propose, {.op = StoreOp::Txn,
                         .compares = {{.key = kPlanKey, .version = plan_version_},
                                      {.key = kCurrentKey, .version = current_version_},
                                      {.key = kJoinersKey, .version = joiners_version_},
                                      {.key = kTopKey, .version = reply.values[0].version},
                                      {.key = kUsedKey, .version = reply.values[1].version},
                                      {.key = try_key(uuid)}},
                         .writes = writes_of(attempt, greatest + 1, used)});
}

/// Those who are left out of a list through no fault of their own are joiners all the same: nobody but a member of an attempt announces itself
/// again.
std::set<std::uint64_t> Coordinator::waiting_joiners() const {
  std::set<std::uint64_t> waiting(joiners_.begin(), joiners_.end());
  for (const std::vector<std::uint64_t>* const out : {&current_.members, &suspects_, &left_}) {
    for (const std::uint64_t instance : *out) waiting.erase(instance);
  }
  if (attempt_ && attempt_->verdict == Verdict::Abort) {
    for (const std::uint64_t instance : attempt_->culprits) waiting.erase(instance);
  }
  return waiting;
}

std::vector<Write> Coordinator::writes_of(const Attempt& attempt, std::uint64_t top, const UsedUuids& used) const {
  Plan plan{.uuid = attempt.uuid, .handles = attempt.handles, .before = plan_.uuid};
  for (const Handle& handle : plan_.handles) plan.before_members.push_back(handle.instance);
  std::string joiners;
  for (const std::uint64_t instance : waiting_joiners()) append_little(joiners, instance);
  std::vector<Write> writes = {{.key = kPlanKey, .bytes = encode(plan)},
                               {.key = kTopKey, .bytes = encode(top)},
                               {.key = kUsedKey, .bytes = encode(used)},
                               {.key = kJoinersKey, .bytes = std::move(joiners)},
                               {.key = try_key(attempt.uuid), .bytes = encode(attempt)}};
  // The plan before the last: whoever was in it has learned its end or is dead.
  if (plan_.before == 0) return writes;
  writes.push_back({.key = try_key(plan_.before), .kind = WriteKind::Remove});
  for (const std::uint64_t instance : plan_.before_members) {
    writes.push_back({.key = address_key(plan_.before, instance), .kind = WriteKind::Remove});
    writes.push_back({.key = ready_key(plan_.before, instance), .kind = WriteKind::Remove});
  }
  return writes;
}

}  // namespace resilin::dist
