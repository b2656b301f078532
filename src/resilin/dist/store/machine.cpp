// src/resilin/dist/store/machine.cpp -- the store as a pure machine: its steps, and the requests that wait.
#include "resilin/dist/store/machine.h"

#include <algorithm>
#include <limits>

#include "resilin/base/overloaded.h"
#include "resilin/dist/store/check.h"

namespace resilin::dist {

std::vector<StoreAnswer> StoreMachine::step(const StoreEvent& event) {
  answers_.clear();
  std::visit(
      Overloaded{[this](const RequestArrived& arrived) { arrive(arrived); },
                 [this](const ConnectionClosed& closed) { close(closed.connection); }, [this](const TimeTold& told) { tick(told.now_ms); }},
      event);
  wake();
  return std::move(answers_);
}

std::uint64_t StoreMachine::next_deadline_ms() const {
  const std::uint64_t wait_ms = deadlines_.empty() ? std::numeric_limits<std::uint64_t>::max() : deadlines_.begin()->first;
  return std::min(wait_ms, keys_.next_deadline_ms());
}

void StoreMachine::arrive(const RequestArrived& arrived) {
  const Request& request = arrived.request;
  if (std::string fault = fault_of(request, limits_); !fault.empty()) {
    return answer(arrived, {.status = StoreStatus::Invalid, .error = std::move(fault)});
  }
  if (request.writer.instance != 0 && changes_store(request)) {
    const Reply* known = nullptr;
    switch (sessions_.recall(request, now_ms_, known)) {
      case Sessions::Recall::New: break;
      case Sessions::Recall::Known: return answer(arrived, *known);
      case Sessions::Recall::Forgotten:
        return answer(arrived, {.status = StoreStatus::Invalid,
                                .error = cat(enum_name(request.op), ": instance ", request.writer.instance, " repeats its request ",
                                             request.writer.nonce, ", which it has called answered; nonces must grow")});
    }
  }
  if (request.wait_ms != 0 && !is_satisfied(request)) return wait(arrived);
  answer(arrived, perform(arrived));
}

void StoreMachine::answer(const RequestArrived& arrived, Reply reply) {
  const Request& request = arrived.request;
  if (request.writer.instance != 0 && reply.status == StoreStatus::Ok && changes_store(request)) sessions_.remember(request.writer, reply);
  answers_.push_back({arrived.connection, arrived.id, std::move(reply)});
}

void StoreMachine::wait(const RequestArrived& arrived) {
  if (arrived.request.writer.instance != 0 && changes_store(arrived.request)) drop_repeated(arrived.request.writer);
  const std::uint64_t number = ++last_pending_;
  const std::uint64_t room_ms = std::numeric_limits<std::uint64_t>::max() - 1 - now_ms_;
  const std::uint64_t deadline_ms = now_ms_ + std::min(arrived.request.wait_ms, room_ms);
  Waiters& waiters = arrived.request.op == StoreOp::Pop ? queue_waiters_ : waiters_;
  for (const std::string& key : arrived.request.keys) waiters[key].insert(number);
  deadlines_.emplace(deadline_ms, number);
  pending_.emplace(number, Pending{arrived.connection, arrived.id, deadline_ms, arrived.request});
}

void StoreMachine::drop_repeated(const Writer& writer) {
  // Else both would take an item, one of them for a connection that is gone.
  const auto is_repeated = [&](const auto& entry) { return entry.second.request.writer == writer && changes_store(entry.second.request); };
  const std::map<std::uint64_t, Pending>::iterator at = std::find_if(pending_.begin(), pending_.end(), is_repeated);
  if (at != pending_.end()) drop(at->first);
}

void StoreMachine::drop(std::uint64_t number) {
  const std::map<std::uint64_t, Pending>::iterator at = pending_.find(number);
  Waiters& waiters = at->second.request.op == StoreOp::Pop ? queue_waiters_ : waiters_;
  for (const std::string& key : at->second.request.keys) {
    const Waiters::iterator entry = waiters.find(key);
    if (entry == waiters.end()) continue;  // a key that is named twice
    entry->second.erase(number);
    if (entry->second.empty()) waiters.erase(entry);
  }
  deadlines_.erase({at->second.deadline_ms, number});
  pending_.erase(at);
}

void StoreMachine::finish(std::uint64_t number, StoreStatus status) {
  const Pending& pending = pending_.at(number);
  const RequestArrived arrived{pending.connection, pending.id, pending.request};
  drop(number);
  Reply reply = status == StoreStatus::Expired && arrived.request.op == StoreOp::Pop ? Reply{} : perform(arrived);
  reply.status = status;
  answer(arrived, std::move(reply));
}

void StoreMachine::close(std::uint64_t connection) {
  std::vector<std::uint64_t> gone;
  for (const auto& [number, pending] : pending_) {
    if (pending.connection == connection) gone.push_back(number);
  }
  for (const std::uint64_t number : gone) drop(number);
  changed_ = keys_.close(connection);
}

void StoreMachine::tick(std::uint64_t now_ms) {
  const std::uint64_t gap_ms = knows_time_ && now_ms > now_ms_ ? now_ms - now_ms_ : 0;
  now_ms_ = std::max(now_ms_, now_ms);
  knows_time_ = true;
  if (gap_ms > limits_.late_tick_ms) keys_.extend_leases(gap_ms);
  changed_ = keys_.expire(now_ms_);
  wake();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ms_) finish(deadlines_.begin()->second, StoreStatus::Expired);
  sessions_.forget_idle(now_ms_, limits_.session_idle_ms);
}

void StoreMachine::wake() {
  const auto wake_waiters = [this](Waiters& waiters, std::vector<std::string>& keys) {
    std::set<std::uint64_t> candidates;  // in the order of arrival
    for (const std::string& key : keys) {
      const Waiters::const_iterator at = waiters.find(key);
      if (at != waiters.end()) candidates.insert(at->second.begin(), at->second.end());
    }
    keys.clear();
    for (const std::uint64_t number : candidates) {
      if (is_satisfied(pending_.at(number).request)) finish(number, StoreStatus::Ok);
    }
  };
  wake_waiters(waiters_, changed_);
  wake_waiters(queue_waiters_, filled_);
}

}  // namespace resilin::dist
