// bench/support/elastic_ranks.cpp -- ranks that train the demo's model, with and without protection, and with kills.
#include "bench/support/elastic_ranks.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <utility>

#include <unistd.h>

#include "resilin/base/file.h"
#include "resilin/dist/group/hooks.h"
#include "resilin/parallel/ballot.h"
#include "resilin/resilin.h"

#include "bench/support/compare.h"
#include "bench/support/job.h"
#include "tools/resilin/train_config.h"
#include "tools/resilin/train_model.h"

namespace resilin::bench {
namespace {

using namespace parallel;

constexpr int kRanks = 4;
/// Steps that all ranks take together before one of them dies.
constexpr int kSteadySteps = 3;
constexpr int kPartRounds = 200;

/// The demo's configuration with a text of the benchmark's own: what it learns is of no interest.
tool::TrainConfig demo_config(const std::string& folder) {
  const std::string path = RESILIN_BENCH_FOLDER "/../examples/demo.toml";
  const std::vector<std::string> words = {"data.text=" + folder + "/text", "run.out=" + folder + "/out", "train.budget_s=0",
                                          "train.steps=1000000"};
  return tool::parse_train_config(read_file(path), path, words);
}

class TrainingRank {
 public:
  explicit TrainingRank(const std::string& folder);
  StepReport step();
  /// In the next step, in its first slot.
  void die_soon() { dies_ = true; }
  Elastic& elastic() { return elastic_; }
  const Records& records() const { return records_; }
  const dist::RankInfo& info() const { return info_; }
  const StepState& state() { return model_.state(); }
  LedgerOptions ledger_options(const std::string& name) const;

 private:
  ElasticOptions options() const;
  void join();
  [[noreturn]] void die();

  const std::string folder_;
  const dist::RankInfo info_;
  Records records_;
  const tool::TrainConfig config_;
  tool::TrainModel model_;
  Elastic elastic_;
  HookHandle abort_hook_;
  bool dies_ = false;
};

TrainingRank::TrainingRank(const std::string& folder)
    : folder_(folder),
      info_(dist::rank_info().value()),
      records_(folder),
      config_(demo_config(folder)),
      model_(config_),
      elastic_(model_.state(), model_.parameters(), options()) {
  if (info_.restart_count > 0) model_.warm_up();
  join();
}

LedgerOptions TrainingRank::ledger_options(const std::string& name) const {
  return {.folder = folder_ + "/" + name,
          .rank = info_.rank,
          .life = info_.restart_count,
          .batch = config_.train.slots * config_.train.slot_batch,
          .samples_per_epoch = 1'000'000};
}

ElasticOptions TrainingRank::options() const {
  ElasticOptions options;
  options.slots = config_.train.slots;
  options.seed = config_.train.seed;
  options.digest_every = config_.elastic.digest_every;
  options.ledger = ledger_options("ledger");
  options.deltas = {model_.clock_delta()};
  return options;
}

void TrainingRank::join() {
  dist::ChangeRules rules = elastic_.changes();
  rules.installed = [this, installed = std::move(rules.installed)](const dist::GenerationInfo& info) {
    installed(info);
    records_.tell("installed", {static_cast<double>(info.generation), static_cast<double>(info.handles.size())});
  };
  elastic_.join(dist::init_process_group({.membership = dist::Membership::Lineage, .changes = std::move(rules)}));
  abort_hook_ = elastic_.group().register_abort_hook(
      [this](const dist::AbortEvent& event) { records_.tell("aborted", {static_cast<double>(event.generation)}); });
}

StepReport TrainingRank::step() {
  return elastic_.step(
      [this](const Slot& slot) {
        if (dies_) die();
        return model_.run_slot(slot, elastic_.goodput());
      },
      [this](const Applied& applied) { model_.apply(applied); });
}

void TrainingRank::die() {
  records_.tell("kill", {static_cast<double>(elastic_.group().generation())});
  kill(getpid(), SIGKILL);
  _exit(1);
}

/// Median seconds of a call.
template <class Call>
double median_of(Call&& call) {
  std::vector<double> samples;
  for (int i = 0; i < kPartRounds; ++i) {
    const double begin = now_s();
    call(i);
    samples.push_back(now_s() - begin);
  }
  return quantile(std::move(samples), 0.5);
}

/// All ranks at once, as in a step.
void measure_parts(TrainingRank& rank) {
  Elastic& elastic = rank.elastic();
  const auto tell = [&](const char* what, double seconds) { rank.records().tell(what, {seconds}); };
  Ledger ledger(rank.ledger_options("parts"));
  const std::vector<i64> samples = {1'000'001, 1'000'002, 1'000'003, 1'000'004, 1'000'005, 1'000'006};
  elastic.group().barrier().wait();
  tell("part_try", median_of([&](int i) { ledger.write_try({.generation = 1, .step = i}, 0, kRanks, 0, samples); }));
  tell("part_done", median_of([&](int i) { ledger.write_done({.generation = 1, .step = i}, 0x123456789abcdef0); }));
  std::uint64_t sum = 0;
  tell("part_digest", median_of([&](int i) { sum += rank.state().digest(static_cast<std::size_t>(i) % 10, 10); }));
  BallotBox box;
  Ballot ballot{.state = sum};
  elastic.group().barrier().wait();
  tell("part_exchange", median_of([&](int i) {
         ballot.step = static_cast<std::uint64_t>(i);
         box.exchange(elastic.group(), ballot, std::chrono::minutes(1));
       }));
}

}  // namespace

void train_in_turn(const std::string& folder, int pairs, int steps) {
  TrainingRank rank(folder);
  Elastic& elastic = rank.elastic();
  const auto protected_s = [&] { return elastic.goodput().seconds(Spent::Protect); };
  for (int i = 0; i < 2 * kSteadySteps; ++i) rank.step();
  for (int block = 0; block < 2 * pairs; ++block) {
    // Either comes first as often as the other.
    const bool protects = (block % 2 == 0) == (block / 2 % 2 == 0);
    elastic.set_protects(protects);
    const double begin_s = now_s(), before_s = protected_s();
    for (int i = 0; i < steps; ++i) rank.step();
    rank.records().tell("block", {protects ? 1.0 : 0.0, (now_s() - begin_s) / steps, (protected_s() - before_s) / steps});
  }
  elastic.set_protects(true);
  measure_parts(rank);
  elastic.leave();
}

void train_with_kills(const std::string& folder, int kills) {
  TrainingRank rank(folder);
  const std::string path = folder + "/kills";
  int steady = 0, done = 0;
  std::uint64_t generation = 0;
  while (true) {
    const StepReport report = rank.step();
    rank.records().tell("commit", {static_cast<double>(report.generation), static_cast<double>(report.world), report.seconds});
    if (std::exchange(generation, report.generation) != report.generation) steady = 0;
    steady = report.world == kRanks ? steady + 1 : 0;
    // Nobody has decided yet to be the next one: it does so after a step that all have voted on later than this.
    if (steady == kSteadySteps - 1) done = std::filesystem::exists(path) ? static_cast<int>(std::filesystem::file_size(path)) : 0;
    if (steady != kSteadySteps) continue;
    if (done == kills) break;
    if (done % kRanks != rank.info().rank) continue;
    std::ofstream(path, std::ios::app) << 'x';
    rank.die_soon();
  }
  rank.elastic().leave();
}

}  // namespace resilin::bench
