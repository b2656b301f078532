// src/resilin/dist/store/hash_store.cpp -- a store in this process, for threads.
#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "resilin/dist/store/machine.h"
#include "resilin/dist/store/store.h"

namespace resilin::dist {
namespace {

class HashStore final : public Store {
 public:
  explicit HashStore(Clock& clock) : clock_(clock) {}

  Reply ask(Request request, std::stop_token stop) override {
    const StoreOp op = request.op;
    // Before the lock and gone after it: a stop takes the lock too.
    const std::stop_callback on_stop(stop, [this] { wake_all(); });
    std::unique_lock<std::mutex> lock(mutex_);
    tell_time();
    const std::uint64_t id = ++last_id_;
    // What waits has a connection of its own, so that it can be ended; keys are bound to the object.
    const std::uint64_t connection = op == StoreOp::Txn ? 0 : id;
    deliver(machine_.step(RequestArrived{connection, id, std::move(request)}));
    while (true) {
      const std::map<std::uint64_t, Reply>::iterator at = replies_.find(id);
      if (at != replies_.end()) return std::move(replies_.extract(at).mapped());
      if (stop.stop_requested()) {
        deliver(machine_.step(ConnectionClosed{connection}));
        throw given_up(op);
      }
      // Every waiter wakes for the machine's next deadline, its own or another's.
      const std::uint64_t until_ms = std::min(machine_.next_deadline_ms(), clock_.now_ms() + kLongestSleepMs);
      clock_.wait_until(answered_, lock, std::chrono::milliseconds(until_ms));
      tell_time();
    }
  }

 private:
  static constexpr std::uint64_t kLongestSleepMs = 3'600'000;

  void wake_all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    answered_.notify_all();
  }

  void tell_time() { deliver(machine_.step(TimeTold{clock_.now_ms()})); }

  void deliver(std::vector<StoreAnswer> answers) {
    for (StoreAnswer& answer : answers) replies_[answer.id] = std::move(answer.reply);
    if (!answers.empty()) answered_.notify_all();
  }

  Clock& clock_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable answered_;
  // The time is told when somebody asks; a long silence is not a late tick.
  StoreMachine machine_{{.late_tick_ms = std::numeric_limits<std::uint64_t>::max()}};
  std::map<std::uint64_t, Reply> replies_;  // not yet taken by the thread that asked
  std::uint64_t last_id_ = 0;
};

}  // namespace

std::shared_ptr<Store> make_hash_store(Clock& clock) { return std::make_shared<HashStore>(clock); }

}  // namespace resilin::dist
