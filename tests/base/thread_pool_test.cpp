// tests/base/thread_pool_test.cpp -- the pool cuts, runs, joins, reports and survives forks.
#include "resilin/base/thread_pool.h"

#include <atomic>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/config.h"

#include "tests/support/child.h"

namespace resilin {
namespace {

struct Range {
  i64 begin;
  i64 end;
  int worker;
};

/// The ranges of one call, by worker.
std::vector<Range> cut(i64 begin, i64 end, i64 grain) {
  std::mutex mutex;
  std::vector<Range> ranges;
  parallel_for(begin, end, grain, [&](i64 a, i64 b, int worker) {
    const std::lock_guard<std::mutex> lock(mutex);
    ranges.push_back({a, b, worker});
  });
  std::vector<Range> ordered(ranges.size());
  for (const Range& range : ranges) ordered[static_cast<std::size_t>(range.worker)] = range;
  return ordered;
}

/// Sums 1..n by ranges, so that a range that is missed or run twice shows.
i64 sum_to(i64 n) {
  std::atomic<i64> sum{0};
  parallel_for(1, n + 1, 1, [&](i64 a, i64 b, int) {
    i64 local = 0;
    for (i64 i = a; i < b; ++i) local += i;
    sum += local;
  });
  return sum;
}

class Threads : public config::ScopedConfig {
 public:
  explicit Threads(int count) : ScopedConfig("runtime.threads", std::to_string(count)) {}
};

TEST_CASE("ranges cover everything once and are cut at whole grains, for any number of threads") {
  for (const int threads : {1, 2, 3, 7}) {
    const Threads scope(threads);
    CHECK(thread_count() == threads);
    for (const i64 begin : {i64{0}, i64{-5}, i64{1'000'000'000'000}}) {
      for (const i64 size : {1, 2, 3, 7, 64, 65, 1000}) {
        for (const i64 grain : {1, 3, 64, 5000}) {
          const std::vector<Range> ranges = cut(begin, begin + size, grain);
          REQUIRE(!ranges.empty());
          CHECK(static_cast<int>(ranges.size()) <= threads);
          CHECK(ranges.front().begin == begin);
          CHECK(ranges.back().end == begin + size);
          for (std::size_t i = 0; i < ranges.size(); ++i) {
            CHECK(ranges[i].begin < ranges[i].end);
            CHECK((ranges[i].begin - begin) % grain == 0);
            if (i > 0) CHECK(ranges[i].begin == ranges[i - 1].end);
          }
        }
      }
    }
  }
}

TEST_CASE("an empty range runs nothing and a bad grain is refused") {
  parallel_for(3, 3, 1, [](i64, i64, int) { FAIL("ran"); });
  parallel_for(4, 3, 1, [](i64, i64, int) { FAIL("ran"); });
  CHECK_THROWS_AS(parallel_for(0, 3, 0, [](i64, i64, int) {}), ArgumentError);
  CHECK_THROWS_AS(parallel_for(std::numeric_limits<i64>::min(), 1, 1, [](i64, i64, int) {}), ArgumentError);
  CHECK(cut(0, std::numeric_limits<i64>::max(), 7).back().end == std::numeric_limits<i64>::max());
}

TEST_CASE("many short jobs are all joined, awake or asleep in between") {
  for (const char* spin_us : {"0", "50"}) {
    const config::ScopedConfig spin("runtime.spin_us", spin_us);
    for (const int threads : {1, 2, 3}) {
      const Threads scope(threads);
      for (i64 n = 0; n < 500; ++n) REQUIRE(sum_to(n) == n * (n + 1) / 2);
    }
  }
}

TEST_CASE("the ranges really run on different threads and the caller runs the first") {
  const Threads scope(3);
  std::vector<std::thread::id> ids(3);
  std::atomic<int> here{0};
  parallel_for(0, 3, 1, [&](i64 begin, i64, int worker) {
    ids[static_cast<std::size_t>(worker)] = std::this_thread::get_id();
    CHECK(begin == worker);
    ++here;
    while (here < 3) std::this_thread::yield();  // ends only if three threads are inside at once
  });
  CHECK(ids[0] == std::this_thread::get_id());
  CHECK(ids[0] != ids[1]);
  CHECK(ids[1] != ids[2]);
}

TEST_CASE("a nested call runs the same ranges alone") {
  const Threads scope(3);
  CHECK_FALSE(in_parallel_region());
  std::atomic<int> inner_calls{0};
  std::atomic<bool> moved{false};
  parallel_for(0, 3, 1, [&](i64, i64, int) {
    CHECK(in_parallel_region());
    const std::thread::id me = std::this_thread::get_id();
    int next_worker = 0;
    parallel_for(0, 9, 3, [&](i64 begin, i64 end, int worker) {
      if (std::this_thread::get_id() != me) moved = true;
      if (begin != 3 * worker || end != begin + 3 || worker != next_worker++) moved = true;
      ++inner_calls;
    });
    CHECK(in_parallel_region());
  });
  CHECK_FALSE(moved);
  CHECK(inner_calls == 9);
  CHECK_FALSE(in_parallel_region());
}

TEST_CASE("callers that find the pool busy run alone and get the same result") {
  const Threads scope(2);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (i64 n = 0; n < 200; ++n) {
        if (sum_to(n) != n * (n + 1) / 2) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("the exception of the lowest range is thrown after the join and the pool works on") {
  for (const int threads : {1, 2, 3}) {
    const Threads scope(threads);
    std::atomic<int> finished{0};
    std::string seen;
    try {
      parallel_for(0, threads, 1, [&](i64 begin, i64, int) {
        ++finished;
        throw std::runtime_error(std::to_string(begin));
      });
    } catch (const std::runtime_error& error) {
      seen = error.what();
    }
    CHECK(seen == "0");
    CHECK(finished == threads);
    CHECK_FALSE(in_parallel_region());
    CHECK(sum_to(100) == 5050);
    if (threads == 1) continue;
    CHECK_THROWS_AS(parallel_for(0, threads, 1,
                                 [&](i64 begin, i64, int) {
                                   if (begin == threads - 1) throw ShapeError("last");
                                 }),
                    ShapeError);
    CHECK(sum_to(100) == 5050);
  }
}

TEST_CASE("the number of threads changes at run time and bad numbers are refused") {
  const Threads scope(1);
  for (const int threads : {2, 3, 1, 4, 2}) {
    set_thread_count(threads);
    CHECK(thread_count() == threads);
    CHECK(static_cast<int>(cut(0, 100, 1).size()) == threads);
  }
  CHECK_THROWS_AS(set_thread_count(-1), ArgumentError);
  CHECK_THROWS_AS(set_thread_count(5000), ArgumentError);
  CHECK(thread_count() == 2);
}

TEST_CASE("the pool is made anew in a forked child") {
  const Threads scope(3);
  REQUIRE(sum_to(1000) == 500500);
  const int status = testing::run_in_child([] {
    for (i64 n = 0; n < 50; ++n) {
      if (sum_to(n) != n * (n + 1) / 2) return 1;
    }
    return testing::run_in_child([] { return sum_to(1000) == 500500 ? 0 : 2; });
  });
  CHECK(status == 0);
  CHECK(sum_to(1000) == 500500);
}

TEST_CASE("a child forked while another thread keeps the pool busy has a pool of its own") {
  const Threads scope(2);
  std::atomic<bool> stop{false};
  std::atomic<bool> inside{false};
  std::thread owner([&] {
    parallel_for(0, 2, 1, [&](i64, i64, int) {
      inside = true;
      while (!stop) std::this_thread::yield();
    });
  });
  while (!inside) std::this_thread::yield();
  const int status = testing::run_in_child([] {
    std::atomic<int> here{0};
    parallel_for(0, 2, 1, [&](i64, i64, int) {
      ++here;
      while (here < 2) std::this_thread::yield();
    });
    return 0;
  });
  stop = true;
  owner.join();
  CHECK(status == 0);
}

TEST_CASE("a body that forks is told so in the child") {
  const Threads scope(2);
  pid_t child = -1;
  bool refused = false;
  try {
    parallel_for(0, 2, 1, [&](i64 begin, i64, int) {
      if (begin != 0) return;
      child = fork();
      if (child == 0) alarm(20);
    });
  } catch (const UnsupportedError&) {
    refused = true;
  }
  if (child == 0) _exit(refused ? 7 : 8);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK_FALSE(refused);
  CHECK(WEXITSTATUS(status) == 7);
}

}  // namespace
}  // namespace resilin
