// tests/dist/group/process_test.cpp -- groups of real processes that compute, are killed and stopped, and go on with right sums.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/group/init.h"
#include "resilin/dist/group/process_group.h"
#include "resilin/dist/launch/rank_info.h"
#include "resilin/dist/membership/records.h"

#include "tests/dist/group/measure.h"
#include "tests/dist/group/summing.h"
#include "tests/dist/launch/launcher.h"

namespace resilin::dist {
namespace {

using launch::Launcher;
using launch::now_ms;
using measure::descriptors_of;
using measure::Load;
using measure::percentile;
using measure::start_time_of;
using std::chrono::milliseconds;
using summing::Note;

/// What is done to a job.
struct Plan {
  int ranks = 4;
  int kills = 8;
  int stops = 2;
  std::uint64_t seed = 1;
  int busy_threads = 0;  // of other work beside it
};

/// A job of ranks that sum until it is stopped.
class SummingJob {
 public:
  SummingJob(int size, std::vector<std::string> flags)
      : size_(size), launcher_(out_, launch::with_test_case(std::move(flags), "sum", summing::kTestCase), "launcher", 900) {}

  std::vector<Note> notes() const { return summing::notes_in(out_.path()); }
  std::vector<Note> members(int size, std::uint64_t after) const {
    std::vector<Note> members = summing::members_in(out_.path(), size, after);
    for (Note& member : members) member.start_time = start_time_of(member.process);
    return members;
  }
  /// From a time until all members of the first whole generation after it had their first sum.
  std::optional<double> recovery_ms(std::uint64_t generation, double since_ms) const {
    std::map<std::uint64_t, std::vector<Note>> later;
    for (const Note& note : notes()) {
      if (note.what == "sum" && note.generation > generation) later[note.generation].push_back(note);
    }
    for (const auto& [number, list] : later) {
      if (static_cast<int>(list.size()) < list[0].size) continue;
      double last = 0;
      for (const Note& note : list) last = std::max(last, note.at_ms);
      return last - since_ms;
    }
    return std::nullopt;
  }
  int size() const { return size_; }
  std::string log() const { return launcher_.log(); }
  int end() {
    summing::tell_to_stop(out_.path());
    return launcher_.wait();
  }

 private:
  const int size_;
  const testing::TemporaryFolder out_;
  Launcher launcher_;
};

/// All but the struck one are there, as the processes that they were.
void check_survivors(const std::vector<Note>& before, const std::vector<Note>& after, std::uint64_t struck) {
  for (const Note& member : before) {
    const auto same = std::ranges::find(after, member.instance, &Note::instance);
    REQUIRE((same == after.end()) == (member.instance == struck));
    if (same == after.end()) continue;
    CHECK(same->process == member.process);
    CHECK(same->start_time == member.start_time);
  }
}

/// One fault at a random microsecond; comes back when the job is whole again.
std::vector<Note> strike(SummingJob& job, const std::vector<Note>& whole, int signal, std::mt19937_64& random,
                         std::vector<double>& recovery_ms) {
  const Note& victim = whole[random() % whole.size()];
  usleep(static_cast<useconds_t>(random() % 30'000));
  const double begin_ms = now_ms();
  REQUIRE(kill(victim.process, signal) == 0);
  const std::vector<Note> again = job.members(job.size(), victim.generation);
  CAPTURE(job.log());
  REQUIRE(static_cast<int>(again.size()) == job.size());
  const std::optional<double> recovered = job.recovery_ms(victim.generation, begin_ms);
  REQUIRE(recovered.has_value());
  recovery_ms.push_back(*recovered);
  check_survivors(whole, again, victim.instance);
  return again;
}

void check_nothing_is_left(const SummingJob& job) {
  for (const Note& note : job.notes()) {
    CHECK_MESSAGE(!note.what.starts_with("wrong"), note.what);
    CHECK_MESSAGE(kill(note.process, 0) != 0, "a rank is left");
  }
}

void damage(const Plan& todo) {
  const int faults = todo.kills + todo.stops;
  SummingJob job(todo.ranks,
                 {"--standalone", cat("--nproc-per-node=", todo.ranks), cat("--max-restarts=", faults + 4), "--heartbeat-timeout=1"});
  const Load load(todo.busy_threads);
  std::mt19937_64 random(todo.seed);
  std::vector<Note> whole = job.members(todo.ranks, 0);
  CAPTURE(job.log());
  REQUIRE(static_cast<int>(whole.size()) == todo.ranks);
  std::vector<double> killed_ms, stopped_ms;
  std::map<pid_t, std::size_t> descriptors;
  for (int i = 0; i < faults; ++i) {
    const bool stops = todo.stops > 0 && i % (faults / todo.stops) == 0 && static_cast<int>(stopped_ms.size()) < todo.stops;
    whole = strike(job, whole, stops ? SIGSTOP : SIGKILL, random, stops ? stopped_ms : killed_ms);
    for (const Note& member : whole) descriptors.try_emplace(member.process, descriptors_of(member.process));
  }
  for (const Note& member : whole) CHECK(descriptors_of(member.process) <= descriptors.at(member.process) + 8);
  CHECK(job.end() == 0);
  check_nothing_is_left(job);
  std::printf(
      "%d ranks, %zu kills: right sums again after p50 %.0f ms, p95 %.0f ms, at most %.0f ms; %zu stops: p50 %.0f ms, at most %.0f ms\n",
      todo.ranks, killed_ms.size(), percentile(killed_ms, 0.5), percentile(killed_ms, 0.95), percentile(killed_ms, 1), stopped_ms.size(),
      percentile(stopped_ms, 0.5), percentile(stopped_ms, 1));
}

TEST_CASE("real processes: kills and stops of any rank leave right sums, and the others keep their processes") { damage({}); }

TEST_CASE("soak: 200 kills and 50 stops of 4 ranks beside other work" * doctest::test_suite("soak") * doctest::skip()) {
  damage({.ranks = 4, .kills = 200, .stops = 50, .seed = 11, .busy_threads = 2});
}

TEST_CASE("soak: 200 kills and 50 stops of 8 ranks beside other work" * doctest::test_suite("soak") * doctest::skip()) {
  damage({.ranks = 8, .kills = 200, .stops = 50, .seed = 12, .busy_threads = 2});
}

// What follows runs in ranks.

class SummingRank {
 public:
  SummingRank(ProcessGroup group, std::string folder, milliseconds deadline)
      : group_(std::move(group)),
        folder_(std::move(folder)),
        deadline_(deadline),
        instance_(parse_handle(group_.reconfigure_handle()).instance) {}

  void run() {
    std::uint64_t generation = group_.generation();
    while (access((folder_ + "/stop").c_str(), F_OK) != 0) {
      try {
        sum_in(generation);
      } catch (const EvictedError& error) {
        end(error, 1);
      } catch (const DistError& error) {
        note("failed", generation, group_.size());
        std::fprintf(stderr, "%s\n", error.what());
        generation = next_generation(generation);
      }
    }
  }

 private:
  /// Sums of sizes and values that all members can tell from the generation and the number, until something fails or the job ends.
  void sum_in(std::uint64_t generation) {
    for (std::uint64_t number = 0; access((folder_ + "/stop").c_str(), F_OK) != 0; ++number) {
      std::mt19937_64 random(generation * 1000 + number);
      const i64 count = number == 0 ? 256 : static_cast<i64>(std::uint64_t{1} << (random() % 20));
      const Tensor x = Tensor::allocate(Shape{count}, DType::F32);
      float* data = static_cast<float*>(x.data());
      const int rank = group_.rank(), size = group_.size();
      for (i64 i = 0; i < count; ++i)
        data[i] = static_cast<float>((static_cast<std::uint64_t>(i) + number) % 100 + static_cast<std::uint64_t>(rank));
      const Work work = group_.all_reduce(x, ReduceOp::Sum, deadline_);
      work.wait();
      const std::uint64_t ranks = static_cast<std::uint64_t>(size);
      for (i64 i = 0; i < count; ++i) {
        const std::uint64_t expected = ranks * ((static_cast<std::uint64_t>(i) + number) % 100) + ranks * (ranks - 1) / 2;
        if (data[i] != static_cast<float>(expected))
          return note(cat("wrong:", number, ":", i, ":", data[i], ":", expected), generation, size);
      }
      if (number == 0) note("sum", generation, size);
      if (number % 64 == 63) note("on", generation, size);
    }
  }

  std::uint64_t next_generation(std::uint64_t generation) {
    try {
      return group_.await_generation(generation, milliseconds(30'000)).generation;
    } catch (const EvictedError& error) {
      end(error, 1);
    } catch (const StoreError& error) {
      note("store-lost", generation, group_.size());
      end(error, kExitStoreLost);
    }
  }

  [[noreturn]] static void end(const DistError& error, int code) {
    std::fprintf(stderr, "%s\n", error.what());
    _exit(code);
  }

  void note(const std::string& what, std::uint64_t generation, int size) const {
    const std::string line = cat(what, " ", instance_, " ", generation, " ", size, " ", now_ms(), " ", getpid(), "\n");
    std::ofstream(folder_ + "/notes", std::ios::app) << line << std::flush;
  }

  ProcessGroup group_;
  const std::string folder_;
  const milliseconds deadline_;
  const std::uint64_t instance_;
};

/// Of RESILIN_TEST_RANK="deadline=MS,grace=MS".
milliseconds number_of(const std::string& mode, const std::string& name, milliseconds otherwise) {
  const std::size_t at = mode.find(name + "=");
  return at == std::string::npos ? otherwise : milliseconds(std::atoi(mode.c_str() + at + name.size() + 1));
}

TEST_CASE("a rank that sums" * doctest::skip()) {
  alarm(900);
  const std::string mode = std::getenv("RESILIN_TEST_RANK");
  ProcessGroup group =
      init_process_group({.membership = Membership::Lineage, .store_grace = number_of(mode, "grace", milliseconds(60'000))});
  SummingRank(group, std::getenv("OUT"), number_of(mode, "deadline", milliseconds(30'000))).run();
  group.destroy();
}

}  // namespace
}  // namespace resilin::dist
