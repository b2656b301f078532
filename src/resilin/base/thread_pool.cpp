// src/resilin/base/thread_pool.cpp -- the one thread pool of the process: static ranges, short spins, then sleep; a range whose thread is late is the caller's.
//
// Each worker has a slot with a ticket. The owner of the pool writes the job, raises the tickets of the workers it needs, runs
// the first range itself and waits until `remaining` is zero. Both sides wait awake for some microseconds and then sleep in the
// kernel (futex). "Sleeping" flags save the wake-up call: a sleeper raises its flag and looks at the word again before it sleeps,
// the other side writes the word before it looks at the flag; both in sequentially consistent order, so one of them sees the other.
#include "resilin/base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "resilin/base/config.h"
#include "resilin/base/cpu_count.h"
#include "resilin/base/log.h"

namespace resilin {
namespace {

using Clock = std::chrono::steady_clock;
using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == 4 && Word::is_always_lock_free, "a futex needs the plain word");

void futex_wait(Word& word, std::uint32_t expected) { syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0); }
void futex_wake(Word& word) { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

[[gnu::tls_model("initial-exec")]] thread_local constinit bool t_in_region = false;
[[gnu::tls_model("initial-exec")]] thread_local constinit int t_calls = 0;  // this thread's part of g_callers

/// Marks the thread as inside a body, also when the body throws.
class RegionMark {
 public:
  RegionMark() : before_(t_in_region) { t_in_region = true; }
  ~RegionMark() { t_in_region = before_; }

 private:
  const bool before_;
};

/// Until this time (nanoseconds of Clock) nobody spins, because a spinning thread was found to have lost its processor.
std::atomic<i64> g_no_spin_until_ns{0};
/// User threads inside `parallel_for`: with the pool's workers they are the runnable threads the pool knows of.
std::atomic<int> g_callers{0};
/// Counts forks, so that a job that was cut by one is noticed in the child.
std::atomic<std::uint32_t> g_fork_generation{0};

i64 now_ns() { return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count(); }

/// Microseconds to spin with `threads` pool threads: none when more threads want to run than there are processors.
i64 spin_ns(int threads) {
  static const config::Knob& knob = config::knob("runtime.spin_us");
  static const int cpus = usable_cpu_count();
  if (threads + g_callers.load(std::memory_order_relaxed) - 1 > cpus) return 0;
  return knob.integer() * 1000;
}

/// Waits awake until `done()` or the time is over. Two looks at the clock are microseconds apart unless the kernel ran something
/// else in between: then more threads are runnable than processors, and spinning would only keep them from working.
template <class Done>
bool spin_until(int threads, Done done) {
  constexpr i64 kLostProcessorNs = 20'000;
  constexpr i64 kNoSpinNs = 10'000'000;
  const i64 budget = spin_ns(threads);
  if (done()) return true;
  if (budget == 0) return false;
  const i64 start = now_ns();
  if (start < g_no_spin_until_ns.load(std::memory_order_relaxed)) return false;
  i64 last = start;
  while (true) {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      pause_cpu();
    }
    const i64 now = now_ns();
    if (now - last > kLostProcessorNs) {
      g_no_spin_until_ns.store(now + kNoSpinNs, std::memory_order_relaxed);
      return done();
    }
    if (now - start > budget) return false;
    last = now;
  }
}

/// Waits until `word` differs from `old`, awake at first and then asleep.
void wait_change(Word& word, std::uint32_t old, std::atomic<bool>& sleeping, int threads) {
  if (spin_until(threads, [&] { return word.load(std::memory_order_acquire) != old; })) return;
  sleeping.store(true);
  while (word.load() == old) futex_wait(word, old);
  sleeping.store(false, std::memory_order_relaxed);
}

void publish(Word& word, std::uint32_t value, const std::atomic<bool>& sleeping) {
  word.store(value);
  if (sleeping.load()) futex_wake(word);
}

/// A cut of [begin, end) into `parts` ranges of whole grains.
struct Partition {
  i64 begin;
  i64 end;
  i64 grain;
  int parts;

  i64 boundary(int part) const {
    if (part == parts) return end;
    const i64 size = end - begin;
    const i64 grains = size / grain + (size % grain != 0 ? 1 : 0);
    // grains * part may exceed 64 bits; whole and rest are cut apart.
    const i64 whole = grains / parts;
    const i64 rest = grains % parts;
    return begin + grain * (whole * part + rest * part / parts);
  }
};

class Pool {
 public:
  explicit Pool(int threads) : threads_(threads) {
    slots_ = std::make_unique<Slot[]>(static_cast<std::size_t>(threads - 1));
    // Signals are for the user's threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error& error) {
      log(LogLevel::Warning, cat("the system gives ", workers_.size(), " of ", threads - 1, " pool threads: ", error.what()));
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~Pool() {
    stopping_.store(true, std::memory_order_relaxed);
    for (std::size_t i = 0; i < workers_.size(); ++i) raise_ticket(slots_[i]);
    for (std::thread& worker : workers_) worker.join();
  }

  int threads() const { return threads_; }
  Pool* next_foreign = nullptr;  // in the list of a parent's pools

  /// Runs all ranges; ranges that have no worker (the system refused its thread) are the caller's.
  void run(const Partition& partition, RangeBody body) {
    const int helpers = std::min(partition.parts - 1, static_cast<int>(workers_.size()));
    const std::uint32_t generation = g_fork_generation.load(std::memory_order_relaxed);
    partition_ = partition;
    body_ = &body;
    remaining_.store(static_cast<std::uint32_t>(helpers), std::memory_order_relaxed);
    for (int i = 0; i < helpers; ++i) raise_ticket(slots_[i]);

    std::exception_ptr own_error = run_range(0);
    for (int i = 0; i < helpers; ++i) {
      if (!claim(slots_[i], slots_[i].ticket.load(std::memory_order_relaxed))) continue;
      slots_[i].error = run_range(i + 1);
      remaining_.fetch_sub(1);
    }
    for (int part = helpers + 1; part < partition.parts && own_error == nullptr; ++part) own_error = run_range(part);
    if (generation != g_fork_generation.load(std::memory_order_relaxed)) {
      throw UnsupportedError("parallel_for: the body forked: the child has no other threads; fork outside parallel regions");
    }
    join();
    for (int i = 0; i < helpers && own_error == nullptr; ++i) own_error = slots_[i].error;
    for (int i = 0; i < helpers; ++i) slots_[i].error = nullptr;
    if (own_error != nullptr) std::rethrow_exception(own_error);
  }

 private:
  struct alignas(64) Slot {
    Word ticket{0};
    Word claimed{0};  // the last ticket whose range someone has begun
    std::atomic<bool> sleeping{false};
    std::exception_ptr error;  // of this worker's range; the caller reads it after the join
  };

  /// The right to run the range of a ticket: the worker's, or the caller's when it is done before the worker has woken up.
  static bool claim(Slot& slot, std::uint32_t ticket) {
    std::uint32_t before = ticket - 1;
    return slot.claimed.compare_exchange_strong(before, ticket);
  }

  void raise_ticket(Slot& slot) { publish(slot.ticket, slot.ticket.load(std::memory_order_relaxed) + 1, slot.sleeping); }

  std::exception_ptr run_range(int part) {
    const RegionMark mark;
    try {
      (*body_)(partition_.boundary(part), partition_.boundary(part + 1), part);
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  void work(int index) {
    pthread_setname_np(pthread_self(), cat("resilin-", index).c_str());
    Slot& slot = slots_[index - 1];
    std::uint32_t seen = 0;
    while (true) {
      wait_change(slot.ticket, seen, slot.sleeping, threads_);
      ++seen;
      if (stopping_.load(std::memory_order_relaxed)) return;
      if (!claim(slot, seen)) continue;
      slot.error = run_range(index);
      if (remaining_.fetch_sub(1) == 1 && owner_sleeping_.load()) futex_wake(remaining_);
    }
  }

  void join() {
    if (spin_until(threads_, [&] { return remaining_.load(std::memory_order_acquire) == 0; })) return;
    owner_sleeping_.store(true);
    while (true) {
      const std::uint32_t left = remaining_.load();
      if (left == 0) break;
      futex_wait(remaining_, left);
    }
    owner_sleeping_.store(false, std::memory_order_relaxed);
  }

  const int threads_;
  std::unique_ptr<Slot[]> slots_;
  std::vector<std::thread> workers_;
  std::atomic<bool> stopping_{false};
  Partition partition_{};
  RangeBody* body_ = nullptr;
  alignas(64) Word remaining_{0};
  std::atomic<bool> owner_sleeping_{false};
};

/// Whoever turns it from false to true owns the pool until it turns it back.
std::atomic<bool> g_busy{false};
/// Made at the first job; only the owner of the pool touches it. Never destroyed at the end: workers sleep until the process is gone.
Pool* g_pool = nullptr;
/// Pools of parent processes: their threads do not exist here, so they can be neither joined nor destroyed.
Pool* g_foreign_pools = nullptr;

void after_fork_in_child() {
  // Only this thread lives on; if the pool was busy its owner is gone, or is this thread, which then stops in Pool::run.
  g_fork_generation.fetch_add(1, std::memory_order_relaxed);
  if (g_pool != nullptr) g_pool->next_foreign = std::exchange(g_foreign_pools, g_pool);
  g_pool = nullptr;
  g_callers.store(t_calls, std::memory_order_relaxed);
  g_busy.store(false, std::memory_order_relaxed);
}

/// Ownership of the pool for one job, when it was free.
class Ownership {
 public:
  Ownership() : owned_(!g_busy.exchange(true, std::memory_order_acquire)) {}
  ~Ownership() {
    if (owned_) g_busy.store(false, std::memory_order_release);
  }
  explicit operator bool() const { return owned_; }

 private:
  const bool owned_;
};

/// The pool with this many threads; the caller owns it.
Pool& pool_of(int threads) {
  static const bool registered = pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0;
  if (!registered) throw MemoryError("parallel_for: pthread_atfork failed; memory for one handler is needed");
  if (g_pool != nullptr && g_pool->threads() != threads) {
    delete g_pool;
    g_pool = nullptr;
  }
  if (g_pool == nullptr) g_pool = new Pool(threads);
  return *g_pool;
}

struct CallerCount {
  CallerCount() {
    ++t_calls;
    g_callers.fetch_add(1, std::memory_order_relaxed);
  }
  ~CallerCount() {
    --t_calls;
    g_callers.fetch_sub(1, std::memory_order_relaxed);
  }
};

void run_alone(const Partition& partition, RangeBody body) {
  const RegionMark mark;
  for (int part = 0; part < partition.parts; ++part) body(partition.boundary(part), partition.boundary(part + 1), part);
}

}  // namespace

void parallel_for(i64 begin, i64 end, i64 grain, RangeBody body) {
  if (grain <= 0) throw ArgumentError(cat("parallel_for: the grain is ", grain, "; it must be positive"));
  if (begin >= end) return;
  i64 size = 0;
  if (__builtin_sub_overflow(end, begin, &size)) {
    throw ArgumentError(cat("parallel_for: the range is too long: ", begin, " to ", end, "; its size must fit 64 bits"));
  }
  const int threads = thread_count();
  const Partition partition{begin, end, grain, static_cast<int>(std::min<i64>(threads, (size - 1) / grain + 1))};
  if (partition.parts == 1 || t_in_region) return run_alone(partition, body);
  const CallerCount count;
  const Ownership ownership;
  if (!ownership) return run_alone(partition, body);
  pool_of(threads).run(partition, body);
}

int thread_count() {
  static const config::Knob& knob = config::knob("runtime.threads");
  static const int machine = default_thread_count();
  const i64 wanted = knob.integer();
  return wanted > 0 ? static_cast<int>(wanted) : machine;
}

void set_thread_count(int count) { config::set("runtime.threads", cat(count)); }

bool in_parallel_region() { return t_in_region; }

}  // namespace resilin
