// tests/dist/group/scenario.h -- Internal: a job of real processes that sum, and what its test does to them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/dist/group/board.h"
#include "tests/support/launcher.h"
#include "tests/support/slowness.h"

namespace resilin::dist::test {

/// Waits for the condition; false when it did not come true in time.
template <class Condition>
bool comes_true_ms(Condition condition, int within_ms = 10'000) {
  for (int i = 0; i < within_ms * testing::kSlowness && !condition(); ++i) usleep(1000);
  return condition();
}

/// Starts ranks that follow the lineage of their job and sum until the board says that it is over.
class Scenario {
 public:
  /// `prepare` writes on the board before the ranks begin. `program` is the test case that each rank runs.
  Scenario(int ranks, std::vector<std::string> flags, const std::function<void(Board&)>& prepare = nullptr,
           const std::string& program = "a rank of a scenario");

  Board& board() const { return *board_; }
  const std::string& folder() const { return out_.path(); }
  std::string log() const { return launcher_.log(); }

  /// Waits until the listed launch ranks are the members of one generation and each has two more right sums in it; else the test ends with the log.
  void must_sum_as_one(const std::vector<int>& ranks, int within_ms = 10'000) const;
  std::uint64_t generation(int rank) const { return seat(rank).generation; }
  void signal(int rank, int number) const;
  /// Tells all ranks that it is over; the exit code of the launcher.
  int end();

 private:
  const Seat& seat(int rank) const { return board_->seats[static_cast<std::size_t>(rank)]; }

  const testing::TemporaryFolder out_;
  const MappedBoard board_;
  launch::Launcher launcher_;
};

/// Of the clock that does not jump.
double now_ms();
/// The state letter of a process in /proc, '-' when it is gone.
char process_state(std::uint64_t process);

}  // namespace resilin::dist::test
