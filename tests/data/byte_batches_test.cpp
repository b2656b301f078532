// tests/data/byte_batches_test.cpp -- batches visit every slot of a text once an epoch and hold the bytes they should.
#include "resilin/data/byte_batches.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/file.h"

#include "tests/support/temporary_folder.h"

namespace resilin::data {
namespace {

/// A text whose byte i is 7 i, modulo 251.
ByteFile text(i64 size) {
  const resilin::testing::TemporaryFolder folder;
  std::string bytes;
  for (i64 i = 0; i < size; ++i) bytes += static_cast<char>(i * 7 % 251);
  atomic_write(folder.path() + "/text", bytes);
  return ByteFile(folder.path() + "/text");
}

std::vector<i64> offsets_of_epoch(const ByteBatches& batches, i64 epoch) {
  std::vector<i64> all;
  for (i64 step = 0; step < batches.steps_per_epoch(); ++step) {
    const std::vector<i64> some = batches.offsets({epoch, step});
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

TEST_CASE("an epoch visits every slot once, in an order of its own") {
  for (const i64 size : {11, 20, 21, 1000, 4097}) {
    for (const i64 batch : {1, 3, 7}) {
      CAPTURE(size);
      CAPTURE(batch);
      const ByteBatches batches(text(size), {.batch = batch, .length = 10, .seed = 4});
      CHECK(batches.slots() == (size - 1) / 10);
      CHECK(batches.steps_per_epoch() == (batches.slots() + batch - 1) / batch);
      std::vector<i64> first = offsets_of_epoch(batches, 0);
      const std::vector<i64> second = offsets_of_epoch(batches, 1);
      CHECK(first == offsets_of_epoch(batches, 0));
      if (batches.slots() > 20) CHECK(first != second);
      std::vector<i64> expected;
      for (i64 slot = 0; slot < batches.slots(); ++slot) expected.push_back(slot * 10);
      if (batches.slots() > 20) CHECK(first != expected);
      std::sort(first.begin(), first.end());
      CHECK(first == expected);
    }
  }
}

TEST_CASE("the order is the seed's and is the same on every machine") {
  const auto order = [](i64 seed, i64 epoch) { return offsets_of_epoch(ByteBatches(text(9), {.length = 1, .seed = seed}), epoch); };
  CHECK(order(0, 0) == std::vector<i64>{1, 7, 4, 5, 2, 0, 3, 6});
  CHECK(order(1, 0) == std::vector<i64>{3, 7, 4, 2, 1, 0, 5, 6});
  CHECK(order(0, 1) == std::vector<i64>{4, 5, 1, 0, 2, 3, 6, 7});
}

TEST_CASE("targets are the inputs moved on by one byte") {
  const ByteBatches batches(text(1000), {.batch = 4, .length = 33, .seed = 1});
  for (i64 step = 0; step < batches.steps_per_epoch(); ++step) {
    const Position position{2, step};
    const std::vector<i64> offsets = batches.offsets(position);
    const Batch batch = batches.make(position);
    CHECK(batch.position == position);
    const i64 rows = static_cast<i64>(offsets.size());
    REQUIRE(batch.inputs.shape() == Shape{rows, 33});
    REQUIRE(batch.targets.shape() == Shape{rows, 33});
    i64 wrong = 0;
    for (i64 row = 0; row < rows; ++row) {
      for (i64 i = 0; i < 33; ++i) {
        const i64 at = offsets[static_cast<std::size_t>(row)] + i;
        wrong += batch.inputs.data_as<i64>()[row * 33 + i] != at * 7 % 251 ? 1 : 0;
        wrong += batch.targets.data_as<i64>()[row * 33 + i] != (at + 1) * 7 % 251 ? 1 : 0;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the last batch has the rest or is dropped") {
  const ByteBatches kept(text(101), {.batch = 4, .length = 10});
  CHECK(kept.steps_per_epoch() == 3);
  CHECK(kept.make({0, 2}).inputs.shape() == Shape{2, 10});
  const ByteBatches dropped(text(101), {.batch = 4, .length = 10, .drop_last = true});
  CHECK(dropped.steps_per_epoch() == 2);
  CHECK(dropped.make({5, 1}).inputs.shape() == Shape{4, 10});
  CHECK_THROWS_WITH_AS(dropped.offsets({0, 2}),
                       "byte_batches: there is no batch at epoch 0, step 2; an epoch has 2 steps, both count from 0", ArgumentError);
}

TEST_CASE("without shuffling the order is that of the text") {
  const ByteBatches batches(text(42), {.batch = 3, .length = 10, .shuffle = false});
  CHECK(offsets_of_epoch(batches, 0) == std::vector<i64>{0, 10, 20, 30});
  CHECK(offsets_of_epoch(batches, 9) == std::vector<i64>{0, 10, 20, 30});
}

TEST_CASE("texts that are too short and options that make no batch are refused") {
  CHECK(ByteBatches(text(11), {.length = 10}).slots() == 1);
  const ByteFile ten = text(10);
  CHECK_THROWS_WITH_AS(ByteBatches(ten, {.length = 10}),
                       cat("byte_batches: the text is too short: 10 bytes for sequences of 10: ", ten.path(),
                           "; one more byte than a sequence has is needed")
                           .c_str(),
                       ArgumentError);
  CHECK_THROWS_AS(ByteBatches(text(1), {.length = 1}), ArgumentError);
  CHECK_THROWS_AS(ByteBatches(ten, {.length = i64{1} << 62}), ArgumentError);
  CHECK_THROWS_WITH_AS(ByteBatches(ten, {.batch = 0, .length = 1}), doctest::Contains("both must be >= 1"), ArgumentError);
  CHECK_THROWS_WITH_AS(ByteBatches(ten, {.batch = 1, .length = 0}), doctest::Contains("both must be >= 1"), ArgumentError);
  CHECK_THROWS_WITH_AS(ByteBatches(ten, {.batch = 10, .length = 1, .drop_last = true}), doctest::Contains("no batch is full"),
                       ArgumentError);
  const ByteBatches huge(ten, {.batch = i64{1} << 62, .length = 1});
  CHECK(huge.make({0, 0}).inputs.shape() == Shape{9, 1});
  for (const Position position : {Position{-1, 0}, Position{0, -1}, Position{0, 1}}) CHECK_THROWS_AS(huge.make(position), ArgumentError);
}

TEST_CASE("positions follow each other over the ends of epochs") {
  CHECK(following({0, 0}, 2) == Position{0, 1});
  CHECK(following({0, 1}, 2) == Position{1, 0});
  CHECK(following({3, 0}, 1) == Position{4, 0});
}

}  // namespace
}  // namespace resilin::data
