// src/resilin/dist/environment.cpp -- the machine's own clock, random numbers and threads.
#include "resilin/dist/environment.h"

#include <cstdlib>
#include <random>
#include <thread>
#include <utility>

#include "resilin/dist/os/thread.h"

namespace resilin::dist {
namespace {

using std::chrono::nanoseconds;

class MachineClock final : public Clock {
 public:
  nanoseconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
  void wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, nanoseconds time) override {
    condition.wait_until(lock, std::chrono::steady_clock::time_point(time));
  }
};

class MachineRandom final : public Random {
 public:
  std::uint64_t next() override {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  }
};

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(Clock& clock) : clock_(clock), thread_(start_thread([this] { run(); })) {}
  ~ThreadExecutor() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  void post(std::function<void()> task) override { post_after(nanoseconds(0), std::move(task)); }
  void post_after(nanoseconds delay, std::function<void()> task) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      tasks_.emplace(clock_.now() + delay, std::move(task));
    }
    wake_.notify_one();
  }

 private:
  void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ended_) {
      if (tasks_.empty()) {
        wake_.wait(lock);
      } else if (tasks_.begin()->first > clock_.now()) {
        clock_.wait_until(wake_, lock, tasks_.begin()->first);
      } else {
        const std::function<void()> task = std::move(tasks_.extract(tasks_.begin()).mapped());
        lock.unlock();
        task();
        lock.lock();
      }
    }
  }

  Clock& clock_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::multimap<nanoseconds, std::function<void()>> tasks_;  // equal times stay in the order of posting
  bool ended_ = false;
  std::thread thread_;  // last, so that all else is there when it begins
};

}  // namespace

Clock& machine_clock() {
  // Lives for ever, as the next: threads may ask while the process ends.
  static MachineClock* const clock = new MachineClock;
  return *clock;
}

nanoseconds wall_clock_now() { return std::chrono::system_clock::now().time_since_epoch(); }

Random& machine_random() {
  static MachineRandom* const random = new MachineRandom;
  return *random;
}

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

ScopedVariables::ScopedVariables(const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    before_[name] = environment_variable(name);
    setenv(name.c_str(), value.c_str(), 1);
  }
}

ScopedVariables::~ScopedVariables() {
  for (const auto& [name, value] : before_) {
    if (value) {
      setenv(name.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name.c_str());
    }
  }
}

std::unique_ptr<Executor> make_thread_executor(Clock& clock) { return std::make_unique<ThreadExecutor>(clock); }

}  // namespace resilin::dist
