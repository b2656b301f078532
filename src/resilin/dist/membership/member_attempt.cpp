// src/resilin/dist/membership/member_attempt.cpp -- a member's way through an attempt: OPEN, JOINED, CONNECTED, PROMISED, DECIDE, LEARN, INSTALL.
#include <algorithm>
#include <limits>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/dist/membership/member.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {

using namespace member_event;
namespace action = member_action;

namespace {

constexpr std::size_t kMostTextBytes = 256;

std::string text_of(const Attempt& abort) {
  std::string text = cat("attempt ", abort.uuid, " was aborted: ", enum_name(abort.reason));
  if (!abort.culprits.empty()) text += cat(": instances ", abort.culprits);
  for (const Pair& pair : abort.pairs) text += cat(": instance ", pair.first, " cannot reach ", pair.second);
  return abort.text.empty() ? text : cat(text, ": ", abort.text);
}

Request remove_keys(const std::vector<std::string>& keys) {
  Request request{.op = StoreOp::Txn};
  for (const std::string& key : keys) request.writes.push_back({.key = key, .kind = WriteKind::Remove});
  return request;
}

/// Written once: whoever comes second leaves it as it is.
Request write_once(std::string key, std::string bytes) {
  return {.op = StoreOp::Txn, .compares = {{.key = key}}, .writes = {{.key = std::move(key), .bytes = std::move(bytes)}}};
}

}  // namespace

void Member::handle(const StoreReplied& event) {
  const std::map<std::uint64_t, Asked>::iterator at = asked_.find(event.id);
  if (at == asked_.end()) return;
  const Asked asked = at->second;
  asked_.erase(at);
  if (event.reply.status == StoreStatus::Invalid) throw StoreError(cat("reconfigure: the store refused a request: ", event.reply.error));
  grace_ends_ms_.reset();
  if (asked.purpose == Purpose::Follow) {
    followed(event.reply);
  } else if (asked.purpose == Purpose::Tidy || asked.purpose == Purpose::LastOne || asked.uuid == uuid_) {
    answer(asked, event.reply);
  }
}

void Member::answer(const Asked& asked, const Reply& reply) {
  switch (asked.purpose) {
    case Purpose::Follow:
    case Purpose::Tell: return;
    case Purpose::Read: return have_read(reply);
    case Purpose::OpenIt: return reply.status == StoreStatus::Ok ? join(attempt_, reply.version) : read();
    case Purpose::Addresses: return reply.status == StoreStatus::Ok ? connect(reply) : await_addresses();
    case Purpose::Readies: return reply.status == StoreStatus::Ok ? decide(reply) : await_readies();
    case Purpose::Watch: return see_decision(reply.values[0]);
    case Purpose::Vanished: return resolve_by_current(reply.values[0], reply.values[1]);
    case Purpose::WhoIsMissing: return blame(reply);
    case Purpose::Decide: return reply.status == StoreStatus::Ok ? learn(commit_) : decide_again(reply);
    case Purpose::Abort: return reply.status == StoreStatus::Ok ? learn(abort_) : see_decision(reply.values[0]);
    case Purpose::Tidy: return look_for_others(asked.uuid);
    case Purpose::LastOne:
      if (reply.keys.empty()) remove_attempt(asked.uuid);
      return;
  }
}

// ---- OPEN

void Member::handle(const Reconfigure& event) {
  if (phase_ != Phase::Idle)
    throw ReconfigureError(cat("reconfigure: already in progress: attempt ", uuid_, "; it must end before ", event.uuid));
  if (event.handles.empty()) throw ArgumentError("reconfigure: requires at least one handle: none is given");
  Handles sorted = event.handles;
  std::ranges::sort(sorted);
  const auto same_instance = [](const Handle& a, const Handle& b) { return a.instance == b.instance; };
  const Handles::const_iterator twice = std::adjacent_find(sorted.begin(), sorted.end(), same_instance);
  if (twice != sorted.end()) throw ArgumentError(cat("reconfigure: handles must be unique: ", print_handle(*twice), " is given twice"));
  if (std::ranges::find(event.handles, handle()) == event.handles.end()) {
    throw ArgumentError(
        cat("reconfigure: Local handle is not part of the new communicator: ", print_handle(handle()), "; it must be listed"));
  }
  begin(event.uuid);
  if (event.timeout_ms != 0) deadline_ms_ = now_ms_ + event.timeout_ms;
  wanted_ = event.handles;
}

void Member::begin(std::uint64_t uuid) {
  uuid_ = uuid;
  wanted_.reset();
  attempt_ = {};
  heard_.clear();
  closes_admission_ = abort_asked_ = has_mesh_ = false;
  deadline_ms_ = now_ms_ + options_.attempt_timeout_ms;
  phase_ = Phase::Open;
  read();
}

void Member::read() { ask(Purpose::Read, {.op = StoreOp::Get, .keys = {kTopKey, kUsedKey, try_key(uuid_), over_key(uuid_)}}); }

void Member::have_read(const Reply& reply) {
  const StoreValue& value = reply.values[2];
  const bool is_over = reply.values[3].exists();
  if (!value.exists()) return wanted_ && !is_over ? open(reply) : conclude(text_of_end(reply.values[3]));
  const Attempt attempt = decode<Attempt>(value.bytes);
  if (wanted_ && attempt.digest != digest_of(uuid_, *wanted_, false)) {
    if (attempt.verdict != Verdict::Open) return conclude(cat("uuid ", uuid_, " was already used; each attempt needs its own"));
    attempt_ = attempt;
    attempt_version_ = value.version;
    phase_ = Phase::Joined;
    return propose_abort(AbortReason::Digest, {options_.instance});
  }
  if (attempt.verdict == Verdict::Open) return join(attempt, value.version);
  conclude(attempt.verdict == Verdict::Abort ? text_of(attempt) : cat("uuid ", uuid_, " was already used; each attempt needs its own"));
}

/// Of an attempt of which try/U is gone.
std::string Member::text_of_end(const StoreValue& over) const {
  if (!over.exists()) return cat("attempt ", uuid_, " is over");
  const Attempt abort = decode<Attempt>(over.bytes);
  const bool is_other_list = wanted_ && abort.digest != digest_of(uuid_, *wanted_, false);
  return is_other_list ? cat("uuid ", uuid_, " was already used; each attempt needs its own") : text_of(abort);
}

void Member::open(const Reply& state) {
  UsedUuids used;
  if (state.values[1].exists()) used = decode<UsedUuids>(state.values[1].bytes);
  if (used.contains(uuid_)) return conclude(cat("uuid ", uuid_, " was already used; each attempt needs its own"));
  used.insert(uuid_);
  std::uint64_t top = state.values[0].exists() ? decode<std::uint64_t>(state.values[0].bytes) : 0;
  for (const Handle& handle : *wanted_) top = std::max(top, handle.generation);
  attempt_ = {.uuid = uuid_, .generation = top + 1, .handles = *wanted_, .digest = digest_of(uuid_, *wanted_, false)};
  ask(Purpose::OpenIt, {.op = StoreOp::Txn,
                        .compares = {{.key = kTopKey, .version = state.values[0].version},
                                     {.key = kUsedKey, .version = state.values[1].version},
                                     {.key = try_key(uuid_)}},
                        .writes = {{.key = kTopKey, .bytes = encode(top + 1)},
                                   {.key = kUsedKey, .bytes = encode(used)},
                                   {.key = try_key(uuid_), .bytes = encode(attempt_)}}});
}

// ---- JOINED

void Member::join(const Attempt& attempt, std::uint64_t version) {
  attempt_ = attempt;
  attempt_version_ = version;
  phase_ = Phase::Joined;
  const int rank = rank_of(attempt.handles, options_.instance);
  const bool is_fit = rank >= 0 && attempt.handles[static_cast<std::size_t>(rank)] == handle() && attempt.generation > generation_;
  if (!is_fit) return propose_abort(AbortReason::StaleHandle, {options_.instance});
  watch_decision();
  has_mesh_ = true;
  out_.push_back(action::PrepareMesh{attempt_});
}

void Member::handle(const MeshPrepared& event) {
  if (phase_ != Phase::Joined || event.uuid != uuid_) return;
  ask(Purpose::Tell, write_once(address_key(uuid_, options_.instance), event.address));
  if (attempt_.handles.size() == 1) return advance();
  await_addresses();
}

void Member::handle(const MeshFailed& event) {
  if (!is_in_attempt() || event.uuid != uuid_) return;
  propose_abort(AbortReason::NoMesh, {options_.instance}, {}, event.text.substr(0, kMostTextBytes));
}

std::vector<std::string> Member::keys_of(std::string (*key)(std::uint64_t, std::uint64_t), bool with_mine) const {
  std::vector<std::string> keys;
  for (const Handle& handle : attempt_.handles) {
    if (with_mine || handle.instance != options_.instance) keys.push_back(key(uuid_, handle.instance));
  }
  return keys;
}

void Member::await_addresses() {
  ask(Purpose::Addresses, {.op = StoreOp::Get, .keys = keys_of(address_key, false), .wait_ms = options_.attempt_timeout_ms});
}

void Member::connect(const Reply& addresses) {
  std::size_t next = 0;
  for (const Handle& handle : attempt_.handles) {
    if (handle.instance == options_.instance) continue;
    out_.push_back(action::Connect{handle, addresses.values[next++].bytes, uuid_, attempt_.generation, attempt_.digest});
  }
}

void Member::handle(const HelloHeard& event) {
  if (!is_in_attempt() || event.uuid != uuid_ || rank_of(attempt_.handles, event.peer) < 0) return;
  if (event.generation != attempt_.generation || event.digest != attempt_.digest) {
    return propose_abort(AbortReason::Digest, {event.peer});
  }
  heard_.insert(event.peer);
  if (phase_ == Phase::Joined && heard_.size() + 1 == attempt_.handles.size()) advance();
}

// ---- CONNECTED, PROMISED

void Member::advance() {
  phase_ = Phase::Connected;
  closes_admission_ = true;
  out_.push_back(action::CloseAdmission{uuid_, generation_});
}

void Member::handle(const AdmissionClosed& event) {
  if (phase_ != Phase::Connected || event.uuid != uuid_) return;
  RESILIN_ASSERT(event.blob.size() <= kMostBlobBytes, cat("a blob of ", event.blob.size(), " bytes; at most ", kMostBlobBytes, " travel"));
  phase_ = Phase::Promised;
  // Those that are not connected yet know better what is wrong: their time is over clearly earlier.
  deadline_ms_ = now_ms_ + options_.attempt_timeout_ms + options_.attempt_timeout_ms / 4;
  ask(Purpose::Tell, write_once(ready_key(uuid_, options_.instance), encode(Ready{generation_, event.blob})));
  await_readies();
}

void Member::await_readies() {
  std::vector<std::string> keys = keys_of(ready_key, true);
  if (options_.fault == Fault::CommitEarly && keys.size() > 1) keys.pop_back();
  ask(Purpose::Readies, {.op = StoreOp::Get, .keys = std::move(keys), .wait_ms = options_.attempt_timeout_ms});
}

// ---- DECIDE

void Member::decide(const Reply& readies) {
  commit_ = attempt_;
  commit_.verdict = Verdict::Commit;
  bool has_base_member = false;
  Current current{.generation = attempt_.generation};
  for (const StoreValue& value : readies.values) {
    Ready ready = decode<Ready>(value.bytes);
    has_base_member = has_base_member || ready.generation == attempt_.base;
    commit_.blobs.push_back(std::move(ready.blob));
  }
  commit_.blobs.resize(attempt_.handles.size());
  Request request{.op = StoreOp::Txn, .compares = {{.key = try_key(uuid_), .version = attempt_version_}}};
  request.writes.push_back({.key = try_key(uuid_), .bytes = encode(commit_)});
  if (attempt_.lineage) {
    if (!has_base_member && options_.fault != Fault::NoOverlap) return propose_abort(AbortReason::NoOverlap, {});
    for (const Handle& handle : attempt_.handles) current.members.push_back(handle.instance);
    current.blobs = commit_.blobs;
    if (options_.fault != Fault::IgnoreBase) request.compares.push_back({.key = kCurrentKey, .version = attempt_.base_version});
    request.writes.push_back({.key = kCurrentKey, .bytes = encode(current)});
    request.writes.push_back({.key = revoke_key(attempt_.base), .kind = WriteKind::Remove});
  }
  ask(Purpose::Decide, std::move(request));
}

void Member::decide_again(const Reply& refused) {
  const bool is_open = refused.values[0].version == attempt_version_;
  if (is_open) return propose_abort(AbortReason::Stale, {});  // so it was cur that moved
  see_decision(refused.values[0]);
}

void Member::propose_abort(AbortReason reason, std::vector<std::uint64_t> culprits, std::vector<Pair> pairs, std::string text) {
  if (!is_in_attempt() || abort_asked_) return;
  abort_asked_ = true;
  abort_ = attempt_;
  abort_.verdict = Verdict::Abort;
  abort_.reason = reason;
  abort_.culprits = std::move(culprits);
  abort_.pairs = std::move(pairs);
  abort_.text = std::move(text);
  Request request{.op = StoreOp::Txn,
                  .compares = {{.key = try_key(uuid_), .version = attempt_version_}},
                  .writes = {{.key = try_key(uuid_), .bytes = encode(abort_)}}};
  if (options_.fault == Fault::OverwriteDecision) request.compares.clear();
  ask(Purpose::Abort, std::move(request));
}

void Member::ask_who_is_missing() {
  const bool waits_for_ready = phase_ == Phase::Promised;
  deadline_ms_ = now_ms_ + options_.attempt_timeout_ms;
  if (phase_ == Phase::Connected) return propose_abort(AbortReason::Timeout, {options_.instance});
  ask(Purpose::WhoIsMissing, {.op = StoreOp::Get, .keys = keys_of(waits_for_ready ? ready_key : address_key, true)});
}

void Member::blame(const Reply& reply) {
  std::vector<std::uint64_t> culprits;
  for (std::size_t i = 0; i < reply.values.size(); ++i) {
    if (!reply.values[i].exists()) culprits.push_back(attempt_.handles[i].instance);
  }
  // All are there, and some do not answer: which end of such a way is to blame, this one cannot tell.
  std::vector<Pair> pairs;
  for (const Handle& handle : attempt_.handles) {
    const bool is_silent =
        phase_ == Phase::Joined && culprits.empty() && handle.instance != options_.instance && !heard_.contains(handle.instance);
    if (is_silent) pairs.push_back({std::min(options_.instance, handle.instance), std::max(options_.instance, handle.instance)});
  }
  propose_abort(AbortReason::Timeout, std::move(culprits), std::move(pairs));
}

// ---- LEARN

void Member::watch_decision() {
  ask(Purpose::Watch, {.op = StoreOp::Watch, .keys = {try_key(uuid_)}, .versions = {attempt_version_}, .wait_ms = options_.watch_ms});
}

void Member::see_decision(const StoreValue& value) {
  if (!is_in_attempt()) return;
  if (!value.exists()) return ask(Purpose::Vanished, {.op = StoreOp::Get, .keys = {kCurrentKey, over_key(uuid_)}});
  const Attempt attempt = decode<Attempt>(value.bytes);
  if (attempt.verdict == Verdict::Open) return watch_decision();
  learn(attempt);
}

void Member::resolve_by_current(const StoreValue& value, const StoreValue& over) {
  if (!is_in_attempt()) return;
  Current current;
  if (value.exists()) current = decode<Current>(value.bytes);
  if (current.generation > attempt_.generation)
    return leave(cat("evicted: generation ", current.generation, " goes on without this member"));
  if (current.generation < attempt_.generation) return conclude(text_of_end(over));
  commit_ = attempt_;
  commit_.verdict = Verdict::Commit;
  commit_.blobs = current.blobs;
  learn(commit_);
}

void Member::handle(const DecisionHeard& event) {
  const bool is_mine = event.attempt.uuid == uuid_ || options_.fault == Fault::IgnoreAttempt;
  if (is_in_attempt() && is_mine && event.attempt.verdict != Verdict::Open) learn(event.attempt);
}

void Member::learn(const Attempt& decision) {
  if (!is_in_attempt()) return;
  if (has_mesh_) out_.push_back(action::TellPeers{decision});
  if (decision.verdict == Verdict::Commit) return install(decision);
  const bool is_culprit = std::ranges::find(decision.culprits, options_.instance) != decision.culprits.end();
  if (!decision.lineage) last_abort_ = decision;
  tidy();
  conclude(text_of(decision));
  if (options_.follows && generation_ == 0) return is_culprit ? leave(cat("refused as a joiner: ", text_of(decision))) : announce();
}

// ---- INSTALL

void Member::install(const Attempt& decision) {
  out_.push_back(action::Install{decision, generation_});
  out_.push_back(action::Finished{uuid_, Verdict::Commit, ""});
  generation_ = decision.generation;
  is_revoked_ = false;
  revocation_.reset();
  revoke_version_ = 0;
  tidy();
  leave_attempt();
  if (options_.follows) follow();
  pursue_plan();
}

void Member::conclude(const std::string& text) {
  if (has_mesh_) out_.push_back(action::DropMesh{uuid_});
  if (closes_admission_) out_.push_back(action::OpenAdmission{generation_});
  out_.push_back(action::Finished{uuid_, Verdict::Abort, text});
  leave_attempt();
  pursue_plan();
  limit_wait();
}

void Member::leave_attempt() {
  forget([](const Asked& asked) { return waits_for_attempt(asked.purpose); });
  phase_ = Phase::Idle;
  closes_admission_ = has_mesh_ = false;
  grace_ends_ms_.reset();
  uuid_ = 0;
  attempt_ = {};
}

void Member::tidy() {
  const Request request = remove_keys({address_key(uuid_, options_.instance), ready_key(uuid_, options_.instance)});
  ask(attempt_.lineage ? Purpose::Tell : Purpose::Tidy, request);
}

/// A listed member may not have come yet: it hears of an abort all the same.
void Member::remove_attempt(std::uint64_t uuid) {
  Request request = remove_keys({try_key(uuid)});
  if (last_abort_.uuid == uuid) {
    request.writes.push_back({.key = over_key(uuid), .bytes = encode(last_abort_), .life = Life::Ttl, .ttl_ms = kOverMs});
  }
  ask_about(uuid, Purpose::Tell, std::move(request));
}

void Member::look_for_others(std::uint64_t uuid) {
  ask_about(uuid, Purpose::LastOne, {.op = StoreOp::List, .keys = {cat(try_key(uuid), "/")}});
}

}  // namespace resilin::dist
