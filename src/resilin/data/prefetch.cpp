// src/resilin/data/prefetch.cpp -- a bounded queue of batches between one thread that makes them and the caller.
#include "resilin/data/prefetch.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <signal.h>

namespace resilin::data {
namespace {

void check(i64 steps_per_epoch, const PrefetchOptions& options) {
  if (options.depth < 1) throw ArgumentError(cat("prefetch: depth is ", options.depth, "; it must be >= 1"));
  const Position start = options.start;
  if (start.epoch < 0 || start.step < 0 || start.step >= steps_per_epoch) {
    throw ArgumentError(cat("prefetch: there is no batch at epoch ", start.epoch, ", step ", start.step, "; an epoch has ", steps_per_epoch,
                            " steps, both count from 0"));
  }
}

/// Starts a thread that takes no signals: those are for the user's threads.
template <class Body>
std::thread quiet_thread(Body body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  std::string refusal;
  try {
    thread = std::thread(std::move(body));
  } catch (const std::system_error& error) {
    refusal = error.what();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!thread.joinable()) throw UnsupportedError(cat("prefetch: the system gives no thread: ", refusal, "; one is needed"));
  return thread;
}

}  // namespace

class Prefetch::Worker {
 public:
  Worker(Source source, i64 steps_per_epoch, const PrefetchOptions& options)
      : source_(std::move(source)), steps_per_epoch_(steps_per_epoch), depth_(static_cast<std::size_t>(options.depth)) {
    thread_ = quiet_thread([this, start = options.start] { run(start); });
  }

  ~Worker() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  Batch next() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || error_ != nullptr; });
    if (ready_.empty()) std::rethrow_exception(error_);
    Batch batch = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return batch;
  }

 private:
  void run(Position position) {
    while (wait_for_room()) {
      std::exception_ptr error;
      Batch batch;
      try {
        batch = source_(position);
      } catch (...) {
        error = std::current_exception();
      }
      // This thread holds no share of the exception or the batch when the caller sees it.
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (error == nullptr) {
          ready_.push_back(std::move(batch));
        } else {
          error_ = std::move(error);
        }
        if (error_ != nullptr) stopping_ = true;
      }
      changed_.notify_all();
      position = following(position, steps_per_epoch_);
    }
  }

  /// False when there is nothing more to make.
  bool wait_for_room() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || ready_.size() < depth_; });
    return !stopping_;
  }

  const Source source_;
  const i64 steps_per_epoch_;
  const std::size_t depth_;
  std::mutex mutex_;                 // guards the members up to the thread
  std::condition_variable changed_;  // any of them changed
  std::deque<Batch> ready_;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_;
};

Prefetch::Prefetch(const ByteBatches& batches, const PrefetchOptions& options)
    : Prefetch([batches](Position position) { return batches.make(position); }, batches.steps_per_epoch(), options) {}

Prefetch::Prefetch(Source source, i64 steps_per_epoch, const PrefetchOptions& options) {
  check(steps_per_epoch, options);
  if (!source) throw ArgumentError("prefetch: the source is an empty function; it must make batches");
  worker_ = std::make_unique<Worker>(std::move(source), steps_per_epoch, options);
}

Prefetch::~Prefetch() = default;

Batch Prefetch::next() { return worker_->next(); }

}  // namespace resilin::data
