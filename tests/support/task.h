// tests/support/task.h -- Internal: a small training task with every kind of state, whose arithmetic is exact for any number of ranks.
#pragma once

#include <string>
#include <vector>

#include "resilin/parallel/elastic.h"

namespace resilin::parallel::testing {

inline constexpr i64 kSlots = 8;
inline constexpr i64 kSlotSamples = 2;
inline constexpr i64 kBatch = kSlots * kSlotSamples;
inline constexpr i64 kSamples = 100;                   // of the data
inline constexpr i64 kEpochSteps = kSamples / kBatch;  // an epoch leaves out what is not enough for a step

/// Gradients are small integers, sums are exact: the state after a step is the same bits however many ranks took it, and shows every step that was lost,
/// repeated or applied with other random numbers.
class Task {
 public:
  explicit Task(i64 features = 64);

  ElasticOptions options(i64 seed = 3) const;
  const std::vector<Tensor>& parameters() const { return parameters_; }
  StepState& state() { return state_; }

  /// Forward and backward of one slot; adds to the running statistics' delta.
  SlotResult run_slot(const Slot& slot);
  void apply(const Applied& applied);

  /// The whole state in one number.
  std::uint64_t digest() const { return state_.digest(); }
  const Tensor& average() const { return average_; }
  i64 samples_seen() const { return samples_seen_; }

 private:
  Tensor weight_, bias_;            // parameters
  Tensor momentum_, average_;       // of an optimizer, and an exponential one
  Tensor running_, running_delta_;  // statistics that forward passes change
  i64 samples_seen_ = 0;            // a cursor
  double scale_ = 1024;             // of a scaler
  i64 stage_ = 0;                   // of a schedule
  std::string note_ = "begin";      // a user's
  std::vector<Tensor> parameters_;
  StepState state_;
};

/// The task on one rank, without any fault.
class Undisturbed {
 public:
  explicit Undisturbed(i64 features = 64);
  void step();
  i64 steps() const { return steps_; }
  std::uint64_t digest() const { return task_.digest(); }

 private:
  Task task_;
  ElasticOptions options_;
  i64 steps_ = 0;
};

/// Its digest after so many steps.
std::uint64_t undisturbed(i64 steps, i64 features = 64);

}  // namespace resilin::parallel::testing
