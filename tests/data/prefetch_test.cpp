// tests/data/prefetch_test.cpp -- batches made ahead are those of the pure function; ends and errors are orderly.
#include "resilin/data/prefetch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "resilin/base/file.h"

#include "tests/support/temporary_folder.h"

namespace resilin::data {
namespace {

ByteBatches batches_of(i64 size, const ByteBatchesOptions& options) {
  const resilin::testing::TemporaryFolder folder;
  std::string bytes;
  for (i64 i = 0; i < size; ++i) bytes += static_cast<char>(i * 11 % 256);
  atomic_write(folder.path() + "/text", bytes);
  return ByteBatches(ByteFile(folder.path() + "/text"), options);
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::equal(a.data_as<i64>(), a.data_as<i64>() + a.numel().value(), b.data_as<i64>());
}

Batch empty_batch(Position position) { return {position, Tensor(), Tensor()}; }

/// True when the condition held within ten seconds.
template <class Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST_CASE("the sequence is that of the pure function, from any position on") {
  const ByteBatches batches = batches_of(500, {.batch = 3, .length = 16, .seed = 9});
  for (const i64 depth : {1, 2, 5}) {
    for (Position position : {Position{0, 0}, Position{0, 10}, Position{7, 4}}) {
      Prefetch prefetch(batches, {.start = position, .depth = depth});
      for (int i = 0; i < 30; ++i) {
        const Batch got = prefetch.next(), expected = batches.make(position);
        CHECK(got.position == position);
        CHECK(equal(got.inputs, expected.inputs));
        CHECK(equal(got.targets, expected.targets));
        position = following(position, batches.steps_per_epoch());
      }
    }
  }
}

TEST_CASE("no more batches than the depth are made ahead, and as many are") {
  std::atomic<i64> made{0};
  Prefetch prefetch(
      [&made](Position position) {
        ++made;
        return empty_batch(position);
      },
      1000, {.depth = 3});
  REQUIRE(comes_true([&] { return made == 3; }));
  for (i64 i = 0; i < 50; ++i) {
    CHECK(prefetch.next().position == Position{0, i});
    CHECK(made <= i + 4);
    REQUIRE(comes_true([&] { return made == i + 4; }));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(made == 53);
}

TEST_CASE("what the source throws comes in the place of its batch and stays") {
  Prefetch prefetch(
      [](Position position) {
        if (position.step == 2) throw IoError("the disk is gone");
        return empty_batch(position);
      },
      10, {.depth = 5});
  CHECK(prefetch.next().position.step == 0);
  CHECK(prefetch.next().position.step == 1);
  for (int i = 0; i < 3; ++i) CHECK_THROWS_WITH_AS(prefetch.next(), "the disk is gone", IoError);
}

TEST_CASE("it ends at once, full, waiting, failed or never used") {
  const ByteBatches batches = batches_of(100, {.batch = 2, .length = 4});
  for (int i = 0; i < 200; ++i) {
    Prefetch prefetch(batches, {.depth = 1 + i % 3});
    for (int k = 0; k < i % 4; ++k) prefetch.next();
  }
  std::atomic<bool> failed{false};
  {
    Prefetch prefetch(
        [&failed](Position) -> Batch {
          failed = true;
          throw IoError("x");
        },
        1);
    REQUIRE(comes_true([&] { return failed.load(); }));
  }
}

TEST_CASE("the source is called in order by one thread and dies with the prefetch") {
  const std::shared_ptr<std::vector<Position>> calls = std::make_shared<std::vector<Position>>();
  {
    Prefetch prefetch(
        [calls](Position position) {
          calls->push_back(position);
          return empty_batch(position);
        },
        2, {.start = {1, 1}, .depth = 1});
    for (int i = 0; i < 3; ++i) prefetch.next();
  }
  CHECK(calls.use_count() == 1);
  REQUIRE(calls->size() >= 3);
  CHECK((*calls)[0] == Position{1, 1});
  CHECK((*calls)[1] == Position{2, 0});
  CHECK((*calls)[2] == Position{2, 1});
}

TEST_CASE("wrong options are refused") {
  const ByteBatches batches = batches_of(100, {.batch = 2, .length = 10});
  CHECK_THROWS_WITH_AS(Prefetch(batches, {.depth = 0}), "prefetch: depth is 0; it must be >= 1", ArgumentError);
  for (const Position start : {Position{-1, 0}, Position{0, -1}, Position{0, 5}}) {
    CHECK_THROWS_WITH_AS(Prefetch(batches, {.start = start}), doctest::Contains("an epoch has 5 steps"), ArgumentError);
  }
  CHECK_THROWS_WITH_AS(Prefetch(empty_batch, 0), doctest::Contains("an epoch has 0 steps"), ArgumentError);
  CHECK_THROWS_WITH_AS(Prefetch(Prefetch::Source(), 1), doctest::Contains("the source is an empty function"), ArgumentError);
}

}  // namespace
}  // namespace resilin::data
