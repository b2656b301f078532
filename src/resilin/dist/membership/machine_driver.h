// src/resilin/dist/membership/machine_driver.h -- Internal: the thread in which a pure machine of membership lives.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "resilin/base/error.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/membership/store_asker.h"
#include "resilin/dist/os/thread.h"

namespace resilin::dist {

/// Steps a machine: events in the order in which they were posted, each after the time, and the time alone when the machine's deadline has come.
/// `Kind` names the machine and its events.
///
/// Threads  any may call but for `call`, which is not for the machine's own thread. All functions of the Owner are called there, but for those
///          about the store.
template <class Kind>
class MachineDriver {
 public:
  using Machine = typename Kind::Machine;
  using Event = typename Kind::Event;
  using Actions = decltype(std::declval<Machine&>().step(std::declval<const Event&>()));
  using Action = typename Actions::value_type;

  struct Owner {
    std::function<void(const Machine&)> stepped;  // before its actions are done
    std::function<void(Action&)> act;
    std::function<void(const std::string& why)> broken;  // the machine or `act` threw; no step follows
    std::function<void(const std::string& why)> store_lost;
    std::function<void()> store_back;
  };

  MachineDriver(Machine machine, std::shared_ptr<Store> store, Owner owner, Clock& clock)
      : machine_(std::move(machine)),
        owner_(std::move(owner)),
        clock_(clock),
        asker_(std::move(store),
               {.replied =
                    [this](std::uint64_t id, Reply reply) {
                      post(typename Kind::StoreReplied{id, std::move(reply)});
                    },
                .lost = owner_.store_lost,
                .back = owner_.store_back},
               clock),
        thread_(start_thread([this] { run(); })) {}
  ~MachineDriver() { close(); }
  MachineDriver(const MachineDriver&) = delete;
  MachineDriver& operator=(const MachineDriver&) = delete;

  void post(Event event) { enter({std::move(event), nullptr}); }
  /// Comes back when the step is done. ArgumentError and ReconfigureError are the machine's refusal of the event; nothing has changed then.
  void call(Event event) {
    std::promise<Refusal> done;
    std::future<Refusal> result = done.get_future();
    enter({std::move(event), &done});
    const Refusal refusal = result.get();
    if (const ArgumentError* const error = std::get_if<ArgumentError>(&refusal)) throw ArgumentError(*error);
    if (const ReconfigureError* const error = std::get_if<ReconfigureError>(&refusal)) throw ReconfigureError(*error);
  }
  bool is_own_thread() const { return std::this_thread::get_id() == thread_id_.load(); }
  StoreAsker& asker() { return asker_; }

  /// Comes back when no function runs any more. What is posted later is dropped.
  void close() {
    asker_.close();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
    for (const Queued& queued : std::exchange(queue_, {})) {
      if (queued.done != nullptr) queued.done->set_value(ReconfigureError(kClosed));
    }
  }

 private:
  using Refusal = std::variant<std::monostate, ArgumentError, ReconfigureError>;
  struct Queued {
    Event event;
    std::promise<Refusal>* done = nullptr;
  };

  void enter(Queued queued) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!ended_) {
        queue_.push_back(std::move(queued));
        wake_.notify_one();
        return;
      }
    }
    if (queued.done != nullptr) queued.done->set_value(ReconfigureError(kClosed));
  }

  void run() {
    thread_id_ = std::this_thread::get_id();
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ended_) {
      if (!queue_.empty()) {
        Queued next = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        take(next);
        lock.lock();
      } else if (deadline_ms_ == std::numeric_limits<std::uint64_t>::max()) {
        wake_.wait(lock);
      } else if (deadline_ms_ > clock_.now_ms()) {
        clock_.wait_until(wake_, lock, std::chrono::milliseconds(deadline_ms_));
      } else {
        lock.unlock();
        Queued tick{typename Kind::TimePassed{clock_.now_ms()}};
        take(tick);
        lock.lock();
      }
    }
  }

  void take(Queued& queued) {
    if (!reason_.empty()) return answer_broken(queued);
    try {
      perform(machine_.step(typename Kind::TimePassed{clock_.now_ms()}));
      if (step(queued) && queued.done != nullptr) queued.done->set_value({});
    } catch (const std::exception& error) {
      reason_ = error.what();
      deadline_ms_ = std::numeric_limits<std::uint64_t>::max();
      answer_broken(queued);
      owner_.broken(reason_);
    }
  }

  /// False when the machine refused what it was called with.
  bool step(Queued& queued) {
    Actions actions;
    try {
      actions = machine_.step(queued.event);
    } catch (const ArgumentError& error) {
      if (queued.done == nullptr) throw;
      queued.done->set_value(error);
      return false;
    } catch (const ReconfigureError& error) {
      if (queued.done == nullptr) throw;
      queued.done->set_value(error);
      return false;
    }
    perform(std::move(actions));
    return true;
  }

  void perform(Actions actions) {
    owner_.stepped(machine_);
    for (Action& action : actions) owner_.act(action);
    deadline_ms_ = machine_.next_deadline_ms();
  }

  void answer_broken(const Queued& queued) const {
    if (queued.done != nullptr) queued.done->set_value(ReconfigureError(reason_));
  }

  static constexpr const char* kClosed = "reconfigure: the group is closed; nothing can be asked of it any more";

  Machine machine_;
  const Owner owner_;
  Clock& clock_;
  std::uint64_t deadline_ms_ = std::numeric_limits<std::uint64_t>::max();
  std::string reason_;  // why no step follows
  std::atomic<std::thread::id> thread_id_;
  std::mutex mutex_;  // guards queue_ and ended_
  std::condition_variable wake_;
  std::deque<Queued> queue_;
  bool ended_ = false;
  StoreAsker asker_;
  std::thread thread_;  // uses all of the above
};

}  // namespace resilin::dist
