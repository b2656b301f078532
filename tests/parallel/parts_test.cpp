// tests/parallel/parts_test.cpp -- the parts of elastic training by themselves: slots, digests, ballots, the account of time, the ledger's lines, the state.
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/ops/random/uniform.h"
#include "resilin/parallel/ballot.h"
#include "resilin/parallel/digest.h"
#include "resilin/parallel/goodput.h"
#include "resilin/parallel/ledger.h"
#include "resilin/parallel/slots.h"

#include "tests/support/task.h"
#include "tests/support/temporary_folder.h"

namespace resilin::parallel {
namespace {

TEST_CASE("slots are divided evenly, in order, and none is left out") {
  for (const i64 slots : {0, 1, 7, 12, 100}) {
    for (const i64 workers : {1, 3, 4, 8}) {
      i64 next = 0;
      for (i64 w = 0; w < workers; ++w) {
        const SlotRange range = slots_of(w, workers, slots);
        CHECK(range.begin == next);
        CHECK(range.end - range.begin >= slots / workers);
        CHECK(range.end - range.begin <= slots / workers + 1);
        next = range.end;
      }
      CHECK(next == slots);
    }
  }
  CHECK_THROWS_AS(slots_of(3, 3, 8), ArgumentError);
  CHECK_THROWS_AS(slots_of(-1, 3, 8), ArgumentError);
}

TEST_CASE("random numbers of a slot depend on seed, step and slot alone") {
  const auto draw = [](i64 seed, i64 step, i64 slot) {
    seed_slot(seed, step, slot);
    return rand({}).item<float>();
  };
  std::set<float> drawn;
  for (const i64 seed : {0, 1}) {
    for (const i64 step : {0, 1, 2}) {
      for (const i64 slot : {0, 1, 7}) drawn.insert(draw(seed, step, slot));
    }
  }
  CHECK(drawn.size() == 18);
  const float before = draw(1, 2, 3);
  draw(5, 5, 5);
  CHECK(draw(1, 2, 3) == before);
  {
    seed_slot(1, 2, 3);
    const KeptGenerator kept;
    draw(9, 9, 9);
  }
  CHECK(rand({}).item<float>() == before);
  CHECK_THROWS_AS(seed_slot(0, 0, i64{1} << 20), ArgumentError);
}

TEST_CASE("a digest changes with every bit, with the length, and with the order of blocks") {
  std::vector<std::byte> bytes(777);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 31);
  std::set<std::uint64_t> seen = {digest_of(bytes)};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= static_cast<std::byte>(1 << bit);
      CHECK(seen.insert(digest_of(bytes)).second);
      bytes[i] ^= static_cast<std::byte>(1 << bit);
    }
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) CHECK(seen.insert(digest_of(std::span(bytes).first(length))).second);
  std::vector<std::byte> zeros(256);
  const std::uint64_t of_zeros = digest_of(std::span(zeros).first(128));
  CHECK(digest_of(zeros) != of_zeros);
  std::vector<std::byte> blocks(128);
  blocks[0] = std::byte{1};
  const std::uint64_t first = digest_of(blocks);
  blocks[0] = std::byte{0};
  blocks[64] = std::byte{1};
  CHECK(digest_of(blocks) != first);
}

std::vector<Ballot> ballots_of(const std::vector<std::uint64_t>& states, const std::vector<std::uint64_t>& changes = {}) {
  std::vector<Ballot> ballots;
  for (std::size_t i = 0; i < states.size(); ++i) ballots.push_back({.state = states[i], .held_change = changes.empty() ? 0 : changes[i]});
  return ballots;
}

TEST_CASE("a majority is more than half") {
  CHECK(majority_of(ballots_of({5})).is_unanimous);
  CHECK(majority_of(ballots_of({5, 5, 6})).state == 5);
  CHECK(!majority_of(ballots_of({5, 5, 6})).is_unanimous);
  CHECK(majority_of(ballots_of({6, 5, 5})).state == 5);
  CHECK(!majority_of(ballots_of({5, 6})).exists);
  CHECK(!majority_of(ballots_of({5, 5, 6, 6})).exists);
  CHECK(!majority_of(ballots_of({5, 6, 7})).exists);
}

TEST_CASE("a change is let in only when all hold it") {
  CHECK(common_change(ballots_of({1, 1, 1}, {9, 9, 9})) == 9);
  CHECK(common_change(ballots_of({1, 1, 1}, {9, 0, 9})) == 0);
  CHECK(common_change(ballots_of({1, 1, 1}, {9, 8, 9})) == 0);
  CHECK(common_change(ballots_of({1, 1}, {0, 0})) == 0);
}

TEST_CASE("a ballot's reason is cut to its room") {
  Ballot ballot;
  ballot.set_reason(std::string(1000, 'x'));
  CHECK(ballot.reason_text() == std::string(ballot.reason.size() - 1, 'x'));
  ballot.set_reason("short");
  CHECK(ballot.reason_text() == "short");
}

TEST_CASE("every moment counts for one thing") {
  Goodput goodput;
  {
    const Goodput::Scope train(goodput, Spent::Train);
    usleep(20'000);
    {
      const Goodput::Scope data(goodput, Spent::Data);
      usleep(10'000);
    }
    usleep(5'000);
  }
  CHECK(goodput.seconds(Spent::Train) >= 0.024);
  CHECK(goodput.seconds(Spent::Data) >= 0.009);
  CHECK(goodput.seconds(Spent::Recover) == 0);
  double sum = 0;
  for (const Spent what : {Spent::Train, Spent::Data, Spent::Checkpoint, Spent::Recover, Spent::Protect, Spent::Idle})
    sum += goodput.seconds(what);
  CHECK(sum == doctest::Approx(goodput.total_seconds()).epsilon(0.01));
}

TEST_CASE("of a scope that waits, what the thread computes can count for something else") {
  Goodput goodput;
  {
    const Goodput::Scope waits(goodput, Spent::Idle);
    const Goodput::ProcessorTime protects(goodput, Spent::Protect);
    usleep(30'000);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    while (std::chrono::steady_clock::now() < end) continue;
  }
  CHECK(goodput.seconds(Spent::Protect) > 0.001);
  CHECK(goodput.seconds(Spent::Protect) < 0.025);
  CHECK(goodput.seconds(Spent::Idle) > 0.025);
}

TEST_CASE("a ledger writes what its page says") {
  const resilin::testing::TemporaryFolder folder;
  Ledger ledger({.folder = folder.path() + "/ledger",
                 .job = "a \"job\"",
                 .rank = 2,
                 .life = 1,
                 .first_step = 7,
                 .batch = 4,
                 .samples_per_epoch = 100});
  ledger.write_try({3, 7, 0}, 1, 2, 0, {5, 17});
  ledger.write_try({3, 8, 2}, 1, 2, 1, {});
  ledger.write_done({3, 7, 0}, 0xabc);
  CHECK(read_file(folder.path() + "/ledger/2.1.jsonl") ==
        "{\"ledger\":1,\"job\":\"a \\\"job\\\"\",\"rank\":2,\"life\":1,\"first_step\":7,\"batch\":4,\"samples_per_epoch\":100}\n"
        "{\"try\":\"3.7.0\",\"group_rank\":1,\"world\":2,\"epoch\":0,\"samples\":[5,17]}\n"
        "{\"try\":\"3.8.2\",\"group_rank\":1,\"world\":2,\"epoch\":1,\"samples\":[]}\n"
        "{\"done\":\"3.7.0\",\"state\":\"0000000000000abc\"}\n");
  CHECK_THROWS_AS(Ledger({.folder = "/proc/no"}), IoError);
  const LedgerOptions again{.folder = folder.path() + "/ledger", .rank = 2, .life = 1};
  CHECK_THROWS_WITH_AS(Ledger{again}, doctest::Contains("2.1.jsonl is there already"), IoError);
}

TEST_CASE("a state moves into one memory, and handles and views follow") {
  const Tensor a = Tensor::allocate(Shape{3, 4}, DType::F32), b = Tensor::allocate(Shape{5}, DType::I64);
  for (i64 i = 0; i < 12; ++i) static_cast<float*>(a.data())[i] = static_cast<float>(i);
  for (i64 i = 0; i < 5; ++i) static_cast<i64*>(b.data())[i] = i;
  const Tensor row = Tensor::view(a.storage(), DType::F32, 4, Shape{4}, Strides{1});
  StepState state;
  state.add("a", a);
  state.add("row", row);
  state.add("b", b);
  CHECK_THROWS_AS(state.add("b", b), ArgumentError);
  CHECK_THROWS_AS(state.add("c", Tensor()), ArgumentError);
  state.seal();
  CHECK_THROWS_AS(state.add("d", a), ArgumentError);
  const std::byte* const begin = state.tensor_bytes().data();
  CHECK(a.data() == static_cast<const void*>(begin));
  CHECK(row.data() == static_cast<const void*>(begin + 16));
  CHECK(static_cast<float*>(row.data())[3] == 7);
  CHECK(static_cast<i64*>(b.data())[4] == 4);
  const std::uint64_t before = state.digest();
  static_cast<float*>(row.data())[0] = 100;
  CHECK(static_cast<float*>(a.data())[4] == 100);
  CHECK(state.digest() != before);
}

TEST_CASE("a checkpoint of another task changes nothing") {
  testing::Task task, other(65);
  task.state().seal();
  const std::uint64_t before = task.digest();
  CHECK_THROWS_AS(task.state().restore(other.state().checkpoint(3)), ShapeError);
  Checkpoint lacks = task.state().checkpoint(3);
  lacks.tensors.pop_back();
  CHECK_THROWS_AS(task.state().restore(lacks), IoError);
  Checkpoint more = task.state().checkpoint(3);
  more.tensors.emplace_back("surplus", Tensor::allocate(Shape{1}, DType::F32));
  CHECK_THROWS_AS(task.state().restore(more), IoError);
  CHECK(task.digest() == before);
  CHECK_THROWS_AS(task.state().load_host_parts("no such bytes"), DistError);
}

}  // namespace
}  // namespace resilin::parallel
