// tools/resilin/train.cpp -- trains a GPT on the bytes of a text: what `make demo` runs.
#include "tools/resilin/train.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <vector>

#include "resilin/resilin.h"

#include "tools/resilin/text_task.h"

namespace resilin::tool {
namespace {

constexpr i64 kMeasuredSteps = 20;  // before the number of steps is fitted to the budget
constexpr double kPeakRate = 3e-3;

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// The run: model, optimizer, batches, and what is measured.
class Run {
 public:
  explicit Run(const TrainOptions& options)
      : options_(options),
        file_(options.text),
        split_(data::split(file_, options.held_out)),
        model_(seeded({.vocab_size = kByteClasses, .block_size = options.length})),
        parameters_(nn::parameters(model_)),
        optimizer_(parameters_, {.lr = kPeakRate, .beta2 = 0.99, .weight_decay = 0.1}),
        batches_(split_.train, {.batch = options.batch, .length = options.length, .seed = 1, .drop_last = true}),
        schedule_{
            .peak = kPeakRate, .floor = kPeakRate / 10, .warmup = std::min<i64>(100, options.steps / 10 + 1), .total = options.steps} {}

  int run() {
    std::filesystem::create_directories(options_.out);
    i64 count = 0;
    for (const Tensor& x : parameters_) count += x.numel().value();
    std::printf("A GPT of %lld parameters learns %s: %lld bytes, the last %lld of them held out.\n", static_cast<long long>(count),
                options_.text.c_str(), static_cast<long long>(file_.size_bytes()), static_cast<long long>(split_.held_out.size_bytes()));
    take_steps();
    report();
    return 0;
  }

 private:
  static nn::GPTConfig seeded(const nn::GPTConfig& config) {
    default_generator().manual_seed(1);
    return config;
  }

  void take_steps() {
    const Clock::time_point start = Clock::now();
    data::Prefetch prefetch(batches_);
    double shown_s = 0;
    for (i64 step = 0; step < schedule_.total; ++step) {
      const Clock::time_point begin = Clock::now();
      const double loss = take_step(step, prefetch.next());
      step_s_.push_back(seconds_since(begin));
      losses_.push_back(loss);
      if (step + 1 == kMeasuredSteps) fit_to_budget(seconds_since(start));
      const double spent_s = seconds_since(start);
      if (spent_s - shown_s >= 1 || step + 1 == schedule_.total) show_progress(step, shown_s = spent_s);
    }
    std::printf("\n");
  }

  double take_step(i64 step, const data::Batch& batch) {
    optimizer_.set_lr(schedule_(step));
    const Tensor loss = slot_loss(model_, batch) / static_cast<double>(options_.batch);
    backward(loss);
    optim::clip_grad_norm_(parameters_, 1.0);
    optimizer_.step();
    optimizer_.zero_grad();
    return loss.item<double>();
  }

  void fit_to_budget(double spent_s) {
    const double each_s = median({step_s_.begin() + kMeasuredSteps / 2, step_s_.end()});
    const i64 affordable = kMeasuredSteps + static_cast<i64>((options_.budget_s - spent_s) / each_s);
    if (affordable >= schedule_.total) return;
    schedule_.total = std::max(affordable, 2 * kMeasuredSteps);
    schedule_.warmup = std::min(schedule_.warmup, schedule_.total / 10);
    std::printf("\n%lld steps fit into %.0f s\n", static_cast<long long>(schedule_.total), options_.budget_s);
  }

  double tokens_per_s() const { return static_cast<double>(options_.batch * options_.length) / median(step_s_); }
  double recent_loss() const {
    const std::size_t count = std::min<std::size_t>(50, losses_.size());
    double total = 0;
    for (std::size_t i = losses_.size() - count; i < losses_.size(); ++i) total += losses_[i];
    return total / static_cast<double>(count);
  }
  void show_progress(i64 step, double spent_s) const {
    const double left_s = spent_s / static_cast<double>(step + 1) * static_cast<double>(schedule_.total - step - 1);
    std::printf("\rstep %lld of %lld   loss %.3f   %.0f tokens/s   %.0f s left   ", static_cast<long long>(step + 1),
                static_cast<long long>(schedule_.total), recent_loss(), tokens_per_s(), left_s);
    std::fflush(stdout);
  }

  void report() {
    const double held_out = held_out_loss(model_, split_.held_out, options_.length);
    const double entropy = bigram_entropy(file_.bytes());
    std::printf("held-out loss %.3f nats a byte; knowing only the byte before leaves %.3f\n\n%s\n", held_out, entropy,
                sample(model_, "And the LORD said unto ", 300).c_str());
    const i64 steps = static_cast<i64>(losses_.size());
    std::string csv = "step,loss\n";
    for (i64 s = 0; s < steps; ++s) csv += cat(s, ",", losses_[static_cast<std::size_t>(s)], "\n");
    write_file("loss.csv", csv);
    write_file("result.json",
               cat("{\"train_loss\": ", recent_loss(), ", \"heldout_loss\": ", held_out, ", \"bigram_entropy\": ", entropy,
                   ", \"steps\": ", steps, ", \"tokens_per_s\": ", tokens_per_s(), ", \"step_ms_median\": ", median(step_s_) * 1e3, "}\n"));
    const train::Progress progress{steps, {steps / batches_.steps_per_epoch(), steps % batches_.steps_per_epoch()}};
    save_checkpoint(options_.out + "/checkpoints", train::make_checkpoint(model_, optimizer_, progress));
    std::printf("\n%s has result.json, loss.csv and a checkpoint\n", options_.out.c_str());
  }

  void write_file(const std::string& name, const std::string& text) const {
    std::ofstream file(options_.out + "/" + name, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw IoError(cat("train: cannot write ", options_.out, "/", name));
  }

  TrainOptions options_;
  data::ByteFile file_;
  data::Split split_;
  nn::GPT model_;
  std::vector<Tensor> parameters_;
  optim::AdamW optimizer_;
  data::ByteBatches batches_;
  optim::WarmupCosine schedule_;
  std::vector<double> losses_, step_s_;
};

}  // namespace

int train(const TrainOptions& options) { return Run(options).run(); }

}  // namespace resilin::tool
