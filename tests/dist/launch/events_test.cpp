// tests/dist/launch/events_test.cpp -- `resilin run --events`: starts, faults and ends of real processes as a reader of the file sees them.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/event_log.h"
#include "resilin/dist/agent/heartbeat.h"
#include "resilin/dist/launch/rank_info.h"

#include "tests/support/launcher.h"
#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

using launch::Launcher;
using launch::lines_of;
using launch::with_test_case;

constexpr int kSteps = 60;

std::vector<std::string> with_rank(std::vector<std::string> flags) {
  return with_test_case(std::move(flags), "steps", "a rank of a test of events");
}

std::vector<Event> events_of(const testing::TemporaryFolder& out) {
  std::vector<Event> events;
  for (const std::string& line : lines_of(out.path() + "/events.jsonl")) {
    const std::optional<Event> event = parse_event(line);
    CAPTURE(line);
    REQUIRE(event);
    events.push_back(*event);
  }
  return events;
}

std::vector<Event> select(const std::vector<Event>& events, const std::string& what, i64 rank) {
  std::vector<Event> found;
  std::ranges::copy_if(events, std::back_inserter(found), [&](const Event& event) { return event.what == what && event.rank == rank; });
  return found;
}

i64 number(const Event& event, std::string_view key) {
  const Json* value = event.find(key);
  REQUIRE(value != nullptr);
  return value->integer();
}

/// What a rank wrote of its own steps.
std::vector<Event> steps_of(const std::vector<Event>& events, i64 rank, i64 life) {
  std::vector<Event> steps = select(events, "step", rank);
  std::erase_if(steps, [life](const Event& event) { return event.life != life; });
  return steps;
}

TEST_CASE("a fault that kills is in the events with its step and moment, between the start of its rank and the next one") {
  const testing::TemporaryFolder out;
  Launcher launcher(out, with_rank({"--standalone", "--nproc-per-node=3", "--max-restarts=1", "--chaos=kill:2@20;seed=5",
                                    "--events=" + out.path() + "/events.jsonl"}));
  REQUIRE(launcher.wait() == 0);
  const std::vector<Event> events = events_of(out);
  for (i64 rank = 0; rank < 2; ++rank) {
    REQUIRE(select(events, "start", rank).size() == 1);
    CHECK(select(events, "start", rank)[0].life == 0);
    CHECK(select(events, "kill", rank).empty());
    REQUIRE(select(events, "exit", rank).size() == 1);
    CHECK(select(events, "exit", rank)[0].find("cause")->text() == "exited with code 0");
    CHECK(steps_of(events, rank, 0).size() == kSteps);
  }
  const std::vector<Event> starts = select(events, "start", 2), kills = select(events, "kill", 2), exits = select(events, "exit", 2);
  REQUIRE(starts.size() == 2);
  REQUIRE(kills.size() == 1);
  REQUIRE(exits.size() == 2);
  CHECK(starts[1].life == 1);
  CHECK(kills[0].life == 0);
  CHECK(number(kills[0], "signal") == SIGKILL);
  CHECK(exits[0].find("cause")->text() == "was killed by SIGKILL (Killed)");
  CHECK(exits[1].find("cause")->text() == "exited with code 0");

  const std::vector<Event> steps = steps_of(events, 2, 0);
  REQUIRE(!steps.empty());
  CHECK(number(steps[0], "pid") == number(starts[0], "pid"));
  const i64 step = number(kills[0], "step");
  CHECK(step >= 20);
  CHECK(step < kSteps);  // 20 when nobody holds the agent up
  REQUIRE(static_cast<i64>(steps.size()) > step);
  CHECK(number(steps[static_cast<std::size_t>(step)], "step") == step);
  CHECK(kills[0].t_us >= steps[static_cast<std::size_t>(step)].t_us);
  CHECK(steps.back().t_us <= exits[0].t_us);
  CHECK(kills[0].t_us <= exits[0].t_us);
  CHECK(exits[0].t_us <= starts[1].t_us);
  CHECK(steps_of(events, 2, 1).size() == kSteps);
}

TEST_CASE("a fault that stops is two signals with its pause between them") {
  const testing::TemporaryFolder out;
  Launcher launcher(out,
                    with_rank({"--standalone", "--nproc-per-node=2", "--chaos=stop:1@5,300ms", "--events", out.path() + "/events.jsonl"}));
  REQUIRE(launcher.wait() == 0);
  const std::vector<Event> events = events_of(out), kills = select(events, "kill", 1);
  REQUIRE(kills.size() == 2);
  CHECK(number(kills[0], "signal") == SIGSTOP);
  CHECK(number(kills[1], "signal") == SIGCONT);
  CHECK(kills[1].t_us - kills[0].t_us >= 295'000);  // clocks of both ends may differ by their steps
  const std::vector<Event> steps = steps_of(events, 1, 0);
  CHECK(steps.size() == kSteps);
  // It took no step while it was stopped, but for the one in which the signal met it.
  CHECK(std::ranges::count_if(steps, [&](const Event& event) { return event.t_us > kills[0].t_us && event.t_us < kills[1].t_us; }) <= 1);
}

TEST_CASE("the end of a rank by itself has its cause, and no fault is told") {
  const testing::TemporaryFolder out;
  Launcher launcher(out, {"--standalone", "--nproc-per-node=1", "--events=" + out.path() + "/events.jsonl", "sh", "-c", "exit 3"});
  CHECK(launcher.wait() == 3);
  const std::vector<Event> events = events_of(out);
  REQUIRE(events.size() == 2);
  CHECK(events[0].what == "start");
  CHECK(events[1].what == "exit");
  CHECK(events[1].find("cause")->text() == "exited with code 3");
}

TEST_CASE("events are appended to those of an earlier run, and a file that cannot be opened starts no rank") {
  const testing::TemporaryFolder out;
  const std::string file = out.path() + "/events.jsonl";
  for (int run = 0; run < 2; ++run) CHECK(Launcher(out, {"--standalone", "--events=" + file, "true"}).wait() == 0);
  CHECK(events_of(out).size() == 4);
  Launcher launcher(out, {"--standalone", "--events=" + out.path() + "/none/events.jsonl", "sh", "-c", "touch $OUT/ran"});
  CHECK(launcher.wait() == 98);  // what the test's launcher makes of an exception
  CHECK(launcher.log().find("events: No such file or directory: ") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(out.path() + "/ran"));
}

TEST_CASE("a rank of a test of events" * doctest::skip()) {
  alarm(90);
  const std::optional<RankInfo> rank = rank_info();
  REQUIRE(rank.has_value());
  Heartbeat heartbeat(*rank, std::chrono::milliseconds(50));
  EventLog log(std::string(std::getenv("OUT")) + "/events.jsonl");
  for (i64 step = 0; step < kSteps; ++step) {
    log.append({"step", rank->rank, rank->restart_count, {{"step", step}, {"pid", static_cast<i64>(getpid())}}});
    heartbeat.report(step);
    usleep(20'000);
  }
}

}  // namespace
}  // namespace resilin::dist
