// tests/dist/group/scenario_test.cpp -- ranks that are killed at each moment of the protocol, and at once, and one after the other.
#include "tests/dist/group/scenario.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include <signal.h>

#include <doctest/doctest.h>

#include "resilin/base/reflect.h"
#include "resilin/base/text.h"

namespace resilin::dist::test {
namespace {

constexpr int kMoments = static_cast<int>(enum_names(static_cast<Moment*>(nullptr)).size());

struct Cell {
  Moment moment = Moment::None;
  int rank = 0;
};

/// Every moment for every rank, in an order that mixes old members and joiners.
std::vector<Cell> all_cells(std::uint64_t seed) {
  std::vector<Cell> cells;
  for (int moment = 1; moment < kMoments; ++moment) {
    for (int rank = 0; rank < 3; ++rank) cells.push_back({static_cast<Moment>(moment), rank});
  }
  std::mt19937_64 random(seed);
  std::ranges::shuffle(cells, random);
  return cells;
}

/// The one that waits to join has no old mesh to close.
void put_possible_first(std::vector<Cell>& cells, int joiner) {
  const auto is_possible = [&](const Cell& cell) { return cell.moment != Moment::Install || cell.rank != joiner; };
  std::iter_swap(cells.begin(), std::ranges::find_if(cells, is_possible));
}

std::vector<int> others_of(int rank) {
  std::vector<int> others;
  for (int other = 0; other < 3; ++other) {
    if (other != rank) others.push_back(other);
  }
  return others;
}

TEST_CASE("real processes: a kill at every moment of a reconfiguration, of every rank, leaves right sums") {
  std::vector<Cell> cells = all_cells(3);
  // Two more, which cannot come: see put_possible_first.
  Scenario job(3, {cat("--max-restarts=", cells.size() + 2)});
  job.must_sum_as_one({0, 1, 2}, 20'000);
  job.signal(0, SIGKILL);
  int joiner = 0;
  job.must_sum_as_one({1, 2});
  double longest_ms = 0;
  while (!cells.empty()) {
    put_possible_first(cells, joiner);
    const Cell cell = cells.front();
    cells.erase(cells.begin());
    CAPTURE(resilin::enum_name(cell.moment));
    CAPTURE(cell.rank);
    CAPTURE(joiner);
    const std::uint64_t before = job.board().struck;
    job.board().arm(cell.moment, cell.rank);
    job.board().passes = 1;
    const bool struck = comes_true_ms([&] { return job.board().struck > before; });
    CAPTURE(job.log());
    REQUIRE(struck);
    const double began_ms = now_ms();
    job.must_sum_as_one(others_of(cell.rank));
    longest_ms = std::max(longest_ms, now_ms() - began_ms);
    joiner = cell.rank;
  }
  CHECK(job.board().wrong == 0);
  CHECK(job.end() == 0);
  std::printf("a kill at each of %d moments of 3 ranks: right sums again after at most %.0f ms\n", kMoments - 1, longest_ms);
}

TEST_CASE("real processes: a kill while the first generation is made leaves right sums") {
  int rank = 0;
  for (const Moment moment : {Moment::Prepare, Moment::HelloLast, Moment::Promised, Moment::Decided, Moment::TellLast, Moment::FirstSend}) {
    CAPTURE(resilin::enum_name(moment));
    Scenario job(3, {"--max-restarts=1"}, [&](Board& board) {
      board.arm(moment, rank);
      board.passes = 1;
    });
    const bool struck = comes_true_ms([&] { return job.board().struck == 1; });
    CAPTURE(job.log());
    REQUIRE(struck);
    job.must_sum_as_one({0, 1, 2});
    CHECK(job.board().wrong == 0);
    CHECK(job.end() == 0);
    rank = (rank + 1) % 3;
  }
}

TEST_CASE("real processes: two kills at once, and a kill during the recovery of another") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    Scenario job(6, {"--policy=shrink"});
    job.must_sum_as_one({0, 1, 2, 3, 4, 5}, 20'000);
    job.signal(1, SIGKILL);
    job.signal(4, SIGKILL);
    job.must_sum_as_one({0, 2, 3, 5});
    job.signal(0, SIGKILL);
    usleep(static_cast<useconds_t>(random() % 50'000));
    job.signal(3, SIGKILL);
    job.must_sum_as_one({2, 5});
    CHECK(job.board().wrong == 0);
    CHECK(job.end() == 0);
  }
}

TEST_CASE("real processes: kills one after the other, each right after the recovery from the last, down to one rank") {
  Scenario job(5, {"--policy=shrink"});
  std::vector<int> left = {0, 1, 2, 3, 4};
  job.must_sum_as_one(left, 20'000);
  while (left.size() > 1) {
    job.signal(left.front(), SIGKILL);
    left.erase(left.begin());
    CAPTURE(left.size());
    job.must_sum_as_one(left);
  }
  CHECK(job.board().wrong == 0);
  CHECK(job.end() == 0);
}

}  // namespace
}  // namespace resilin::dist::test
