// tests/dist/simulation_test.cpp -- seeded schedules of the membership protocol, and faults of its code that they find.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "tests/dist/simulation/world.h"

namespace resilin::dist {
namespace {

/// RESILIN_DIST_SEED replays one schedule and tells its story; RESILIN_DIST_SCHEDULES sets how many run.
std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<std::uint64_t>(parse_integer(text));
}

}  // namespace

TEST_CASE("the invariants hold after every event of every schedule") {
  const std::uint64_t one = number_from("RESILIN_DIST_SEED", 0);
  const std::uint64_t first = one != 0 ? one : 1;
  const std::uint64_t count = one != 0 ? 1 : number_from("RESILIN_DIST_SCHEDULES", 20'000);
  std::uint64_t events = 0, steps = 0, generations = 0, aborts = 0, went_on = 0, lost = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const simulation::Report report = simulation::simulate(seed, Fault::None, one != 0);
    events += report.events;
    steps += report.steps;
    generations += report.generations;
    aborts += report.aborts;
    went_on += report.went_on ? 1 : 0;
    lost += report.state_was_lost ? 1 : 0;
    if (one != 0) std::fputs(report.story.c_str(), stdout);
    REQUIRE_MESSAGE(report.violation.empty(), report.violation, "; RESILIN_DIST_SEED=", seed, " replays it");
  }
  std::printf(
      "%llu schedules: %llu events, %llu steps, %llu generations, %llu ends of attempts by ABORT, %llu went on, %llu lost the state\n",
      static_cast<unsigned long long>(count), static_cast<unsigned long long>(events), static_cast<unsigned long long>(steps),
      static_cast<unsigned long long>(generations), static_cast<unsigned long long>(aborts), static_cast<unsigned long long>(went_on),
      static_cast<unsigned long long>(lost));
  if (one != 0) return;
  // The schedules are worth something: things fail, and training goes on.
  CHECK(aborts > count / 10);
  CHECK(generations > count);
  CHECK(went_on + lost > count * 9 / 10);
}

TEST_CASE("every fault of the protocol's code breaks an invariant within 10,000 schedules") {
  constexpr std::uint64_t kMostSchedules = 10'000;
  constexpr std::size_t kFaults = enum_names(static_cast<Fault*>(nullptr)).size();
  for (std::size_t i = 1; i < kFaults; ++i) {
    const Fault fault = static_cast<Fault>(i);
    std::uint64_t seed = 1;
    std::string violation;
    for (; seed <= kMostSchedules && violation.empty(); ++seed) violation = simulation::simulate(seed, fault).violation;
    std::printf("%-22s seed %llu: %s\n", std::string(enum_name(fault)).c_str(), static_cast<unsigned long long>(seed - 1),
                violation.c_str());
    CHECK_MESSAGE(!violation.empty(), enum_name(fault), " is not noticed");
  }
}

}  // namespace resilin::dist
