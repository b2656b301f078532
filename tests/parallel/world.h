// tests/parallel/world.h -- Internal: ranks that train as threads of this process, over a fabric that can break, with the job's Coordinator beside them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "resilin/dist/membership/coordinator_driver.h"
#include "resilin/dist/transport/fake.h"
#include "resilin/parallel/elastic.h"

#include "tests/support/task.h"

namespace resilin::parallel::testing {

/// Where a rank can be struck: in the thread that trains, so the moment is exact.
enum class Place { BeforeSlot, BeforeSums, BeforeLastSum, BeforeVote, AfterVoteIsOut, InApply };

struct Trained {
  std::vector<StepReport> reports;
  std::vector<TrainingEvent> events;
  std::uint64_t digest = 0;
  i64 steps = 0;
  std::string error;  // what ended it, when it did not end in good order
};

class World {
 public:
  explicit World(int first_size, i64 steps, i64 features = 64);
  ~World();

  /// One more rank; its number.
  int start();
  /// As SIGKILL to the rank: nothing comes from it any more, and its agent says so.
  void kill(int rank);
  /// Its agent says that it is dead, which it is not.
  void suspect(int rank);
  /// Messages between two ranks vanish.
  void cut(int rank, int other) { fabric_.cut(rank, other); }

  /// Called in each rank's thread at each place of each step; what it throws ends the rank as a crash would.
  std::function<void(World&, int rank, i64 step, Place place)> at = nullptr;
  /// After a committed step.
  std::function<void(World&, int rank, const StepReport& report)> at_step = nullptr;
  std::function<void(int rank, ElasticOptions& options)> change = nullptr;
  /// Ranks `finish` with these when they have taken all steps; else they leave.
  std::function<void(World&, int rank)> last_words = nullptr;
  std::chrono::milliseconds attempt_timeout{10'000};  // of a change of members
  dist::TransportMaker transport = nullptr;           // of all ranks, in place of the fabric
  bool shares_memory = true;
  /// Before a rank begins.
  std::function<void(int rank, Task& task, ElasticOptions& options)> prepare = nullptr;

  /// Waits until the rank has ended.
  const Trained& wait(int rank);
  /// Of a running one.
  i64 steps_of(int rank) const;
  /// How often it has begun this step.
  int tries_of(int rank, i64 step) const;
  Task& task(int rank) { return *ranks_[static_cast<std::size_t>(rank)]->task; }
  Elastic& elastic(int rank) { return *ranks_[static_cast<std::size_t>(rank)]->elastic; }
  const std::shared_ptr<dist::Store>& store() const { return store_; }

 private:
  struct Rank {
    int number = 0;
    std::atomic<bool> killed{false};
    std::atomic<i64> steps{0};
    std::array<std::atomic<int>, 1000> tries{};  // by step
    std::atomic<std::uint64_t> instance{0};
    std::unique_ptr<Task> task;
    std::unique_ptr<Elastic> elastic;
    Trained trained;
    std::thread thread;
  };
  void run(Rank& rank);
  void train(Rank& rank);

  const i64 steps_, features_;
  dist::FakeFabric fabric_;
  std::shared_ptr<dist::Store> store_;
  std::mutex mutex_;  // guards dead_
  std::vector<std::uint64_t> dead_, left_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  dist::CoordinatorDriver coordinator_;
};

}  // namespace resilin::parallel::testing
