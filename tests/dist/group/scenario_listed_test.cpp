// tests/dist/group/scenario_listed_test.cpp -- listed groups of real processes: one stops and comes back too late, one runs out of descriptors.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/group/init.h"
#include "resilin/dist/group/process_group.h"

#include "tests/dist/group/scenario.h"

namespace resilin::dist::test {
namespace {

using std::chrono::milliseconds;

/// Runs the test case in three ranks; all of them must come to its end.
void run_three(const std::string& program) {
  Scenario job(3, {"--policy=shrink"}, nullptr, program);
  const bool ended = comes_true_ms([&] { return job.board().struck == 3; }, 30'000);
  CAPTURE(job.log());
  CHECK(ended);
  CHECK(job.end() == 0);
  CHECK(job.board().struck == 3);
}

TEST_CASE("real processes: a listed rank that comes back after the others have gone on without it sums no more") {
  run_three("a listed rank that may stop");
}

TEST_CASE("real processes: a listed rank without descriptors fails the attempt for all, and the old generation works on") {
  run_three("a listed rank that may lack descriptors");
}

// What follows runs in ranks, each of which counts itself at its end.

/// A right sum of ones over all ranks.
void must_sum(ProcessGroup& group) {
  const Tensor x = Tensor::allocate(Shape{8}, DType::F32);
  for (int i = 0; i < 8; ++i) static_cast<float*>(x.data())[i] = 1;
  group.all_reduce(x).wait(milliseconds(10'000));
  for (int i = 0; i < 8; ++i) REQUIRE(static_cast<float*>(x.data())[i] == static_cast<float>(group.size()));
}

void go_on_without_it(ProcessGroup& group, const std::vector<std::string>& handles, Board& board) {
  const Work late = group.barrier(milliseconds(300));
  REQUIRE_THROWS_AS(late.wait(), DistError);
  group.reconfigure({.uuid = 500, .handles = {handles[0], handles[2]}});
  for (int i = 0; i < 20; ++i) must_sum(group);
  if (group.rank() == 0) REQUIRE(kill(static_cast<pid_t>(board.seats[1].process.load()), SIGCONT) == 0);
  for (int i = 0; i < 200; ++i) must_sum(group);
  REQUIRE(group.size() == 2);
}

void come_back(ProcessGroup& group, const std::vector<std::string>& handles, Board& board) {
  board.seats[1].process = static_cast<std::uint64_t>(getpid());
  raise(SIGSTOP);
  for (int i = 0; i < 5; ++i) {
    REQUIRE_THROWS_AS(
        [&] {
          const Work late = group.barrier();
          late.wait(milliseconds(5'000));
        }(),
        DistError);
  }
  REQUIRE_THROWS_AS(group.reconfigure({.uuid = 500, .handles = handles}), ReconfigureError);
  REQUIRE_THROWS_AS(group.reconfigure({.uuid = 501, .handles = handles, .timeout = milliseconds(300)}), ReconfigureError);
  REQUIRE(group.size() == 3);  // what it was
}

TEST_CASE("a listed rank that may stop" * doctest::skip()) {
  alarm(60);
  const MappedBoard board(std::getenv("OUT"));
  ProcessGroup group = init_process_group({.records = false});
  must_sum(group);
  const std::vector<std::string> handles = group.info().handles;
  if (group.rank() == 1) {
    come_back(group, handles, *board);
  } else {
    go_on_without_it(group, handles, *board);
  }
  ++board->struck;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += entry.exists() ? 1 : 0;
  return count;
}

TEST_CASE("a listed rank that may lack descriptors" * doctest::skip()) {
  alarm(60);
  const MappedBoard board(std::getenv("OUT"));
  ProcessGroup group = init_process_group({.records = false});
  rlimit enough{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &enough) == 0);
  std::uint64_t uuid = 1000;
  int failures = 0;
  for (const std::size_t spare : {0, 1, 2, 3, 5, 8, 20, 63, 66, 80, 120}) {
    CAPTURE(spare);
    must_sum(group);
    const std::vector<std::string> handles = group.info().handles;
    if (group.rank() == 1) {
      rlimit low = enough;
      low.rlim_cur = open_descriptors() + spare;
      REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
    }
    must_sum(group);
    try {
      group.reconfigure({.uuid = ++uuid, .handles = handles, .timeout = milliseconds(5'000)});
    } catch (const ReconfigureError& error) {
      ++failures;
      const std::string message = error.what();
      REQUIRE_MESSAGE(message.find("descriptor") != std::string::npos, message);  // also one that comes when the attempt is over
    }
    must_sum(group);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &enough) == 0);
  }
  REQUIRE(failures >= 8);
  group.reconfigure({.uuid = ++uuid, .handles = group.info().handles});
  must_sum(group);
  ++board->struck;
}

}  // namespace
}  // namespace resilin::dist::test
