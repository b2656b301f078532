// src/resilin/parallel/elastic.h -- Elastic: data-parallel training that goes on when ranks die, come back and leave.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/dist/group/process_group.h"
#include "resilin/parallel/goodput.h"
#include "resilin/parallel/ledger.h"
#include "resilin/parallel/step_state.h"
#include "resilin/tensor/tensor.h"

namespace resilin::parallel {

/// One of the fixed parts of a step.
struct Slot {
  i64 step = 0;
  i64 slot = 0;
  i64 slots = 1;
};
/// What a slot's forward and backward gave. The gradients are those of the sum over its samples.
struct SlotResult {
  double loss = 0;  // the sum over the samples
  i64 samples = 0;
  i64 epoch = 0;              // the same for all slots of a step
  std::vector<i64> ids = {};  // of the samples, for the ledger
};
/// What all ranks apply: the gradients of the parameters are the mean over the samples of all ranks.
struct Applied {
  i64 step = 0;
  double loss = 0;  // mean
  i64 samples = 0;
};
/// A committed step.
struct StepReport {
  i64 step = 0;
  double loss = 0;
  i64 samples = 0;
  std::uint64_t generation = 0;  // whose votes committed it
  int rank = 0;
  int world = 1;
  i64 attempt = 0;
  bool healed = false;     // in this step the rank read its state from others
  bool leaves = false;     // this rank was asked to leave, and the others know: it may `leave`
  bool all_leave = false;  // so were all others: `leave_together`
  bool saves = false;      // of those that leave, this one writes the checkpoint
  double protect_s = 0;    // what votes, digests and the ledger took
  double seconds = 0;      // from the call to the commit
};

/// What happens to a rank that trains, for logs and reports.
namespace training_event {
/// This rank works in another generation.
struct Generation {
  enum class Cause : std::uint8_t { First, Shrink, Join };
  std::uint64_t generation = 0;
  int rank = 0;
  int world = 1;
  i64 step = 0;
  Cause cause = Cause::First;
  std::vector<std::int64_t> members;  // launch ranks
  double after_s = 0;                 // since the works of the last one failed
};
constexpr std::array<std::string_view, 3> enum_names(Generation::Cause*) { return {"first", "shrink", "join"}; }
/// A generation works no more.
struct Lost {
  std::uint64_t generation = 0;
  i64 step = 0;
  std::string error;
};
/// A step whose votes this rank did not see to the end was resolved by what the others saw.
struct InDoubt {
  std::uint64_t generation = 0;
  i64 step = 0;
  bool committed = false;
};
/// This rank has read the state of others.
struct Healed {
  std::uint64_t generation = 0;
  i64 step = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
};
}  // namespace training_event
using TrainingEvent = std::variant<training_event::Generation, training_event::Lost, training_event::InDoubt, training_event::Healed>;

struct ElasticOptions {
  i64 slots = 1;       // of a step: fixed, whatever the number of ranks
  i64 seed = 0;        // of the random numbers of slots
  i64 first_step = 0;  // steps that the state had taken when the job began
  std::size_t first_bucket_bytes = 1 << 20, bucket_bytes = 25 << 20;
  int most_attempts = 3;                                               // of one step, before the job ends with the reasons
  std::chrono::milliseconds step_timeout = std::chrono::minutes(1);    // for the sums and votes of a step
  std::chrono::milliseconds heal_timeout = std::chrono::seconds(30);   // the same of a step in which ranks heal; slower ones are ended
  std::chrono::milliseconds change_timeout = std::chrono::minutes(2);  // for the next generation
  std::chrono::milliseconds hold = std::chrono::seconds(5);            // see ChangeRules
  int min_world = 1;                                                   // fewer ranks wait for others
  i64 digest_every = 16;                                               // steps whose digests have covered the whole state; 0: no digests
  bool protects = true;                                                // false: no votes, digests, ledger; a lost rank ends the job
  std::optional<LedgerOptions> ledger = std::nullopt;                  // none: nothing is written down
  std::vector<Tensor> deltas = {};                                     // see Elastic
  std::function<void(const TrainingEvent&)> on_event = nullptr;        // in the training thread
};

/// Trains: each `step` computes this rank's slots, sums gradients over the ranks, asks all whether they have them, and applies. A step is taken by all ranks
/// or by none, whoever dies meanwhile: members that did not see the outcome learn it from the others, or repeat the step with the same samples and random
/// numbers. Joining ranks read the state from the memory of the others while these compute.
///
/// Between two applies nobody may change the state (parameters, buffers, counters). What a forward pass wants to change, such as running statistics, it adds
/// to a tensor of `deltas`: these begin each attempt as zeros, are summed over ranks with the gradients, and `apply` reads them. Random ops of a slot depend on
/// (seed, step, slot) alone. The learning rate should be a function of `Applied::step`.
///
/// Errors   EvictedError when the others have gone on without this rank, StoreError when the job's store is gone (exit with 75): end the process, a new life of
///          it joins and heals. StepFailedError when a step failed on its own too often. DivergedError when this rank's state is not that of the majority.
/// Threads  one; `request_leave` from any, also from a signal handler
class RESILIN_API Elastic {
 public:
  using SlotFunction = std::function<SlotResult(const Slot&)>;
  using ApplyFunction = std::function<void(const Applied&)>;

  /// Seals the state. `parameters` are those whose gradients are summed.
  Elastic(StepState& state, const std::vector<Tensor>& parameters, ElasticOptions options);
  ~Elastic();
  Elastic(const Elastic&) = delete;
  Elastic& operator=(const Elastic&) = delete;

  /// For InitOptions::changes: the group must be made with these.
  dist::ChangeRules changes();
  /// Takes a group of a lineage that was made with `changes`.
  void join(dist::ProcessGroup group);

  /// Takes the next step, and comes back when it is committed and applied here.
  StepReport step(const SlotFunction& run_slot, const ApplyFunction& apply);
  /// A rank that has joined reads the state of the others, and comes back before its first step; ranks that have it come back at once. `step` does that too,
  /// but not in a job that has no more steps.
  void heal();
  /// The number of the next step; of a joining rank that is not healed yet, what it was told.
  i64 next_step() const;
  bool is_healed() const;

  /// After the next committed step this rank leaves: the report says so.
  void request_leave() noexcept { leave_asked_.store(true, std::memory_order_relaxed); }
  /// Leaves in good order, while others train on.
  void leave();
  /// After the last step, on all ranks: `last_words` run on the one that is first, the others wait for it. When it dies meanwhile the next one says them, and
  /// who joins is given the state and is one of those that wait. Comes back when all are done, and has left.
  void finish(const std::function<void()>& last_words);
  /// The same for ranks that were all asked to leave (StepReport::all_leave) before the last step: who joins now is left to its agent.
  void leave_together(const std::function<void()>& last_words);
  /// Writes a checkpoint of the state, when this rank's generation is still the newest one; else, and when the folder has a later one, nothing is written and
  /// StaleError says why.
  void save(const std::string& folder, i64 keep = 3);

  /// For measurements: whether the steps that follow are protected, as ElasticOptions::protects is for all. All ranks say the same before the same step.
  void set_protects(bool protects);

  Goodput& goodput();
  dist::ProcessGroup& group();

 private:
  class Body;
  std::unique_ptr<Body> body_;
  std::atomic<bool> leave_asked_{false};
};

}  // namespace resilin::parallel
