// tests/dist/launch/host_agent_test.cpp -- ranks that srun or mpirun starts find an agent for themselves, and leave nothing.
#include "resilin/dist/launch/host_agent.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

#include "tests/dist/group/summing.h"
#include "tests/dist/launch/foreign_ranks.h"

namespace resilin::dist {
namespace {

using launch::comes_true;
using launch::ForeignRanks;
using summing::members_in;
using summing::Note;
using summing::notes_of;

TEST_CASE("ranks of srun start an agent, sum, go on without the one that is killed, and leave nothing") {
  const testing::TemporaryFolder out;
  ForeignRanks ranks(out, 4, summing::kTestCase, "sum");
  const std::vector<Note> first = members_in(out.path(), 4, 0);
  CAPTURE(ranks.log());
  REQUIRE(first.size() == 4);
  CHECK(ranks.folders().size() == 1);
  REQUIRE(ranks.agent().has_value());
  const std::optional<int> victim = ranks.rank_of(first[1].process);
  REQUIRE(victim.has_value());
  kill(first[1].process, SIGKILL);
  CHECK(ranks.wait(*victim) == -SIGKILL);
  const std::vector<Note> rest = members_in(out.path(), 3, first[0].generation);
  REQUIRE(rest.size() == 3);
  for (const Note& note : rest) CHECK(note.process != first[1].process);
  summing::tell_to_stop(out.path());
  for (int rank = 0; rank < 4; ++rank) {
    if (rank != *victim) CHECK(ranks.wait(rank) == 0);
  }
  CHECK(comes_true([&] { return !ranks.agent() && ranks.folders().empty(); }, 3));
  CHECK(ranks.log().find("incident 1:") != std::string::npos);
  CHECK(ranks.log().find("incident 2:") == std::string::npos);  // who leaves in good order is none
}

TEST_CASE("a job of srun finds nothing of a dead one with its name, and removes what it left") {
  const testing::TemporaryFolder before, out;
  std::vector<std::string> left;
  {
    ForeignRanks ranks(before, 2, summing::kTestCase, "sum", 1);
    REQUIRE(members_in(before.path(), 2, 0).size() == 2);
    const std::optional<pid_t> agent = ranks.agent();
    REQUIRE(agent.has_value());
    kill(*agent, SIGKILL);
    for (int rank = 0; rank < 2; ++rank) kill(ranks.process(rank), SIGKILL);
    for (int rank = 0; rank < 2; ++rank) CHECK(ranks.wait(rank) == -SIGKILL);
    left = ranks.folders();
    REQUIRE(left.size() == 1);
    ForeignRanks again(out, 2, summing::kTestCase, "sum", 1);
    CAPTURE(again.log());
    REQUIRE(members_in(out.path(), 2, 0).size() == 2);
    const std::vector<std::string> now = again.folders();
    REQUIRE(now.size() == 1);
    CHECK(now[0] != left[0]);
    summing::tell_to_stop(out.path());
    for (int rank = 0; rank < 2; ++rank) CHECK(again.wait(rank) == 0);
    CHECK(comes_true([&] { return !again.agent() && again.folders().empty(); }, 3));
  }
}

TEST_CASE("jobs of one name follow each other closely") {
  std::vector<std::unique_ptr<testing::TemporaryFolder>> folders;
  std::vector<std::unique_ptr<ForeignRanks>> jobs;
  for (int round = 0; round < 6; ++round) {
    CAPTURE(round);
    folders.push_back(std::make_unique<testing::TemporaryFolder>());
    jobs.push_back(std::make_unique<ForeignRanks>(*folders.back(), 2, summing::kTestCase, "sum", 3));
    CAPTURE(jobs.back()->log());
    CHECK(members_in(folders.back()->path(), 2, 0).size() == 2);
    summing::tell_to_stop(folders.back()->path());
    for (int rank = 0; rank < 2; ++rank) CHECK(jobs.back()->wait(rank) == 0);
  }
  CHECK(comes_true([&] { return !jobs.back()->agent() && jobs.back()->folders().empty(); }, 3));
}

TEST_CASE("ranks whose agent is dead go on summing, and end with 75 when they need another generation") {
  const testing::TemporaryFolder out;
  ForeignRanks ranks(out, 3, summing::kTestCase, "grace=1000", 2);
  const std::vector<Note> first = members_in(out.path(), 3, 0);
  CAPTURE(ranks.log());
  REQUIRE(first.size() == 3);
  const std::optional<pid_t> agent = ranks.agent();
  REQUIRE(agent.has_value());
  kill(*agent, SIGKILL);
  REQUIRE(comes_true([&] { return !ranks.agent(); }));
  const double lost_ms = launch::now_ms();
  usleep(3'000'000);  // longer than any grace
  CHECK(notes_of(out.path(), "failed", 0).empty());
  REQUIRE(comes_true([&] { return notes_of(out.path(), "on", lost_ms + 3'000).size() >= 3; }));
  const double killed_ms = launch::now_ms();
  kill(ranks.process(1), SIGKILL);
  CHECK(ranks.wait(1) == -SIGKILL);
  CHECK(ranks.wait(0) == kExitStoreLost);
  CHECK(ranks.wait(2) == kExitStoreLost);
  const std::vector<Note> failed = notes_of(out.path(), "failed", killed_ms), ended = notes_of(out.path(), "store-lost", killed_ms);
  REQUIRE(failed.size() == 2);
  REQUIRE(ended.size() == 2);
  for (const Note& note : failed) CHECK(note.at_ms < killed_ms + 2'000);
  for (std::size_t i = 0; i < 2; ++i) CHECK(ended[i].at_ms < killed_ms + 2'000 + 1'500);
  std::printf("without an agent: works failed %.0f and %.0f ms after a rank was killed, the ranks ended after %.0f and %.0f ms\n",
              failed[0].at_ms - killed_ms, failed[1].at_ms - killed_ms, ended[0].at_ms - killed_ms, ended[1].at_ms - killed_ms);
}

TEST_CASE("ranks of several hosts are told what to start") {
  RankInfo rank;
  rank.world_size = 4;
  rank.local_world_size = 2;
  CHECK_THROWS_AS(find_host_agent(rank), UnsupportedError);
  rank.group_world_size = 2;
  try {
    find_host_agent(rank);
    FAIL("it must not start anything");
  } catch (const UnsupportedError& error) {
    const std::string text = error.what();
    CHECK(text.find("the job has 2 hosts") != std::string::npos);
    CHECK(text.find("resilin agent --nnodes N --node-rank I --rdzv-endpoint HOST:PORT --secret-file FILE") != std::string::npos);
  }
}

}  // namespace
}  // namespace resilin::dist
