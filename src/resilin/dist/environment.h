// src/resilin/dist/environment.h -- time, chance and threads as parameters, so that tests can give their own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "resilin/base/api.h"

namespace resilin::dist {

/// A clock that never goes back, and the one place where dist waits for time to pass.
class RESILIN_API Clock {
 public:
  virtual ~Clock() = default;
  /// Since a start of the clock's own.
  virtual std::chrono::nanoseconds now() const = 0;
  /// Waits for a notification, at most until this time; may return early, as every wait on a condition.
  virtual void wait_until(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds time) = 0;

  std::uint64_t now_ms() const { return static_cast<std::uint64_t>(now() / std::chrono::milliseconds(1)); }
};

/// Numbers nobody can foresee, for instances and nonces, and repeatable ones in tests.
class RESILIN_API Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
};

/// Runs tasks one after the other, never two at once, never inside the call that posts them.
class RESILIN_API Executor {
 public:
  virtual ~Executor() = default;
  virtual void post(std::function<void()> task) = 0;
  /// Not before `delay` has passed; tasks of one time run in the order in which they were posted.
  virtual void post_after(std::chrono::nanoseconds delay, std::function<void()> task) = 0;
};

/// The machine's monotonic clock.
RESILIN_API Clock& machine_clock();
/// The time since 1970 as the machine tells it, which may jump: for labels only.
RESILIN_API std::chrono::nanoseconds wall_clock_now();
/// The operating system's random numbers.
RESILIN_API Random& machine_random();
/// The value of an environment variable of this process; nothing when it is not set.
RESILIN_API std::optional<std::string> environment_variable(const std::string& name);
/// Variables of this process's environment for the length of a scope; then they are what they were. No other thread may look at the
/// environment meanwhile.
class ScopedVariables {
 public:
  explicit ScopedVariables(const std::map<std::string, std::string>& values);
  ~ScopedVariables();
  ScopedVariables(const ScopedVariables&) = delete;
  ScopedVariables& operator=(const ScopedVariables&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};
/// A thread of its own that ends with the object; tasks that have not begun by then are dropped.
RESILIN_API std::unique_ptr<Executor> make_thread_executor(Clock& clock);

}  // namespace resilin::dist
