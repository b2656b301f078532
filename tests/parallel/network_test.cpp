// tests/parallel/network_test.cpp -- healing between ranks that share no memory.
#include <variant>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/dist/transport/ucx.h"
#include "resilin/parallel/elastic.h"

#include "tests/parallel/world.h"

namespace resilin::parallel {
namespace {

using testing::Trained;
using testing::World;

TEST_CASE("a rank reads 10 MB of state over TCP where memory cannot be shared") {
  constexpr i64 kSteps = 24, kFeatures = 655'360;
  World world(2, kSteps, kFeatures);
  world.transport = dist::ucx_transport({.shared_memory = false});
  world.shares_memory = false;
  world.at_step = [](World&, int, const StepReport& report) {
    if (report.world == 2 && report.step >= 4) usleep(100'000);  // so that steps are left for the third
  };
  for (int i = 0; i < 2; ++i) world.start();
  while (world.steps_of(0) < 4) usleep(1000);
  world.start();
  const std::uint64_t expected = testing::undisturbed(kSteps, kFeatures);
  for (const int rank : {0, 1, 2}) {
    CAPTURE(rank);
    const Trained& trained = world.wait(rank);
    CHECK(trained.error == "");
    CHECK(trained.digest == expected);
  }
  int healed = 0;
  for (const TrainingEvent& event : world.wait(2).events) {
    const auto* const one = std::get_if<training_event::Healed>(&event);
    if (one == nullptr) continue;
    ++healed;
    CHECK(one->bytes >= 10'000'000);
    MESSAGE("read in ", one->seconds, " s");
    CHECK(one->seconds < 10);  // one piece after the other it would be a minute where each waits 20 ms for a processor
  }
  CHECK(healed == 1);
}

}  // namespace
}  // namespace resilin::parallel
