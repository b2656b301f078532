// tests/dist/group/process_test.cpp -- groups of real processes that compute, are killed and stopped, and go on with right sums.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/text.h"
#include "resilin/dist/launch/run_folder.h"
#include "resilin/dist/recorder/recording.h"
#include "resilin/dist/transport/ucx.h"

#include "tests/dist/group/measure.h"
#include "tests/dist/group/summing.h"
#include "tests/support/launcher.h"

namespace resilin::dist {
namespace {

using launch::Launcher;
using launch::now_ms;
using measure::descriptors_of;
using measure::percentiles;
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
      : size_(size), launcher_(out_, launch::with_test_case(std::move(flags), "keys", summing::kTestCase), "launcher", 900) {}

  std::vector<Note> notes() const { return summing::notes_in(out_.path()); }
  std::vector<Note> members(int size, std::uint64_t after) const {
    std::vector<Note> members = summing::members_in(out_.path(), size, after);
    for (Note& member : members) member.start_time = measure::start_time_of(member.process);
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
  /// When a generation ended for each of these members, since a time: its work threw.
  std::vector<double> failed_ms(const std::vector<Note>& members, double since_ms) const {
    std::vector<double> times;
    for (const Note& note : notes()) {
      const bool is_theirs = std::ranges::find(members, note.instance, &Note::instance) != members.end();
      if (is_theirs && note.what == "failed" && note.generation == members[0].generation) times.push_back(note.at_ms - since_ms);
    }
    return times;
  }
  /// When the first of these members knew that another was lost, since a time, as their recordings tell.
  std::optional<double> known_ms(const std::vector<Note>& members, double since_ms) const {
    double first = std::numeric_limits<double>::max();
    std::error_code gone;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out_.path() + "/recordings", gone)) {
      if (entry.path().extension() != ".fr" || !is_of(entry.path(), members)) continue;
      const Recording recording = read_recording(read_file(entry.path().string()), entry.path().string());
      for (const Record& record : recording.records) {
        const double at_ms = static_cast<double>(record.time_ns) * 1e-6;
        const bool tells = record.kind == RecordKind::PeerLost && record.generation == members[0].generation && at_ms >= since_ms;
        if (tells) first = std::min(first, at_ms);
      }
    }
    return first == std::numeric_limits<double>::max() ? std::nullopt : std::optional(first - since_ms);
  }
  /// Of the store, as the last generation began.
  std::int64_t keys() const {
    std::int64_t keys = 0;
    for (const Note& note : notes()) {
      if (note.what.starts_with("keys:")) keys = std::stoll(note.what.substr(5));
    }
    return keys;
  }
  int size() const { return size_; }
  std::string log() const { return launcher_.log(); }
  pid_t launcher() const { return launcher_.process(); }
  int end() {
    summing::tell_to_stop(out_.path());
    return launcher_.wait();
  }

 private:
  static bool is_of(const std::filesystem::path& recording, const std::vector<Note>& members) {
    const std::string instance = recording.stem().extension().string();  // ".000000000000001f"
    return std::ranges::any_of(members, [&](const Note& note) { return std::stoull(instance.substr(1), nullptr, 16) == note.instance; });
  }

  const int size_;
  const testing::TemporaryFolder out_;
  Launcher launcher_;
};

/// What the faults of a job cost, in milliseconds.
struct Costs {
  std::vector<double> killed_recovery, stopped_recovery;
  std::vector<double> known;              // from the kill until the first survivor knows
  std::vector<double> failed_once_known;  // from there until a survivor's work has failed
  std::vector<double> all_failed;         // from the kill until those of all have
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

void note_failures(const SummingJob& job, const std::vector<Note>& survivors, double killed_ms, Costs& costs) {
  const std::vector<double> failed = job.failed_ms(survivors, killed_ms);
  if (failed.size() != survivors.size()) return;  // somebody learnt it between two works
  costs.all_failed.push_back(std::ranges::max(failed));
  const std::optional<double> known = job.known_ms(survivors, killed_ms);
  if (!known) return;  // the ring has gone on
  costs.known.push_back(*known);
  for (const double time : failed) costs.failed_once_known.push_back(time - *known);
}

/// One fault at a random microsecond; comes back when the job is whole again.
std::vector<Note> strike(SummingJob& job, const std::vector<Note>& whole, int signal, std::mt19937_64& random, Costs& costs) {
  const Note& victim = whole[random() % whole.size()];
  usleep(static_cast<useconds_t>(random() % 30'000));
  const double begin_ms = now_ms();
  REQUIRE(kill(victim.process, signal) == 0);
  const std::vector<Note> again = job.members(job.size(), victim.generation);
  CAPTURE(job.log());
  REQUIRE(static_cast<int>(again.size()) == job.size());
  const std::optional<double> recovered = job.recovery_ms(victim.generation, begin_ms);
  REQUIRE(recovered.has_value());
  (signal == SIGKILL ? costs.killed_recovery : costs.stopped_recovery).push_back(*recovered);
  std::vector<Note> survivors = whole;
  std::erase_if(survivors, [&](const Note& note) { return note.instance == victim.instance; });
  if (signal == SIGKILL) note_failures(job, survivors, begin_ms, costs);
  check_survivors(whole, again, victim.instance);
  return again;
}

void check_nothing_is_left(const SummingJob& job, pid_t launcher) {
  for (const Note& note : job.notes()) {
    CHECK_MESSAGE(!note.what.starts_with("wrong"), note.what);
    CHECK_MESSAGE(kill(note.process, 0) != 0, "a rank is left");
  }
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(run_base(), gone)) {
    const bool is_of_job = entry.path().filename().string().find(cat("-", launcher, "-")) != std::string::npos;
    CHECK_MESSAGE(!is_of_job, entry.path().string());
  }
  const std::vector<std::filesystem::path> segments = measure::age_segments();
  ucx_transport({});  // cleans
  for (const std::filesystem::path& path : segments) CHECK_MESSAGE(!std::filesystem::exists(path), path.string());
}

void print(const Plan& todo, const Costs& costs) {
  std::printf(
      "%d ranks, %zu kills: right sums again after %s; works failed on all survivors after %s\n"
      "  the first survivor knew after %s; the works of all failed after it did by %s (%zu kills seen)\n"
      "  %zu stops: right sums again after %s\n",
      todo.ranks, costs.killed_recovery.size(), percentiles(costs.killed_recovery).c_str(), percentiles(costs.all_failed).c_str(),
      percentiles(costs.known).c_str(), percentiles(costs.failed_once_known).c_str(), costs.known.size(), costs.stopped_recovery.size(),
      percentiles(costs.stopped_recovery).c_str());
}

void damage(const Plan& todo) {
  const int faults = todo.kills + todo.stops;
  SummingJob job(todo.ranks,
                 {"--standalone", cat("--nproc-per-node=", todo.ranks), cat("--max-restarts=", faults + 4), "--heartbeat-timeout=1"});
  const measure::Load load(todo.busy_threads);
  std::mt19937_64 random(todo.seed);
  std::vector<Note> whole = job.members(todo.ranks, 0);
  CAPTURE(job.log());
  REQUIRE(static_cast<int>(whole.size()) == todo.ranks);
  Costs costs;
  std::map<pid_t, std::size_t> descriptors;
  std::int64_t keys = 0;
  const pid_t launcher = job.launcher();
  for (int i = 0; i < faults; ++i) {
    const bool stops = todo.stops > 0 && i % (faults / todo.stops) == 0 && static_cast<int>(costs.stopped_recovery.size()) < todo.stops;
    whole = strike(job, whole, stops ? SIGSTOP : SIGKILL, random, costs);
    for (const Note& member : whole) descriptors.try_emplace(member.process, descriptors_of(member.process));
    if (i == 4) descriptors[launcher] = descriptors_of(launcher);
    if (i == 4) keys = job.keys();
  }
  for (const Note& member : whole) CHECK(descriptors_of(member.process) <= descriptors.at(member.process) + 8);
  CHECK(descriptors_of(launcher) <= descriptors.at(launcher) + 4);
  CHECK(keys > 0);
  CHECK(job.keys() <= keys + 8);
  CHECK(job.end() == 0);
  check_nothing_is_left(job, launcher);
  CHECK(2 * costs.known.size() > costs.killed_recovery.size());
  print(todo, costs);
}

TEST_CASE("real processes: kills and stops of any rank leave right sums, and the others keep their processes") { damage({}); }

TEST_CASE("soak: 200 kills and 50 stops of 4 ranks beside other work" * doctest::test_suite("soak") * doctest::skip()) {
  damage({.ranks = 4, .kills = 200, .stops = 50, .seed = 11, .busy_threads = 2});
}

TEST_CASE("soak: 200 kills and 50 stops of 8 ranks beside other work" * doctest::test_suite("soak") * doctest::skip()) {
  damage({.ranks = 8, .kills = 200, .stops = 50, .seed = 12, .busy_threads = 2});
}

}  // namespace
}  // namespace resilin::dist
