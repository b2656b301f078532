// tests/dist/group/scenario_faults_test.cpp -- ranks that are stopped, slow, out of descriptors or many, and what a recording says of a dead one.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/resource.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/group/init.h"
#include "resilin/dist/group/process_group.h"
#include "resilin/dist/recorder/analyze.h"
#include "resilin/dist/recorder/recording.h"

#include "tests/dist/group/scenario.h"

namespace resilin::dist::test {
namespace {

using std::chrono::milliseconds;

void must_stop(const Scenario& job, int rank) {
  REQUIRE(comes_true_ms([&] { return process_state(job.board().seats[static_cast<std::size_t>(rank)].process) == 'T'; }));
}

TEST_CASE("real processes: a rank that is stopped is evicted by its agent, and sums no more") {
  Scenario job(3, {"--policy=shrink"});
  job.must_sum_as_one({0, 1, 2}, 20'000);
  job.signal(1, SIGSTOP);
  must_stop(job, 1);
  const std::uint64_t sums = job.board().seats[1].sums, process = job.board().seats[1].process;
  job.must_sum_as_one({0, 2});
  kill(static_cast<pid_t>(process), SIGCONT);  // it may be gone already
  job.must_sum_as_one({0, 2});
  CHECK(comes_true_ms([&] { return process_state(process) == '-'; }));
  CHECK(job.board().seats[1].sums == sums);
  CHECK(job.board().wrong == 0);
  CHECK(job.end() == 0);
}

TEST_CASE("real processes: a rank that comes back after the others have gone on without it is told so, and sums no more") {
  Scenario job(3, {"--policy=shrink"});
  job.must_sum_as_one({0, 1, 2}, 20'000);
  job.board().seats[1].order = kLeaveAndStop;
  must_stop(job, 1);
  const std::uint64_t sums = job.board().seats[1].sums;
  job.must_sum_as_one({0, 2});
  job.signal(1, SIGCONT);
  CHECK(comes_true_ms([&] { return job.board().seats[1].evicted == 1; }));
  job.must_sum_as_one({0, 2});
  CHECK(job.board().seats[1].sums == sums);
  CHECK(job.board().wrong == 0);
  CHECK(job.end() == 0);
}

TEST_CASE("real processes: a rank without descriptors for a next generation is left behind by a typed error, and nobody crashes") {
  for (const std::uint64_t spare : {0, 1, 3, 12, 40}) {
    CAPTURE(spare);
    Scenario job(4, {"--policy=shrink"});
    job.must_sum_as_one({0, 1, 2, 3}, 20'000);
    job.board().seats[1].order = kSpareDescriptors + spare;
    REQUIRE(comes_true_ms([&] { return job.board().seats[1].order == 0; }));
    job.must_sum_as_one({0, 1, 2, 3});
    job.signal(2, SIGKILL);
    job.must_sum_as_one({0, 3}, 20'000);
    CHECK(job.board().wrong == 0);
    CHECK(job.end() == 0);
    CAPTURE(job.log());
    CHECK(job.log().find("SIGSEGV") == std::string::npos);
    CHECK(job.log().find("SIGABRT") == std::string::npos);
  }
}

TEST_CASE("real processes: a slow rank is never evicted, a dead one is") {
  Scenario job(3, {"--policy=shrink"}, [](Board& board) {
    board.seats[0].pause_ms = board.seats[2].pause_ms = 5;
    board.seats[1].pause_ms = 100;
  });
  job.must_sum_as_one({0, 1, 2}, 20'000);
  const std::uint64_t generation = job.generation(0);
  usleep(1'500'000);
  job.board().seats[1].pause_ms = 1'500;  // more than the time after which a silent rank is suspected
  job.must_sum_as_one({0, 1, 2});
  for (const int rank : {0, 1, 2}) CHECK(job.generation(rank) == generation);
  job.board().seats[1].pause_ms = 100;
  job.signal(2, SIGKILL);
  job.must_sum_as_one({0, 1});
  CHECK(job.board().wrong == 0);
  CHECK(job.end() == 0);
}

/// That of the one job.
std::string only_folder_in(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) found.push_back(entry.path().string());
  REQUIRE(found.size() == 1);
  return found[0];
}

/// The dead are named, and nobody else is blamed.
void check_analysis(const std::string& folder, const std::vector<std::int32_t>& dead) {
  const Recordings found = read_recordings(folder);
  CHECK(found.unreadable.empty());
  CHECK(found.recordings.size() == 3);
  const Analysis analysis = analyze(found.recordings);
  CAPTURE(analysis_text(analysis));
  std::vector<std::int32_t> blamed;
  for (const Finding& finding : analysis.findings) {
    if (!finding.blames) continue;
    CHECK(finding.kind == FindingKind::DeadRank);
    blamed.insert(blamed.end(), finding.ranks.begin(), finding.ranks.end());
  }
  CHECK(blamed == dead);
}

TEST_CASE("real processes: the recordings of a job name the rank that was killed") {
  for (const int victim : {0, 1, 2}) {
    CAPTURE(victim);
    Scenario job(3, {"--policy=shrink"}, nullptr, "a rank of a scenario that records");
    job.must_sum_as_one({0, 1, 2}, 20'000);
    const std::string recordings = only_folder_in(job.folder() + "/recordings");
    check_analysis(recordings, {});
    job.signal(victim, SIGKILL);
    std::vector<int> others = {0, 1, 2};
    std::erase(others, victim);
    job.must_sum_as_one(others);
    check_analysis(recordings, {victim});
    CHECK(job.board().wrong == 0);
    CHECK(job.end() == 0);
    check_analysis(recordings, {victim});
  }
}

TEST_CASE("real processes: 64 ranks on one host find each other, and go on without one of them") {
  std::vector<int> ranks;
  for (int rank = 0; rank < 64; ++rank) ranks.push_back(rank);
  const double begin_ms = now_ms();
  Scenario job(64, {"--policy=shrink", "--heartbeat-timeout=10"}, [](Board& board) {
    for (Seat& seat : board.seats) seat.pause_ms = 20;
  });
  job.must_sum_as_one(ranks, 60'000);
  const double whole_ms = now_ms();
  job.signal(17, SIGKILL);
  std::erase(ranks, 17);
  job.must_sum_as_one(ranks, 60'000);
  std::printf("64 ranks: two sums of all after %.0f ms, of the 63 that are left %.0f ms after a kill\n", whole_ms - begin_ms,
              now_ms() - whole_ms);
  CHECK(job.board().wrong == 0);
  CHECK(job.end() == 0);
}

}  // namespace
}  // namespace resilin::dist::test
