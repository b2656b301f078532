// tests/dist/group/agent_kill_test.cpp -- the agent of ranks that sum is killed: who has a generation goes on, who needs another one ends in time.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/text.h"
#include "resilin/dist/launch/rank_info.h"

#include "tests/dist/group/measure.h"
#include "tests/dist/group/summing.h"
#include "tests/dist/launch/foreign_ranks.h"

namespace resilin::dist {
namespace {

using launch::comes_true;
using launch::ForeignRanks;
using launch::now_ms;
using summing::Note;

constexpr int kRanks = 4;
constexpr int kStep = 20;  // all jobs have one name, so that each finds what the last one left
constexpr double kDeadlineMs = 2'000, kGraceMs = 1'000, kSlackMs = 1'000;

/// What was measured, of all jobs together.
struct Outcome {
  std::vector<double> failed_ms, ended_ms;  // after the kill of the rank that a generation lacks
  std::vector<double> ended_in_change_ms;   // after the agent's death
  int jobs_without_change = 0, jobs_that_changed = 0, jobs_that_ended = 0;
};

/// Ranks as srun starts them, whose agent is to die.
class Orphans {
 public:
  explicit Orphans(std::mt19937_64& random)
      : random_(random), ranks_(out_, kRanks, summing::kTestCase, cat("deadline=", kDeadlineMs, ",grace=", kGraceMs), kStep) {
    whole_ = summing::members_in(out_.path(), kRanks, 0);
    CAPTURE(log());
    REQUIRE(whole_.size() == kRanks);
    for (Note& note : whole_) {
      note.start_time = measure::start_time_of(note.process);
      codes_[note.process] = std::nullopt;
    }
  }

  /// At a random microsecond; in a change, a rank is killed up to `most_us` before.
  void lose_agent(bool in_change, std::uint64_t most_us) {
    const std::optional<pid_t> agent = ranks_.agent();
    REQUIRE(agent.has_value());
    usleep(static_cast<useconds_t>(random_() % 50'000));
    if (in_change) {
      kill_one();
      usleep(static_cast<useconds_t>(random_() % most_us));
    }
    REQUIRE(kill(*agent, SIGKILL) == 0);
    agent_killed_ms_ = now_ms();
  }

  /// Nothing has failed, and all sum on as the processes that they were.
  void must_go_on() {
    const double since_ms = now_ms();
    CHECK(comes_true([&] { return all_write("on", since_ms); }));
    for (const Note& note : whole_) {
      if (!codes_.at(note.process)) CHECK(measure::start_time_of(note.process) == note.start_time);
    }
    CHECK(now_ms() > agent_killed_ms_);
  }

  /// After a kill in the middle of a change: true when the rest has another generation, false when all have ended with 75.
  bool settle(Outcome& outcome) {
    const double most_ms = kDeadlineMs + kGraceMs + kSlackMs;
    std::vector<Note> changed;
    const auto is_settled = [&] {
      reap();
      changed = notes_after("sum", whole_[0].generation);
      return living().empty() || (changed.size() == kRanks - 1 && all_write("on", std::max(agent_killed_ms_, changed.back().at_ms)));
    };
    // Who has another generation that a peer did not come to needs one more.
    CHECK(comes_true(is_settled, static_cast<int>(2 * most_ms / 1e3)));
    for (const auto& [process, end] : ended_) {
      if (codes_.at(process) != kExitStoreLost) continue;
      const bool had_changed = std::ranges::find(changed, process, &Note::process) != changed.end();
      const double since_ms = had_changed ? last_of(process, "failed") : agent_killed_ms_;
      CHECK(end - since_ms < most_ms);
      outcome.ended_in_change_ms.push_back(end - agent_killed_ms_);
    }
    return !living().empty();
  }

  /// One is killed, and there is nobody to agree with on another generation.
  void must_end(Outcome& outcome) {
    const double killed_ms = kill_one();
    const std::vector<pid_t> rest = living();
    CHECK(comes_true([&] { return reap(), living().empty(); }));
    for (const pid_t process : rest) {
      CHECK(codes_.at(process) == kExitStoreLost);
      const double failed_ms = last_of(process, "failed") - killed_ms, end_ms = ended_[process] - killed_ms;
      CHECK(failed_ms > 0);
      CHECK(failed_ms < kDeadlineMs + kSlackMs);
      CHECK(end_ms < kGraceMs + kDeadlineMs + kSlackMs);
      outcome.failed_ms.push_back(failed_ms);
      outcome.ended_ms.push_back(end_ms);
    }
  }

  void must_be_gone() {
    CHECK_FALSE(ranks_.agent().has_value());
    CHECK(processes_left() == 0);
    for (const Note& note : notes()) CHECK_MESSAGE(!note.what.starts_with("wrong"), note.what);
    for (const auto& [process, code] : codes_) {
      CAPTURE(process);
      const bool is_expected = code == -SIGKILL || code == kExitStoreLost;
      CHECK(is_expected);
    }
  }

  std::vector<Note> failures() const { return summing::notes_of(out_.path(), "failed", 0); }
  std::vector<std::string> folders() const { return ranks_.folders(); }
  std::string log() const { return ranks_.log(); }
  /// In good order, of a job whose agent lives.
  void stop() {
    summing::tell_to_stop(out_.path());
    for (int rank = 0; rank < kRanks; ++rank) CHECK(ranks_.wait(rank) == 0);
    CHECK(comes_true([&] { return !ranks_.agent() && ranks_.folders().empty(); }, 5));
  }

 private:
  double kill_one() {
    const std::vector<pid_t> candidates = living();
    const pid_t victim = candidates[random_() % candidates.size()];
    const double at_ms = now_ms();
    REQUIRE(kill(victim, SIGKILL) == 0);
    codes_[victim] = ranks_.wait(*ranks_.rank_of(victim));
    CHECK(codes_[victim] == -SIGKILL);
    return at_ms;
  }
  void reap() {
    for (const pid_t process : living()) {
      codes_[process] = ranks_.wait(*ranks_.rank_of(process), 0);
      if (codes_[process]) ended_[process] = now_ms();
    }
  }
  std::vector<pid_t> living() const {
    std::vector<pid_t> processes;
    for (const auto& [process, code] : codes_) {
      if (!code) processes.push_back(process);
    }
    return processes;
  }
  std::vector<Note> notes() const { return summing::notes_in(out_.path()); }
  std::vector<Note> notes_after(const std::string& what, std::uint64_t generation) const {
    std::vector<Note> found;
    for (const Note& note : notes()) {
      if (note.what == what && note.generation > generation) found.push_back(note);
    }
    return found;
  }
  double last_of(pid_t process, const std::string& what) const {
    double last_ms = 0;
    for (const Note& note : notes()) {
      if (note.process == process && note.what == what) last_ms = note.at_ms;
    }
    return last_ms;
  }
  bool all_write(const std::string& what, double since_ms) const {
    return std::ranges::all_of(living(), [&](pid_t process) { return last_of(process, what) > since_ms; });
  }
  /// With this job's folder in their environment.
  std::size_t processes_left() const {
    std::size_t count = 0;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
      count += launch::read_proc(entry.path().string() + "/environ").find("OUT=" + out_.path()) != std::string::npos ? 1 : 0;
    }
    return count;
  }

  std::mt19937_64& random_;
  const testing::TemporaryFolder out_;
  ForeignRanks ranks_;
  std::vector<Note> whole_;
  std::map<pid_t, std::optional<int>> codes_;
  std::map<pid_t, double> ended_;  // by themselves, when
  double agent_killed_ms_ = 0;
};

void orphan(Orphans& job, bool in_change, std::uint64_t most_us, Outcome& outcome) {
  CAPTURE(job.log());
  job.lose_agent(in_change, most_us);
  if (!in_change) {
    job.must_go_on();
    CHECK(job.failures().empty());
    ++outcome.jobs_without_change;
  } else if (job.settle(outcome)) {
    job.must_go_on();
    ++outcome.jobs_that_changed;
  } else {
    ++outcome.jobs_that_ended;
    return job.must_be_gone();
  }
  job.must_end(outcome);
  job.must_be_gone();
}

/// Of jobs of one name, each with the last one's remains beside it.
void kill_agents(int jobs, std::uint64_t seed, std::uint64_t most_us) {
  const measure::Load load(2);
  std::mt19937_64 random(seed);
  Outcome outcome;
  std::vector<std::unique_ptr<Orphans>> all;  // the end of one would kill the agent of the next
  for (int i = 0; i < jobs; ++i) {
    CAPTURE(i);
    all.push_back(std::make_unique<Orphans>(random));
    CHECK(all.back()->folders().size() == 1);  // the last one's is gone
    orphan(*all.back(), i % 2 == 1, most_us, outcome);
  }
  const std::vector<std::filesystem::path> segments = measure::age_segments();
  Orphans final_job(random);
  CHECK(final_job.folders().size() == 1);
  for (const std::filesystem::path& path : segments) CHECK_MESSAGE(!std::filesystem::exists(path), path.string());
  final_job.stop();
  std::printf(
      "%d agents killed: %d jobs went on, %d in the generation of a change, %d ended in the change (%s after the agent); a rank killed "
      "later: works failed after %s, the ranks ended after %s; %zu segments were left for a minute\n",
      jobs, outcome.jobs_without_change, outcome.jobs_that_changed, outcome.jobs_that_ended,
      measure::percentiles(outcome.ended_in_change_ms).c_str(), measure::percentiles(outcome.failed_ms).c_str(),
      measure::percentiles(outcome.ended_ms).c_str(), segments.size());
}

TEST_CASE("soak: the agent of 10 jobs is killed beside other work, in half of them just after a rank" * doctest::test_suite("soak") *
          doctest::skip()) {
  kill_agents(10, 21, 30'000);
}

TEST_CASE("soak: the agent of 20 jobs is killed at any moment of a change" * doctest::test_suite("soak") * doctest::skip()) {
  kill_agents(20, 22, 200'000);
}

}  // namespace
}  // namespace resilin::dist
