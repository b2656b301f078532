// tests/support/task.cpp -- a small training task with every kind of state.
#include "tests/support/task.h"

#include "resilin/autograd/backward.h"
#include "resilin/autograd/history.h"
#include "resilin/base/text.h"
#include "resilin/dispatch/cast.h"
#include "resilin/dispatch/grad_mode.h"
#include "resilin/ops/create/fill.h"
#include "resilin/ops/pointwise/arithmetic.h"
#include "resilin/ops/pointwise/clamp.h"
#include "resilin/ops/pointwise/compare.h"
#include "resilin/ops/pointwise/select.h"
#include "resilin/ops/pointwise/unary.h"
#include "resilin/ops/random/uniform.h"
#include "resilin/ops/reduce/reduce.h"
#include "resilin/parallel/slots.h"

namespace resilin::parallel::testing {
namespace {

Tensor state_tensor(i64 features) { return zeros({features}, DType::F32); }

std::string bytes_of(double x) { return {reinterpret_cast<const char*>(&x), sizeof x}; }

}  // namespace

Task::Task(i64 features)
    : weight_(state_tensor(features)),
      bias_(state_tensor(1)),
      momentum_(state_tensor(features)),
      average_(state_tensor(features)),
      running_(state_tensor(features)),
      running_delta_(state_tensor(features)) {
  requires_grad_(weight_);
  requires_grad_(bias_);
  parameters_ = {weight_, bias_};
  state_.add("weight", weight_);
  state_.add("bias", bias_);
  state_.add("momentum", momentum_);
  state_.add("average", average_);
  state_.add("running", running_);
  state_.add(HostPart{"cursor",
                      [this] {
                        return StepState::bytes_of_numbers({samples_seen_, stage_});
                      },
                      [this](std::string_view bytes) {
                        const std::vector<i64> numbers = StepState::numbers_of_bytes(bytes);
                        samples_seen_ = numbers.at(0);
                        stage_ = numbers.at(1);
                      }});
  state_.add(HostPart{"scaler", [this] { return bytes_of(scale_); },
                      [this](std::string_view bytes) { std::copy_n(bytes.data(), sizeof scale_, reinterpret_cast<char*>(&scale_)); }});
  state_.add(HostPart{"note", [this] { return note_; }, [this](std::string_view bytes) { note_ = bytes; }});
}

ElasticOptions Task::options(i64 seed) const {
  ElasticOptions options;
  options.slots = kSlots;
  options.seed = seed;
  options.first_bucket_bytes = 64;  // so that there are several
  options.deltas = {running_delta_};
  options.step_timeout = std::chrono::seconds(20);
  options.change_timeout = std::chrono::seconds(30);
  return options;
}

SlotResult Task::run_slot(const Slot& slot) {
  SlotResult result;
  Tensor loss = zeros({}, DType::F32);
  const i64 features = weight_.numel().value();
  for (i64 s = 0; s < kSlotSamples; ++s) {
    const i64 id = slot.step % kEpochSteps * kBatch + slot.slot * kSlotSamples + s;
    const Tensor slope = [&] {
      const NoGrad no_grad;
      const Tensor kept = where(lt(rand({features}), 0.5), static_cast<double>(id % 5 + 1), 0.0);
      return add(kept, clamp(floor(weight_), -9.0, 9.0));
    }();
    loss = loss + sum(weight_ * slope) + sum(bias_) * static_cast<double>(id % 3);
    const NoGrad no_grad;
    add_(running_delta_, slope);
    result.ids.push_back(id);
  }
  backward(loss);
  result.loss = loss.item<double>();
  result.samples = kSlotSamples;
  result.epoch = slot.step / kEpochSteps;
  return result;
}

void Task::apply(const Applied& applied) {
  const double rate = stage_ == 0 ? 0.5 : 0.25;
  assign(momentum_, momentum_ * 0.5 + grad(weight_));
  sub_(weight_, momentum_ * rate);
  sub_(bias_, grad(bias_) * rate);
  assign(average_, average_ * 0.75 + weight_ * 0.25);
  assign(running_, running_ * 0.5 + running_delta_);
  samples_seen_ += applied.samples;
  stage_ = applied.step / 10 % 2;
  scale_ = scale_ > 1e6 ? 1024 : scale_ * 2;
  note_ = cat("step ", applied.step, " of ", note_.substr(0, 20));
}

Undisturbed::Undisturbed(i64 features) : task_(features), options_(task_.options()) { task_.state().seal(); }

void Undisturbed::step() {
  for (const Tensor& x : task_.parameters()) clear_grad(x);
  assign(options_.deltas[0], 0.0);
  double loss = 0;
  i64 samples = 0;
  for (i64 slot = 0; slot < kSlots; ++slot) {
    seed_slot(options_.seed, steps_, slot);
    const SlotResult result = task_.run_slot({steps_, slot, kSlots});
    loss += result.loss;
    samples += result.samples;
  }
  const NoGrad no_grad;
  for (const Tensor& x : task_.parameters()) mul_(grad(x), 1.0 / static_cast<double>(samples));
  task_.apply({steps_, loss / static_cast<double>(samples), samples});
  ++steps_;
}

std::uint64_t undisturbed(i64 steps, i64 features) {
  Undisturbed task(features);
  while (task.steps() < steps) task.step();
  return task.digest();
}

}  // namespace resilin::parallel::testing
