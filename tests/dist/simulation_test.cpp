// tests/dist/simulation_test.cpp -- seeded schedules of the membership protocol, and faults of its code that they find.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "resilin/base/text.h"

#include "tests/dist/simulation/world.h"

namespace resilin::dist {
namespace {

/// RESILIN_DIST_SEED replays one schedule and tells its story; RESILIN_DIST_SCHEDULES sets how many run.
std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<std::uint64_t>(parse_integer(text));
}

/// What schedules came to.
struct Totals {
  std::uint64_t events = 0, steps = 0, generations = 0, aborts = 0, went_on = 0, lost = 0;
  std::string violation;  // of the schedule that ended it

  void add(const simulation::Report& report) {
    events += report.events;
    steps += report.steps;
    generations += report.generations;
    aborts += report.aborts;
    went_on += report.went_on ? 1 : 0;
    lost += report.state_was_lost ? 1 : 0;
  }
};

simulation::Report simulate_guarded(std::uint64_t seed) {
  try {
    return simulation::simulate(seed, Fault::None);
  } catch (const std::exception& error) {
    simulation::Report report;
    report.violation = error.what();
    return report;
  }
}

/// Simulates each seed in one of two threads, until one breaks an invariant.
Totals simulate_all(std::uint64_t first, std::uint64_t count) {
  std::mutex mutex;  // guards what follows
  Totals totals;
  std::uint64_t next = first;
  const auto work = [&] {
    std::unique_lock<std::mutex> lock(mutex);
    while (next < first + count && totals.violation.empty()) {
      const std::uint64_t seed = next++;
      lock.unlock();
      const simulation::Report report = simulate_guarded(seed);
      lock.lock();
      totals.add(report);
      if (!report.violation.empty()) totals.violation = cat(report.violation, "; RESILIN_DIST_SEED=", seed, " replays it");
    }
  };
  std::thread other(work);
  work();
  other.join();
  return totals;
}

}  // namespace

TEST_CASE("the invariants hold after every event of every schedule") {
  if (const std::uint64_t one = number_from("RESILIN_DIST_SEED", 0); one != 0) {
    const simulation::Report report = simulation::simulate(one, Fault::None, true);
    std::fputs(report.story.c_str(), stdout);
    REQUIRE_MESSAGE(report.violation.empty(), report.violation);
    return;
  }
  const std::uint64_t count = number_from("RESILIN_DIST_SCHEDULES", 20'000);
  const Totals totals = simulate_all(1, count);
  REQUIRE_MESSAGE(totals.violation.empty(), totals.violation);
  std::fputs(cat(count, " schedules: ", totals.events, " events, ", totals.steps, " steps, ", totals.generations, " generations, ",
                 totals.aborts, " ends of attempts by ABORT, ", totals.went_on, " went on, ", totals.lost, " lost the state\n")
                 .c_str(),
             stdout);
  // The schedules are worth something: things fail, and training goes on.
  CHECK(totals.aborts > count / 10);
  CHECK(totals.generations > count);
  CHECK(totals.went_on + totals.lost > count * 9 / 10);
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
