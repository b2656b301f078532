// tests/dist/membership/detector_test.cpp -- silent, stuck and slow are told apart, and a late detector accuses nobody.
#include "resilin/dist/membership/detector.h"

#include <vector>

#include <doctest/doctest.h>

namespace resilin::dist {
namespace {

Progress at(std::uint64_t number) { return {.step = static_cast<std::int64_t>(number), .sequence = number}; }

/// Beats of both until then, ticks each 100 ms; instance 2 stands still at sequence 1 from the first second on.
Detector after(std::uint64_t end_ms) {
  Detector detector({.silent_ms = 1000, .stuck_ms = 10'000, .stuck_steps = 20, .slow_ms = 1000, .slow_steps = 3});
  detector.tick(0);
  detector.watch(1, 0);
  detector.watch(2, 0);
  for (std::uint64_t now_ms = 100; now_ms <= end_ms; now_ms += 100) {
    detector.beat(1, now_ms, at(now_ms / 200));
    detector.beat(2, now_ms, at(1));
    detector.tick(now_ms);
  }
  return detector;
}

}  // namespace

TEST_CASE("who beats but stands still while others go on is slow, then stuck, and only then a suspect") {
  CHECK(after(500).health(2) == Health::Well);
  CHECK(after(2000).health(2) == Health::Slow);
  CHECK(after(2000).suspects().empty());
  CHECK(after(12'000).health(2) == Health::Stuck);
  CHECK(after(12'000).suspects() == std::vector<std::uint64_t>{2});
  CHECK(after(12'000).health(1) == Health::Well);
}

TEST_CASE("who does not beat is silent after the timeout, and well again after a beat") {
  Detector detector = after(500);
  const auto go_on_until = [&](std::uint64_t begin_ms, std::uint64_t end_ms) {
    for (std::uint64_t now_ms = begin_ms; now_ms <= end_ms; now_ms += 100) {
      detector.beat(1, now_ms, at(2));
      detector.tick(now_ms);
    }
  };
  go_on_until(600, 1300);
  CHECK(detector.health(2) != Health::Silent);
  go_on_until(1400, 1500);
  CHECK(detector.health(2) == Health::Silent);
  CHECK(detector.health(1) == Health::Well);
  detector.beat(2, 1600, at(5));
  detector.tick(1600);
  CHECK(detector.health(2) == Health::Well);
}

TEST_CASE("a detector that was away itself gives everybody the gap") {
  Detector detector = after(500);
  CHECK(detector.tick(5000).empty());
  CHECK(detector.tick(5400).empty());
  CHECK(detector.suspects().empty());
  for (std::uint64_t now_ms = 5500; now_ms <= 6100; now_ms += 100) detector.tick(now_ms);
  CHECK(detector.suspects() == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("a beat that comes before the tick that is late counts from its own time") {
  Detector detector = after(500);
  detector.beat(1, 5000, at(3));
  CHECK(detector.tick(5000).empty());
  CHECK(detector.silent_for_ms(1) == 0);
  CHECK(detector.silent_for_ms(2) == 0);
  for (std::uint64_t now_ms = 5100; now_ms < 6000; now_ms += 100) CHECK(detector.tick(now_ms).empty());
  CHECK(detector.tick(6000).size() == 2);
}

TEST_CASE("who works on its own step moves, though it starts no collective") {
  Detector detector({.silent_ms = 1000, .stuck_ms = 2000, .stuck_steps = 1});
  detector.tick(0);
  detector.watch(1, 0);
  detector.watch(2, 0);
  for (std::uint64_t now_ms = 100; now_ms <= 5000; now_ms += 100) {
    detector.beat(1, now_ms, {.step = 1, .sequence = 9});
    detector.beat(2, now_ms, {.step = static_cast<std::int64_t>(now_ms / 500), .sequence = 3});
    detector.tick(now_ms);
  }
  CHECK(detector.health(2) == Health::Well);
  CHECK(detector.still_for_ms(2) < 500);
  CHECK(detector.suspects().empty());
}

}  // namespace resilin::dist
