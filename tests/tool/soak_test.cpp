// tests/tool/soak_test.cpp -- real processes train while any of them is killed or stopped: every step counts once, and the state is that of a run without faults.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/event_log.h"
#include "resilin/base/hash.h"
#include "resilin/base/text.h"

#include "tests/support/task.h"
#include "tests/tool/soak_job.h"

#include "tools/resilin/ledger.h"
#include "tools/resilin/ledger_read.h"

namespace resilin::tool::soak {
namespace {

using parallel::testing::Undisturbed;

enum class Fault { Kill, KillTwo, KillDonor, Stop };
constexpr std::array<std::string_view, 4> enum_names(Fault*) { return {"kill", "two kills at once", "kill of a donor", "stop"}; }

/// What is done to a job.
struct Plan {
  JobOptions job;
  std::vector<Fault> faults;
  std::uint64_t seed = 1;
  int busy_threads = 0;   // of other work beside it
  int verify_every = 10;  // faults
};

/// `count` faults, of which a tenth each are of the three special kinds, in a random order.
std::vector<Fault> faults_of(int kills, int each_special, std::uint64_t seed) {
  std::vector<Fault> faults(static_cast<std::size_t>(kills), Fault::Kill);
  for (const Fault fault : {Fault::KillTwo, Fault::KillDonor, Fault::Stop}) faults.insert(faults.end(), each_special, fault);
  std::mt19937_64 random(seed);
  std::ranges::shuffle(faults, random);
  return faults;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

void print_times(const char* what, const std::vector<double>& ms) {
  std::printf("  %-42s %3zu times: p50 %5.0f ms, p95 %5.0f ms, at most %5.0f ms\n", what, ms.size(), percentile(ms, 0.5),
              percentile(ms, 0.95), percentile(ms, 1));
}

/// The run without faults, beside the job: the digests of its states, and other work for the machine.
class Reference {
 public:
  Reference(i64 features, int busy_threads) : features_(features) {
    threads_.emplace_back([this] { follow(); });
    for (int i = 0; i < busy_threads; ++i) threads_.emplace_back([this] { burn(); });
  }
  ~Reference() {
    is_over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  /// How far the job is: it runs only a little ahead.
  void follow_to(i64 steps) { wanted_ = steps; }
  void rest() { rests_ = true; }
  std::uint64_t after(i64 steps) {
    follow_to(steps);
    while (true) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (static_cast<i64>(digests_.size()) > steps) return digests_[static_cast<std::size_t>(steps)];
      }
      usleep(1000);
    }
  }

 private:
  void follow() {
    Undisturbed task(features_);
    while (!is_over_) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        digests_.push_back(task.digest());
      }
      while (!is_over_ && task.steps() > wanted_ + 200) usleep(5000);
      task.step();
    }
  }
  void burn() {
    volatile double x = 1;
    while (!is_over_ && !rests_) x = x * 1.0000001 + 1e-9;
  }

  const i64 features_;
  std::atomic<bool> is_over_{false}, rests_{false};
  std::atomic<i64> wanted_{0};
  std::mutex mutex_;  // guards digests_
  std::vector<std::uint64_t> digests_;
  std::vector<std::thread> threads_;
};

/// Strikes at a job, and checks after each fault that it goes on.
class Soak {
 public:
  explicit Soak(const Plan& plan) : plan_(plan), random_(plan.seed), before_(shared_memory_files()), job_(plan.job) {}

  void run() {
    CAPTURE(job_.folder());
    whole_ = job_.whole_after(0);
    INFO(job_.log());
    REQUIRE(whole_ != 0);
    reference_.emplace(plan_.job.features, plan_.busy_threads);
    for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
      note_footprints();
      suffer(i);
      if ((i + 1) % static_cast<std::size_t>(plan_.verify_every) == 0) check_ledger(job_.folder_at(job_.cut()));
    }
    check_footprints();
    reference_->rest();
    CHECK(job_.end() == 0);
    check_ends();
    check_ledger(job_.folder());
    check_states();
    check_nothing_is_left();
    print();
  }

 private:
  struct Strike {
    std::vector<i64> ranks;
    i64 at_us = 0;       // the last one
    i64 generation = 0;  // the newest one then
  };

  void suffer(std::size_t number) {
    const Fault fault = plan_.faults[number];
    job_.look();
    reference_->follow_to(job_.last_step());
    usleep(static_cast<useconds_t>(random_() % 60'000));
    const std::map<i64, i64> lives = lives_now();
    const Strike strike = strike_with(fault);
    CAPTURE(number);
    CAPTURE(enum_name(fault));
    CAPTURE(strike.ranks);
    INFO(job_.log());
    const i64 bound_s = plan_.job.deadline_s + 1;
    REQUIRE(job_.comes([&] { return job_.next_step_us(strike.generation).has_value(); }, bound_s + 5));
    const double resumed_ms = static_cast<double>(*job_.next_step_us(strike.generation) - strike.at_us) * 1e-3;
    CHECK(resumed_ms <= static_cast<double>(bound_s) * 1e3);
    resumed_ms_[fault].push_back(resumed_ms);
    if (fault == Fault::Stop) end_of_stopped(strike.ranks[0]);
    whole_ = job_.whole_after(strike.generation);
    REQUIRE(whole_ != 0);
    REQUIRE(job_.comes([&] { return has_lives(lives, strike.ranks); }, 1));
    i64 started_us = 0, full_us = 0;
    for (const i64 rank : strike.ranks) started_us = std::max(started_us, job_.started_us(rank));
    for (const auto& [rank, at_us] : job_.generations().at(whole_).first_step_us) full_us = std::max(full_us, at_us);
    full_ms_.push_back(static_cast<double>(full_us - started_us) * 1e-3);
  }

  std::map<i64, i64> lives_now() const {
    std::map<i64, i64> lives;
    for (i64 rank = 0; rank < kRanks; ++rank) lives[rank] = job_.life_of(rank);
    return lives;
  }
  /// Who was not struck is the process that it was.
  bool has_lives(std::map<i64, i64> before, const std::vector<i64>& struck) const {
    for (const i64 rank : struck) ++before[rank];
    return lives_now() == before;
  }

  Strike strike_with(Fault fault) {
    switch (fault) {
      case Fault::Kill: return strike({any_rank()}, SIGKILL);
      case Fault::KillTwo: {
        const i64 first = any_rank();
        return strike({first, (first + 1 + static_cast<i64>(random_() % (kRanks - 1))) % kRanks}, SIGKILL);
      }
      case Fault::KillDonor: return strike_donor();
      case Fault::Stop: {
        const i64 rank = any_rank();
        stopped_ = job_.process_of(rank);
        return strike({rank}, SIGSTOP);
      }
    }
    return {};
  }

  i64 any_rank() { return static_cast<i64>(random_() % kRanks); }

  Strike strike(std::vector<i64> ranks, int signal) {
    job_.look();
    Strike done{.ranks = std::move(ranks), .generation = job_.newest_generation()};
    done.at_us = unix_time_us();
    for (const i64 rank : done.ranks) REQUIRE(kill(job_.process_of(rank), signal) == 0);
    return done;
  }

  /// A rank dies; when its next life has joined, and has perhaps not got the state yet, one of those dies that give it.
  Strike strike_donor() {
    const Strike first = strike({any_rank()}, SIGKILL);
    const i64 heals = job_.heals();
    const auto joined = [&] {
      return std::find_if(job_.generations().upper_bound(first.generation), job_.generations().end(),
                          [](const auto& one) { return one.second.has_joiner; });
    };
    REQUIRE(job_.comes([&] { return joined() != job_.generations().end(); }, 60, 100));
    std::vector<i64> donors = joined()->second.members;
    std::erase(donors, first.ranks[0]);
    usleep(static_cast<useconds_t>(random_() % 2000));
    Strike second = strike({donors[random_() % donors.size()]}, SIGKILL);
    job_.look();
    if (job_.heals() == heals) ++struck_while_healing_;
    second.ranks.push_back(first.ranks[0]);
    return second;
  }

  /// The others are further: half of the stopped ones run again at once, so that some do before their agent has ended them.
  void end_of_stopped(i64 rank) {
    if (random_() % 2 == 0) kill(stopped_, SIGCONT);
    REQUIRE(job_.comes([&] { return job_.process_of(rank) != stopped_; }, 10));
    CHECK(kill(stopped_, SIGCONT) != 0);
    CHECK(kill(stopped_, 0) != 0);
  }

  // ---- what must hold

  void note_footprints() {
    for (i64 rank = 0; rank < kRanks; ++rank) {
      const pid_t process = job_.process_of(rank);
      if (!descriptors_.contains(process)) {
        descriptors_[process] = descriptors_of(process);
        resident_kib_[process] = resident_kib_of(process);
      }
    }
  }

  /// Longer lives have no more than they had when they were whole for the first time.
  void check_footprints() {
    note_footprints();
    for (i64 rank = 0; rank < kRanks; ++rank) {
      const pid_t process = job_.process_of(rank);
      CHECK(descriptors_of(process) <= descriptors_[process] + 8);
      CHECK(resident_kib_of(process) <= resident_kib_[process] + 32 * 1024);
    }
  }

  void check_ledger(const std::string& folder) {
    const LedgerAccount account = verify_ledger(folder);
    CAPTURE(ledger_text(account));
    CHECK(account.holds());
    CHECK(account.first_step == 0);
    CHECK(account.steps == account.last_step + 1);
    verified_ += account.holds() ? 1 : 0;
    verified_steps_ = account.steps;
  }

  void check_ends() {
    const std::string log = job_.log();
    CAPTURE(log);
    REQUIRE(static_cast<i64>(job_.ends().size()) == kRanks);
    const RankEnd& first = job_.ends().at(0);
    CHECK(first.digest == cat(reference_->after(first.step)));
    for (const auto& [rank, end] : job_.ends()) {
      CHECK(end.step == first.step);
      CHECK(end.digest == first.digest);
    }
  }

  /// Of each step on each rank.
  void check_states() {
    for (const LedgerFile& file : read_ledger(job_.folder())) {
      i64 different = 0;
      for (const LedgerDone& done : file.dones) {
        const std::uint64_t step = static_cast<std::uint64_t>(done.id.step) + 1;
        const std::uint64_t state = hash_mix(step, reference_->after(static_cast<i64>(step)));
        different += std::stoull(done.state, nullptr, 16) == state ? 0 : 1;
      }
      CAPTURE(file.name);
      CHECK(different == 0);
    }
  }

  void check_nothing_is_left() {
    for (const pid_t process : job_.all_processes()) CHECK_MESSAGE(kill(process, 0) != 0, process);
    const std::vector<std::string> left = shared_memory_left(job_.all_processes(), job_.name(), before_);
    CAPTURE(left);
    CHECK(left.empty());
  }

  void print() const {
    std::printf("%zu faults beside other work: %lld steps, the ledger held %d times\n", plan_.faults.size(),
                static_cast<long long>(verified_steps_), verified_);
    std::vector<double> all;
    for (const auto& [fault, ms] : resumed_ms_) {
      print_times(cat(enum_name(fault), " -> next committed step").c_str(), ms);
      if (fault != Fault::Stop) all.insert(all.end(), ms.begin(), ms.end());
    }
    print_times("all kills -> next committed step", all);
    print_times("respawn -> all ranks take steps again", full_ms_);
    std::printf("  %d donors were struck before a joiner had the state\n", struck_while_healing_);
  }

  const Plan plan_;
  std::mt19937_64 random_;
  const std::set<std::string> before_;
  SoakJob job_;
  std::optional<Reference> reference_;
  i64 whole_ = 0;  // generation
  pid_t stopped_ = 0;
  int struck_while_healing_ = 0, verified_ = 0;
  i64 verified_steps_ = 0;
  std::map<pid_t, std::size_t> descriptors_;
  std::map<pid_t, i64> resident_kib_;
  std::map<Fault, std::vector<double>> resumed_ms_;
  std::vector<double> full_ms_;
};

TEST_CASE("real processes train on while any of them is killed or stopped, and no step is lost or taken twice") {
  Soak({.job = {.features = 20'000, .deadline_s = 10, .restarts = 30, .most_s = 200},
        .faults = faults_of(7, 1, 5),
        .seed = 2,
        .verify_every = 5})
      .run();
}

TEST_CASE("soak: 100 kills and 10 stops of 4 ranks that train beside other work" * doctest::test_suite("soak") * doctest::skip()) {
  Soak({.job = {.features = 60'000, .deadline_s = 2, .restarts = 200, .most_s = 2300},
        .faults = faults_of(80, 10, 11),
        .seed = 12,
        .busy_threads = 2})
      .run();
}

}  // namespace
}  // namespace resilin::tool::soak
