// tools/resilin/train_model.cpp -- model, optimizer, data and schedule of `resilin train`.
#include "tools/resilin/train_model.h"

#include <algorithm>
#include <chrono>

#include "resilin/resilin.h"

#include "tools/resilin/text_task.h"

namespace resilin::tool {
namespace {

// Between these steps of a run its speed is measured, to make it fit into its budget.
constexpr i64 kMeasureFrom = 10, kMeasureTo = 30;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

nn::GPT seeded_model(const TrainConfig& config) {
  default_generator().manual_seed(config.train.seed);
  return nn::GPT({.vocab_size = kByteClasses,
                  .block_size = config.model.length,
                  .n_layer = config.model.layers,
                  .n_head = config.model.heads,
                  .n_embd = config.model.width,
                  .dropout = config.model.dropout});
}

}  // namespace

TrainModel::TrainModel(const TrainConfig& config)
    : config_(config),
      file_(config.data.text),
      split_(data::split(file_, config.data.held_out)),
      model_(seeded_model(config)),
      parameters_(nn::parameters(model_)),
      optimizer_(
          parameters_,
          {.lr = config.train.lr, .beta1 = config.train.beta1, .beta2 = config.train.beta2, .weight_decay = config.train.weight_decay}),
      batches_(split_.train,
               {.batch = config.train.slot_batch, .length = config.model.length, .seed = config.train.seed, .drop_last = true}),
      steps_(config.train.steps),
      clock_delta_(zeros({1}, DType::F64)),
      begin_s_(now_s()) {
  if (batches_.steps_per_epoch() < config.train.slots) {
    throw ArgumentError(cat("train: ", config.data.text, " has ", batches_.slots(), " sequences of ", config.model.length,
                            " bytes to learn from; a step takes ", batch(), ": train.slots x train.slot_batch"));
  }
  state_.add_model(model_);
  state_.add_optimizer(optimizer_);
  state_.add({"steps", [this] { return parallel::StepState::bytes_of_numbers({steps_}); },
              [this](std::string_view bytes) { steps_ = parallel::StepState::numbers_of_bytes(bytes).at(0); }});
  state_.add({"measured", [this] { return std::string(reinterpret_cast<const char*>(&measured_s_), sizeof measured_s_); },
              [this](std::string_view bytes) {
                std::copy_n(bytes.data(), std::min(bytes.size(), sizeof measured_s_), reinterpret_cast<char*>(&measured_s_));
              }});
}

void TrainModel::restore(const Checkpoint& checkpoint) {
  state_.restore(checkpoint);
  if (config_.train.budget_s == 0) steps_ = config_.train.steps;
}

i64 TrainModel::parameter_count() const {
  i64 count = 0;
  for (const Tensor& x : parameters_) count += x.numel().value();
  return count;
}

data::Position TrainModel::position_of(const parallel::Slot& slot) const {
  const i64 steps = batches_.steps_per_epoch() / slot.slots;  // of an epoch
  return {slot.step / steps, slot.step % steps * slot.slots + slot.slot};
}

parallel::SlotResult TrainModel::run_slot(const parallel::Slot& slot, parallel::Goodput& goodput) {
  const data::Position position = position_of(slot);
  parallel::SlotResult result{.epoch = position.epoch};
  const data::Batch batch = [&] {
    const parallel::Goodput::Scope scope(goodput, parallel::Spent::Data);
    for (const i64 offset : batches_.offsets(position)) result.ids.push_back(offset / config_.model.length);
    return batches_.make(position);
  }();
  const Tensor loss = slot_loss(model_, batch);
  backward(loss);
  result.loss = loss.item<double>();
  result.samples = static_cast<i64>(result.ids.size());
  static_cast<double*>(clock_delta_.data())[0] += (now_s() - begin_s_) / static_cast<double>(slot.slots);
  return result;
}

void TrainModel::warm_up() {
  const parallel::KeptGenerator generator;
  backward(slot_loss(model_, batches_.make({0, 0})));
  for (const Tensor& x : parameters_) clear_grad(x);
}

void TrainModel::apply(const parallel::Applied& applied) {
  optimizer_.set_lr(rate(applied.step));
  if (config_.train.clip > 0) optim::clip_grad_norm_(parameters_, config_.train.clip);
  optimizer_.step();
  fit_to_budget(applied);
}

/// By the mean of the ranks' clocks, which all of them know alike.
void TrainModel::fit_to_budget(const parallel::Applied& applied) {
  const double clock_s = static_cast<const double*>(clock_delta_.data())[0];
  if (applied.step == kMeasureFrom) measured_s_ = clock_s;
  if (config_.train.budget_s == 0 || applied.step != kMeasureTo) return;
  const double each_s = (clock_s - measured_s_) / static_cast<double>(kMeasureTo - kMeasureFrom);
  const double left_s = config_.train.budget_s - clock_s;
  const i64 affordable = kMeasureTo + static_cast<i64>(std::max(0.0, left_s) / std::max(each_s, 1e-6));
  steps_ = std::clamp<i64>(affordable, 2 * kMeasureTo, steps_);
}

double TrainModel::rate(i64 step) const {
  const optim::WarmupCosine schedule{
      .peak = config_.train.lr, .floor = config_.train.min_lr, .warmup = std::min(config_.train.warmup, steps_ / 10 + 1), .total = steps_};
  return schedule(step);
}

double TrainModel::held_out_loss() { return tool::held_out_loss(model_, split_.held_out, config_.model.length); }
double TrainModel::bigram_entropy() const { return tool::bigram_entropy(file_.bytes()); }
std::string TrainModel::sample(i64 count) { return tool::sample(model_, "And the LORD said unto ", count); }

}  // namespace resilin::tool
