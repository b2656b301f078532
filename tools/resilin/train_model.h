// tools/resilin/train_model.h -- what `resilin train` trains: model, optimizer, data and schedule as one state.
#pragma once

#include <string>
#include <vector>

#include "resilin/data/byte_batches.h"
#include "resilin/nn/gpt.h"
#include "resilin/optim/optimizer.h"
#include "resilin/parallel/elastic.h"

#include "tools/resilin/train_config.h"

namespace resilin::tool {

/// The text task as slots of a step: which sequences a slot has is a function of seed, step and slot. All that changes is in `state()`.
class TrainModel {
 public:
  explicit TrainModel(const TrainConfig& config);

  parallel::StepState& state() { return state_; }
  /// The state of a checkpoint. How many steps the run has is the configuration's to say, but where a budget has said it.
  void restore(const Checkpoint& checkpoint);
  const std::vector<Tensor>& parameters() const { return parameters_; }
  /// For ElasticOptions: how far the clocks of the ranks are, summed over the slots.
  const Tensor& clock_delta() const { return clock_delta_; }

  parallel::SlotResult run_slot(const parallel::Slot& slot, parallel::Goodput& goodput);
  void apply(const parallel::Applied& applied);
  /// Forward and backward of a slot that counts for nothing: its kernels are there when the first one comes that counts.
  void warm_up();

  i64 steps() const { return steps_; }  // of the whole run; fewer once the budget is known to be short
  i64 batch() const { return config_.train.slots * config_.train.slot_batch; }
  i64 tokens_per_step() const { return batch() * config_.model.length; }
  i64 samples_per_epoch() const { return batches_.slots(); }
  i64 parameter_count() const;

  double held_out_loss();
  double bigram_entropy() const;
  std::string sample(i64 count);

 private:
  data::Position position_of(const parallel::Slot& slot) const;
  void fit_to_budget(const parallel::Applied& applied);
  double rate(i64 step) const;

  const TrainConfig config_;
  data::ByteFile file_;
  data::Split split_;
  nn::GPT model_;
  std::vector<Tensor> parameters_;
  optim::AdamW optimizer_;
  data::ByteBatches batches_;  // a batch is a slot
  i64 steps_;
  double measured_s_ = 0;  // the ranks' mean clock when the budget was begun to be measured
  Tensor clock_delta_;     // f64 [1]
  double begin_s_;
  parallel::StepState state_;
};

}  // namespace resilin::tool
