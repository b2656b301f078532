// src/resilin/dist/store/machine.h -- Internal: the store as a pure machine: requests, ends of connections and the time in, answers out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "resilin/dist/store/key_table.h"
#include "resilin/dist/store/request.h"
#include "resilin/dist/store/sessions.h"

namespace resilin::dist {

struct StoreLimits {
  std::size_t key_bytes = 1024;
  std::size_t value_bytes = std::size_t{1} << 20;
  std::uint64_t late_tick_ms = 500;         // a tick that comes so late says nothing about leases: they are extended by the gap
  std::uint64_t session_idle_ms = 600'000;  // replies are kept so long for an instance that asks nothing
};

/// A request came in; `id` is the connection's own number for it and comes back with the answer.
struct RequestArrived {
  std::uint64_t connection = 0;
  std::uint64_t id = 0;
  Request request = {};
};
/// A connection is gone, with its waiting requests and the keys that were bound to it.
struct ConnectionClosed {
  std::uint64_t connection = 0;
};
/// The time, of a clock that never goes back. Only the difference between ticks of one life of the machine has a meaning.
struct TimeTold {
  std::uint64_t now_ms = 0;
};
using StoreEvent = std::variant<RequestArrived, ConnectionClosed, TimeTold>;

struct StoreAnswer {
  std::uint64_t connection = 0;
  std::uint64_t id = 0;
  Reply reply = {};
};

/// The contents of a store. It knows no clock, thread or socket: the same events give the same answers.
///
/// Requests that wait are answered by the step that makes them true, in the order in which they came, or by the tick that ends their wait.
class StoreMachine {
 public:
  explicit StoreMachine(StoreLimits limits = {}) : limits_(limits) {}

  std::vector<StoreAnswer> step(const StoreEvent& event);
  /// The time at which a tick would do something; the greatest number when nothing waits.
  std::uint64_t next_deadline_ms() const;

  /// Keys, queues, versions and remembered replies as bytes, for the disk. Requests that wait are not kept: their clients ask again.
  std::string snapshot() const;
  /// A machine that goes on from a snapshot. VersionError when its bytes are of another format or damaged.
  static StoreMachine restore(std::string_view snapshot, StoreLimits limits = {}, std::uint64_t now_ms = 0);

  const KeyTable& keys() const { return keys_; }
  std::size_t waiting_count() const { return pending_.size(); }

 private:
  struct Pending {
    std::uint64_t connection = 0;
    std::uint64_t id = 0;
    std::uint64_t deadline_ms = 0;
    Request request;
  };
  using Waiters = std::map<std::string, std::set<std::uint64_t>, std::less<>>;

  void arrive(const RequestArrived& arrived);
  void close(std::uint64_t connection);
  void tick(std::uint64_t now_ms);
  void answer(const RequestArrived& arrived, Reply reply);
  void wait(const RequestArrived& arrived);
  void drop_repeated(const Writer& writer);
  void drop(std::uint64_t pending);
  void finish(std::uint64_t pending, StoreStatus status);
  void wake();

  Reply perform(const RequestArrived& arrived);
  Reply transact(const RequestArrived& arrived);
  Reply add(const Request& request);
  Reply append(const Request& request);
  Reply push(const Request& request);
  Reply pop(const Request& request);
  bool is_satisfied(const Request& request) const;
  bool holds(const Compare& compare) const;
  Reply values(const Request& request) const;
  Reply take(const Request& request);
  void update(const Request& request, std::string bytes, Reply& reply);

  StoreLimits limits_;
  KeyTable keys_;
  std::map<std::string, std::deque<std::string>, std::less<>> queues_;
  Sessions sessions_;
  std::uint64_t now_ms_ = 0;
  bool knows_time_ = false;
  std::uint64_t last_pending_ = 0;
  std::map<std::uint64_t, Pending> pending_;  // in the order of arrival
  Waiters waiters_;                           // key -> the requests that wait for it
  Waiters queue_waiters_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> deadlines_;  // (deadline, pending)
  std::vector<std::string> changed_;                             // by this step
  std::vector<std::string> filled_;                              // queues
  std::vector<StoreAnswer> answers_;                             // of this step
};

}  // namespace resilin::dist
