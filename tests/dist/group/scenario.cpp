// tests/dist/group/scenario.cpp -- ranks that sum, as the board of their job tells them.
#include "tests/dist/group/scenario.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "resilin/base/config.h"
#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/agent/heartbeat.h"
#include "resilin/dist/group/init.h"
#include "resilin/dist/group/process_group.h"
#include "resilin/dist/launch/job_store.h"
#include "resilin/dist/launch/rank_info.h"
#include "resilin/dist/transport/ucx.h"

#include "tests/dist/group/fated.h"

namespace resilin::dist::test {
namespace {

using std::chrono::milliseconds;

constexpr i64 kElements = 96;

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += entry.exists() ? 1 : 0;
  return count;
}

/// A rank that sums until it is over, or until it is no member any more.
class Member {
 public:
  Member(Board& board, const RankInfo& info, ProcessGroup group, std::shared_ptr<Heartbeat> beat)
      : board_(board), seat_(board.seats[static_cast<std::size_t>(info.rank)]), group_(std::move(group)), beat_(std::move(beat)) {
    seat_.process = static_cast<std::uint64_t>(getpid());
  }

  void run() {
    try {
      while (!ended_ && !board_.over) {
        generation_ = group_.await_generation(generation_, milliseconds(60'000)).generation;
        sum_while_it_lasts();
      }
    } catch (const EvictedError&) {
      stay_out();
    }
    group_.destroy();
  }

 private:
  void sum_while_it_lasts() {
    try {
      for (std::uint64_t number = 0; !ended_; ++number) {
        obey();
        sum(number);
        if (beat_ != nullptr) beat_->report(static_cast<i64>(number), number);
        usleep(static_cast<useconds_t>(200 + 1000 * seat_.pause_ms));
      }
    } catch (const EvictedError&) {
      throw;
    } catch (const DistError&) {
      // The next generation is whoever is left.
    }
  }

  void obey() {
    const std::uint64_t order = seat_.order.exchange(0);
    if (order == kLeaveAndStop) {
      beat_->leave();  // the agent does not kill it
      raise(SIGSTOP);
    } else if (order >= kSpareDescriptors) {
      rlimit limit{};
      getrlimit(RLIMIT_NOFILE, &limit);
      limit.rlim_cur = open_descriptors() + order - kSpareDescriptors;
      setrlimit(RLIMIT_NOFILE, &limit);
    }
  }

  /// Whether a sum is right every member can tell from the size and the number. The last element counts those who have seen that it is over, so
  /// that all end with the same sum.
  void sum(std::uint64_t number) {
    const Tensor x = Tensor::allocate(Shape{kElements + 1}, DType::F32);
    float* const data = static_cast<float*>(x.data());
    const std::uint64_t rank = static_cast<std::uint64_t>(group_.rank()), size = static_cast<std::uint64_t>(group_.size());
    const auto own = [&](i64 i) { return (static_cast<std::uint64_t>(i) + number) % 100; };
    for (i64 i = 0; i < kElements; ++i) data[i] = static_cast<float>(own(i) + rank);
    data[kElements] = board_.over ? 1.0F : 0.0F;
    group_.all_reduce(x, ReduceOp::Sum, milliseconds(30'000)).wait();
    for (i64 i = 0; i < kElements; ++i) {
      if (data[i] == static_cast<float>(size * own(i) + size * (size - 1) / 2)) continue;
      ++board_.wrong;
      throw CancelledError("a sum is wrong");
    }
    ended_ = data[kElements] > 0;
    seat_.size = size;
    seat_.generation = generation_;
    ++seat_.sums;
  }

  /// Whatever it tries, it must not sum any more.
  void stay_out() {
    for (int i = 0; i < 50; ++i) {
      try {
        const Tensor x = Tensor::allocate(Shape{1}, DType::F32);
        group_.all_reduce(x).wait();
        ++board_.wrong;
      } catch (const EvictedError&) {}
      usleep(2000);
    }
    ++seat_.evicted;
  }

  Board& board_;
  Seat& seat_;
  ProcessGroup group_;
  const std::shared_ptr<Heartbeat> beat_;
  std::uint64_t generation_ = 0;
  bool ended_ = false;
};

/// Later lives wait until the test lets them begin; false when it is over before.
bool take_pass(Board& board) {
  while (!board.over) {
    std::uint64_t passes = board.passes;
    if (passes > 0 && board.passes.compare_exchange_strong(passes, passes - 1)) return true;
    usleep(500);
  }
  return false;
}

/// As init_process_group makes it, with a transport and a store that know of fates.
ProcessGroup fated_group(Board& board, const RankInfo& info, const std::shared_ptr<Heartbeat>& beat) {
  const int rank = static_cast<int>(info.rank);
  GroupOptions options;
  options.store = fated_store(connect_job_store(info, milliseconds(3000)), board, rank);
  options.transport = fated_transport(ucx_transport({.interface = config::text("dist.interface")}), board, rank);
  options.membership = Membership::Lineage;
  options.instance = info.instance;
  options.launch_rank = info.rank;
  options.heartbeat = beat;
  return ProcessGroup(std::move(options));
}

}  // namespace

Scenario::Scenario(int ranks, std::vector<std::string> flags, const std::function<void(Board&)>& prepare, const std::string& program)
    : board_(out_.path()), launcher_(out_, [&] {
        if (prepare) prepare(*board_);
        flags.insert(flags.begin(), {"--standalone", cat("--nproc-per-node=", ranks)});
        return launch::with_test_case(std::move(flags), "scenario", program);
      }()) {}

void Scenario::must_sum_as_one(const std::vector<int>& ranks, int within_ms) const {
  std::vector<std::uint64_t> before;
  for (const int rank : ranks) before.push_back(seat(rank).sums);
  const bool came_true = comes_true_ms(
      [&] {
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          const Seat& one = seat(ranks[i]);
          if (one.sums < before[i] + 2 || one.size != ranks.size() || one.generation != generation(ranks[0])) return false;
        }
        return true;
      },
      within_ms);
  CAPTURE(log());
  CAPTURE(ranks.size());
  REQUIRE(came_true);
}

void Scenario::signal(int rank, int number) const {
  const pid_t process = static_cast<pid_t>(seat(rank).process.load());
  REQUIRE(process > 1);
  REQUIRE(kill(process, number) == 0);
}

int Scenario::end() {
  board_->over = 1;
  return launcher_.wait();
}

double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

char process_state(std::uint64_t process) {
  std::ifstream stat(cat("/proc/", process, "/stat"));
  std::string text;
  std::getline(stat, text);
  const std::size_t end = text.rfind(") ");
  return end == std::string::npos ? '-' : text[end + 2];
}

// What follows runs in ranks.

/// Lives as long as the process: threads of the group may pass moments until its very end.
Board& board_of_rank() {
  static MappedBoard* const board = new MappedBoard(std::getenv("OUT"));
  return **board;
}

TEST_CASE("a rank of a scenario" * doctest::skip()) {
  alarm(120);
  const std::optional<RankInfo> info = rank_info();
  REQUIRE(info.has_value());
  Board& board = board_of_rank();
  if (info->restart_count > 0 && !take_pass(board)) return;
  const std::shared_ptr<Heartbeat> beat = std::make_shared<Heartbeat>(*info);
  Member(board, *info, fated_group(board, *info, beat), beat).run();
}

TEST_CASE("a rank of a scenario that records" * doctest::skip()) {
  alarm(120);
  const std::optional<RankInfo> info = rank_info();
  REQUIRE(info.has_value());
  Board& board = board_of_rank();
  config::set("recorder.dir", cat(std::getenv("OUT"), "/recordings"));
  Member(board, *info, init_process_group({.membership = Membership::Lineage}), nullptr).run();
}

}  // namespace resilin::dist::test
