// tests/dist/agent/chaos_test.cpp -- plans of faults: their text and their times.
#include "resilin/dist/agent/chaos.h"

#include <set>
#include <string>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

namespace resilin::dist {
namespace {

TEST_CASE("a plan is read as it is written") {
  const ChaosPlan plan = parse_chaos("kill:2@50;stop:1@80,3s;stop:0@5,250ms;seed=7");
  REQUIRE(plan.faults.size() == 3);
  CHECK(plan.seed == 7);
  CHECK(plan.faults[0].kind == ChaosFault::Kind::Kill);
  CHECK(plan.faults[0].rank == 2);
  CHECK(plan.faults[0].step == 50);
  CHECK(plan.faults[0].text == "kill:2@50");
  CHECK(plan.faults[1].kind == ChaosFault::Kind::Stop);
  CHECK(plan.faults[1].pause == std::chrono::seconds(3));
  CHECK(plan.faults[2].pause == std::chrono::milliseconds(250));
  CHECK(parse_chaos("").faults.empty());
}

TEST_CASE("what is no fault is named") {
  for (const char* text : {"kill", "kill:2", "kill:@3", "kill:2@", "kill:x@3", "kill:2@-1", "kill:2@3,1s", "stop:1@2", "stop:1@2,3",
                           "stop:1@2,s", "stop:1@2,3m", "term:1@2", "seed=x", "seed=", "kill:99999999999999999999@1", "@:", ":@"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_chaos(text), ArgumentError);
  }
  CHECK_THROWS_WITH_AS(parse_chaos("kill:1@2;boom"),
                       "chaos: not a fault: \"boom\"; it must be kill:RANK@STEP, stop:RANK@STEP,TIME (3s, 250ms) or seed=NUMBER",
                       ArgumentError);
}

TEST_CASE("the time of a fault lies in its step, is the same for a seed and differs between seeds and faults") {
  std::set<i64> times;
  const std::chrono::milliseconds step(100);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    ChaosPlan plan = parse_chaos("kill:0@1;kill:1@1");
    plan.seed = seed;
    for (std::size_t fault = 0; fault < 2; ++fault) {
      const std::chrono::nanoseconds delay = plan.delay(fault, step);
      CHECK(delay >= std::chrono::nanoseconds(0));
      CHECK(delay < step);
      CHECK(delay == plan.delay(fault, step));
      times.insert(delay.count());
    }
  }
  CHECK(times.size() > 90);
  CHECK(*times.begin() < 20'000'000);
  CHECK(*times.rbegin() > 80'000'000);
}

}  // namespace
}  // namespace resilin::dist
