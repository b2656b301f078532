// src/resilin/dist/membership/member.cpp -- a member's events outside of the protocol's straight way: following, failures, time.
#include "resilin/dist/membership/member.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {

using namespace member_event;
namespace action = member_action;

namespace {

/// All bits of a version that no value has, so that a watch answers at once.
constexpr std::uint64_t kNoVersion = std::numeric_limits<std::uint64_t>::max();

std::string eight_bytes(std::uint64_t number) { return encode(number); }

}  // namespace

std::vector<MemberAction> Member::step(const MemberEvent& event) {
  out_.clear();
  if (phase_ != Phase::Gone) std::visit([this](const auto& one) { handle(one); }, event);
  return std::move(out_);
}

std::uint64_t Member::next_deadline_ms() const {
  std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
  if ((is_in_attempt() && !abort_asked_) || (store_is_lost_ && is_free())) next = deadline_ms_;
  if (grace_ends_ms_) next = std::min(next, *grace_ends_ms_);
  return next;
}

void Member::ask_about(std::uint64_t uuid, Purpose purpose, Request request) {
  asked_[++last_id_] = {purpose, uuid};
  out_.push_back(action::AskStore{last_id_, std::move(request)});
}

void Member::forget(const std::function<bool(const Asked&)>& is_idle) {
  for (std::map<std::uint64_t, Asked>::iterator at = asked_.begin(); at != asked_.end();) {
    if (is_idle(at->second)) {
      out_.push_back(action::ForgetStore{at->first});
      at = asked_.erase(at);
    } else {
      ++at;
    }
  }
}

void Member::leave(const std::string& text, bool store_is_gone) {
  phase_ = Phase::Gone;
  forget([](const Asked& asked) { return asked.purpose == Purpose::Follow || waits_for_attempt(asked.purpose); });
  asked_.clear();
  out_.push_back(action::Leave{store_is_gone, text});
}

// ---- following the lineage

void Member::handle(const Started&) {
  if (!options_.follows) return;
  plan_version_ = current_version_ = revoke_version_ = kNoVersion;
  announce();
  follow();
}

void Member::announce() { ask(Purpose::Tell, {.op = StoreOp::Append, .keys = {kJoinersKey}, .bytes = eight_bytes(options_.instance)}); }

void Member::follow() {
  // One that waits for another generation's revocation.
  forget([](const Asked& asked) { return asked.purpose == Purpose::Follow; });
  ask(Purpose::Follow, {.op = StoreOp::Watch,
                        .keys = {kPlanKey, kCurrentKey, revoke_key(generation_)},
                        .versions = {plan_version_, current_version_, revoke_version_},
                        .wait_ms = options_.watch_ms});
}

void Member::followed(const Reply& reply) {
  plan_version_ = reply.values[0].version;
  current_version_ = reply.values[1].version;
  revoke_version_ = reply.values[2].version;
  if (reply.values[0].exists()) plan_ = decode<Plan>(reply.values[0].bytes);
  if (reply.values[1].exists()) current_ = decode<Current>(reply.values[1].bytes);
  if (reply.values[2].exists()) {
    const Revocation revocation = decode<Revocation>(reply.values[2].bytes);
    if (generation_ == 0) {
      return leave(
          cat("refused as a joiner: all members of generation ", revocation.generation, " have ended, and nobody else takes one in"));
    }
    revoke(revocation.lost);
  }
  follow();
  publish_revocation();
  pursue_plan();
}

void Member::pursue_plan() {
  if (!options_.follows || phase_ == Phase::Promised) return;  // a promised member learns the end of its attempt first
  const bool is_member = generation_ == 0 || std::ranges::find(current_.members, options_.instance) != current_.members.end();
  if (current_.generation > generation_ && !is_member) {
    return leave(cat("evicted: generation ", current_.generation, " goes on without instance ", options_.instance));
  }
  if (phase_ != Phase::Idle || plan_.uuid == 0 || plan_.uuid == pursued_) return;
  pursued_ = plan_.uuid;
  if (rank_of(plan_.handles, options_.instance) >= 0) begin(plan_.uuid);
}

// ---- failures

void Member::handle(const GenerationFailed& event) {
  if (event.generation != generation_ || generation_ == 0 || is_revoked_) return;
  revoke(event.lost);
  revocation_ = Revocation{generation_, options_.instance, event.lost};
  publish_revocation();
}

void Member::revoke(std::vector<std::uint64_t> lost) {
  if (std::exchange(is_revoked_, true)) return;
  out_.push_back(action::Revoke{generation_, std::move(lost)});
  limit_wait();
}

/// Written by the first witness, and only while cur is this generation, so that the move of cur can remove it.
void Member::publish_revocation() {
  if (!revocation_ || current_.generation != generation_) return;
  const std::string key = revoke_key(generation_);
  ask(Purpose::Tell, {.op = StoreOp::Txn,
                      .compares = {{.key = key}, {.key = kCurrentKey, .version = current_version_}},
                      .writes = {{.key = key, .bytes = encode(*revocation_)}}});
  revocation_.reset();
}

void Member::handle(const Suspected& event) {
  std::vector<std::uint64_t> culprits;
  for (const std::uint64_t instance : event.instances) {
    if (instance != options_.instance && rank_of(attempt_.handles, instance) >= 0) culprits.push_back(instance);
  }
  if (!culprits.empty()) propose_abort(AbortReason::Suspected, culprits);
}

void Member::handle(const PeerUnreachable& event) {
  if (!is_in_attempt() || event.uuid != uuid_) return;
  propose_abort(AbortReason::Unreachable, {}, {{options_.instance, event.peer}});
}

void Member::handle(const StoreLost&) {
  store_is_lost_ = true;
  if (is_free()) return conclude("the store cannot be reached");
  limit_wait();
}

void Member::handle(const StoreBack&) {
  store_is_lost_ = false;
  grace_ends_ms_.reset();
}

/// Who has promised, and who follows a lineage and has no generation that works, can do nothing without the store.
void Member::limit_wait() {
  const bool is_without = phase_ == Phase::Idle && options_.follows && (generation_ == 0 || is_revoked_);
  const bool needs_store = phase_ == Phase::Promised || is_without;
  if (store_is_lost_ && needs_store && !grace_ends_ms_) grace_ends_ms_ = now_ms_ + options_.store_grace_ms;
}

void Member::handle(const TimePassed& event) {
  now_ms_ = std::max(now_ms_, event.now_ms);
  if (grace_ends_ms_ && *grace_ends_ms_ <= now_ms_) {
    const bool store_is_gone = true;
    const std::string_view when =
        phase_ == Phase::Promised ? " ms after this member had promised" : " ms, and there is no generation without it";
    return leave(cat("the store was away for ", options_.store_grace_ms, when), store_is_gone);
  }
  if (store_is_lost_ && is_free() && now_ms_ >= deadline_ms_) return conclude("the store cannot be reached");
  if (!is_in_attempt() || now_ms_ < deadline_ms_ || abort_asked_) return;
  if (options_.fault == Fault::ConcludeAlone && phase_ == Phase::Promised) return conclude("the deadline passed");
  ask_who_is_missing();
}

}  // namespace resilin::dist
