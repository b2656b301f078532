// tests/dist/simulation/invariants.cpp -- what must hold after every event of a simulated schedule.
#include "tests/dist/simulation/invariants.h"

#include <algorithm>
#include <optional>

#include "resilin/dist/membership/step_votes.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist::simulation {
namespace {

std::optional<Ready> ready_of(const StoreMachine& store, std::uint64_t uuid, std::uint64_t instance) {
  const StoreValue* value = store.keys().find(ready_key(uuid, instance));
  return value == nullptr ? std::nullopt : std::optional<Ready>(decode<Ready>(value->bytes));
}

bool is_try_key(const std::string& key) { return key.starts_with("try/") && key.find('/', 4) == std::string::npos; }

}  // namespace

void Invariants::stored(const Request& request, const StoreMachine& store) {
  if (request.op != StoreOp::Txn) return;
  std::optional<Attempt> attempt;
  bool writes_current = false;
  for (const Write& write : request.writes) {
    writes_current = writes_current || write.key == kCurrentKey;
    if (!is_try_key(write.key) || write.kind == WriteKind::Remove) continue;
    const StoreValue* value = store.keys().find(write.key);
    if (value == nullptr) continue;
    attempt = decode<Attempt>(value->bytes);
    const auto at = final_.find(attempt->uuid);
    if (at != final_.end() && at->second != attempt->verdict)
      fail(cat("I1: ", write.key, " was decided and is now ", enum_name(attempt->verdict)));
    if (attempt->verdict == Verdict::Open || at != final_.end()) continue;
    final_[attempt->uuid] = attempt->verdict;
    if (attempt->verdict == Verdict::Commit) commit_seen(*attempt, store);
  }
  const StoreValue* value = store.keys().find(kCurrentKey);
  if (!writes_current || !attempt || value == nullptr) return;
  const Current current = decode<Current>(value->bytes);
  if (current.generation != current_.generation) current_moved(current, *attempt, store);
}

void Invariants::commit_seen(const Attempt& attempt, const StoreMachine& store) {
  for (const Handle& handle : attempt.handles) {
    if (!ready_of(store, attempt.uuid, handle.instance))
      fail(cat("I2: try/", attempt.uuid, " is committed without READY of ", handle.instance));
  }
}

void Invariants::current_moved(const Current& current, const Attempt& attempt, const StoreMachine& store) {
  if (current.generation < current_.generation) fail(cat("I4: cur went from ", current_.generation, " to ", current.generation));
  if (attempt.base != current_.generation) fail(cat("I4: cur went from ", current_.generation, " to a list whose base is ", attempt.base));
  const auto comes_from_base = [&](const Handle& handle) {
    const std::optional<Ready> ready = ready_of(store, attempt.uuid, handle.instance);
    return ready && ready->generation == current_.generation &&
           std::ranges::find(current_.members, handle.instance) != current_.members.end();
  };
  if (current_.generation != 0 && std::ranges::none_of(attempt.handles, comes_from_base)) {
    fail(cat("I4: no member of ", current_.generation, " wrote READY for ", current.generation));
  }
  current_ = current;
}

void Invariants::decided(std::uint64_t instance, std::uint64_t uuid, Verdict verdict) {
  const auto [at, is_first] = decided_.try_emplace(uuid, instance, verdict);
  if (!is_first && at->second.second != verdict) {
    fail(cat("I1: instance ", at->second.first, " learned ", enum_name(at->second.second), " of ", uuid, ", instance ", instance,
             " learned ", enum_name(verdict)));
  }
}

void Invariants::installed(std::uint64_t instance, std::uint64_t before, const Attempt& attempt) {
  if (attempt.generation <= before) fail(cat("I3: instance ", instance, " went from generation ", before, " to ", attempt.generation));
  const auto [at, is_first] = lists_.try_emplace(attempt.generation, attempt.handles);
  if (!is_first && at->second != attempt.handles) fail(cat("I3: generation ", attempt.generation, " names two lists"));
}

void Invariants::work_done(std::uint64_t instance, Phase phase, std::uint64_t generation, std::uint64_t vote) {
  if (phase == Phase::Promised) fail(cat("I5: instance ", instance, " finished Work of generation ", generation, " after its READY"));
  if (contributions_[{generation, vote}].size() != lists_[generation].size()) {
    fail(cat("I5: Work ", vote, " of generation ", generation, " succeeded on instance ", instance, " without the parts of all"));
  }
}

void Invariants::applied_by_votes(std::uint64_t instance, Phase phase, std::uint64_t generation, std::uint64_t vote) {
  if (phase == Phase::Promised) fail(cat("I5: a vote of generation ", generation, " passed on instance ", instance, " after its READY"));
  if (yes_[{generation, vote}].size() != lists_[generation].size()) {
    fail(cat("I5: vote ", vote, " of generation ", generation, " passed on instance ", instance, " without yes of all"));
  }
}

void Invariants::applied(std::uint64_t instance, std::uint64_t step, std::uint64_t generation, std::uint64_t vote) {
  std::uint64_t& position = positions_[instance];
  if (step != position) fail(cat("I6: instance ", instance, " applied step ", step, " after ", position, " steps"));
  position = step + 1;
  if (step > history_.size())
    return fail(cat("I6: instance ", instance, " applied step ", step, "; the longest history is ", history_.size()));
  if (step == history_.size()) {
    history_.push_back({generation, vote});
    digests_.push_back(digest_after(digests_.back(), generation, vote));
  } else if (history_[step] != Place{generation, vote}) {
    fail(cat("I6: step ", step, " is vote ", vote, " of generation ", generation, " on instance ", instance, ", and vote ",
             history_[step].second, " of generation ", history_[step].first, " elsewhere"));
  }
}

void Invariants::healed(std::uint64_t instance, std::uint64_t step, std::uint64_t digest) {
  if (step > history_.size() || digests_[step] != digest)
    fail(cat("I6: instance ", instance, " was healed with a state that is no prefix"));
  positions_[instance] = step;
}

}  // namespace resilin::dist::simulation
