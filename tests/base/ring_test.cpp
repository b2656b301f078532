// tests/base/ring_test.cpp -- the ring keeps the newest records and never shows a torn one.
#include "resilin/base/ring.h"

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

namespace resilin {
namespace {

struct Event {
  std::uint64_t index;
  std::uint64_t square;
  std::uint32_t tag;
};

TEST_CASE("the newest records stay, oldest first") {
  Ring<Event, 4> ring;
  CHECK(ring.snapshot().empty());
  for (std::uint64_t i = 0; i < 3; ++i) ring.push({i, i * i, 7});
  CHECK(ring.snapshot().size() == 3);
  for (std::uint64_t i = 3; i < 10; ++i) ring.push({i, i * i, 7});
  const std::vector<Event> events = ring.snapshot();
  REQUIRE(events.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(events[i].index == 6 + i);
    CHECK(events[i].square == (6 + i) * (6 + i));
    CHECK(events[i].tag == 7);
  }
  CHECK(ring.pushed() == 10);
}

TEST_CASE("a snapshot beside a writer has no torn record and no gap") {
  Ring<Event, 64> ring;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !stop; ++i) ring.push({i, i * i, static_cast<std::uint32_t>(i)});
  });
  int torn = 0;
  std::size_t seen = 0;
  for (int round = 0; round < 2000 || seen == 0; ++round) {
    const std::vector<Event> events = ring.snapshot();
    seen += events.size();
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.square != event.index * event.index || event.tag != static_cast<std::uint32_t>(event.index)) ++torn;
      if (i > 0 && event.index != events[i - 1].index + 1) ++torn;
    }
  }
  stop = true;
  writer.join();
  CHECK(torn == 0);
}

}  // namespace
}  // namespace resilin
