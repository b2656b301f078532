// bench/support/healing_ranks.cpp -- ranks that train a model of 100 MB of state, one of which comes back; and reads of a window over the network.
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "resilin/dist/transport/ucx.h"
#include "resilin/resilin.h"

#include "bench/support/elastic_ranks.h"
#include "bench/support/job.h"

namespace resilin::bench {
namespace {

using namespace parallel;

constexpr int kRanks = 4;
/// Two matrices of this width in f32, and two numbers of the optimizer for each of theirs: 100 MB.
constexpr i64 kWidth = 2048;
constexpr i64 kSlots = 6;
constexpr i64 kSlotSamples = 16;
/// Steps that are taken before the last rank dies, and without it before it comes back.
constexpr int kSteadySteps = 6, kShortSteps = 8;
constexpr const char* kExecVariable = "RESILIN_BENCH_EXEC_S";

struct Mlp {
  Tensor first, second;
  static constexpr auto fields() { return std::tuple{field("first", &Mlp::first), field("second", &Mlp::second)}; }
};

/// One that comes back gets all from the others: it begins with zeros.
Tensor make_matrix(bool is_new) {
  const Tensor x = is_new ? sub(rand({kWidth, kWidth}), 0.5) : zeros({kWidth, kWidth}, DType::F32);
  if (is_new) mul_(x, 0.05);
  requires_grad_(x);
  return x;
}

class HealingRank {
 public:
  explicit HealingRank(const std::string& folder);
  void train(int rounds);

 private:
  ElasticOptions options() const;
  void join();
  StepReport step();
  SlotResult run_slot(const Slot& slot) const;
  bool is_victim() const { return info_.rank == kRanks - 1; }

  const std::string folder_;
  const dist::RankInfo info_;
  Records records_;
  Mlp model_;
  optim::AdamW optimizer_;
  StepState state_;
  std::optional<Elastic> elastic_;
  HookHandle vote_hook_;
  bool has_voted_ = false;
};

HealingRank::HealingRank(const std::string& folder)
    : folder_(folder),
      info_(dist::rank_info().value()),
      records_(folder),
      model_{make_matrix(info_.restart_count == 0), make_matrix(info_.restart_count == 0)},
      optimizer_({model_.first, model_.second}, {.lr = 1e-4}) {
  state_.add_model(model_);
  state_.add_optimizer(optimizer_);
  elastic_.emplace(state_, std::vector<Tensor>{model_.first, model_.second}, options());
  records_.tell("made", {processor_s()});
  join();
  records_.tell("joined", {processor_s()});
}

ElasticOptions HealingRank::options() const {
  ElasticOptions options;
  options.slots = kSlots;
  options.ledger = LedgerOptions{.folder = folder_ + "/ledger", .rank = info_.rank, .life = info_.restart_count};
  options.on_event = [this](const TrainingEvent& event) {
    if (const auto* const healed = std::get_if<training_event::Healed>(&event))
      records_.tell("healed", {healed->seconds, static_cast<double>(healed->bytes)});
  };
  return options;
}

void HealingRank::join() {
  dist::ChangeRules rules = elastic_->changes();
  rules.installed = [this, installed = std::move(rules.installed)](const dist::GenerationInfo& info) {
    installed(info);
    records_.tell("installed", {static_cast<double>(info.generation), static_cast<double>(info.handles.size())});
  };
  elastic_->join(dist::init_process_group({.membership = dist::Membership::Lineage, .changes = std::move(rules)}));
  vote_hook_ = elastic_->group().register_post_hook([this](const dist::CollectiveEvent& event) {
    const bool is_vote = event.collective.kind == dist::CollectiveKind::AllGatherSingle && event.collective.inputs[0].dtype() == DType::U8;
    if (is_vote && !std::exchange(has_voted_, true)) records_.tell("yes", {processor_s()});
  });
}

SlotResult HealingRank::run_slot(const Slot& slot) const {
  const Tensor x = [] {
    const NoGrad no_grad;
    return rand({kSlotSamples, kWidth});
  }();
  const Tensor error = matmul(gelu(matmul(x, model_.first)), model_.second) - x;
  const Tensor loss = sum(error * error) / static_cast<double>(kWidth);
  backward(loss);
  SlotResult result{.loss = loss.item<double>(), .samples = kSlotSamples};
  for (i64 i = 0; i < kSlotSamples; ++i) result.ids.push_back((slot.step * kSlots + slot.slot) * kSlotSamples + i);
  return result;
}

StepReport HealingRank::step() {
  const StepReport report =
      elastic_->step([this](const Slot& slot) { return run_slot(slot); }, [this](const Applied&) { optimizer_.step(); });
  records_.tell("commit", {static_cast<double>(report.generation), static_cast<double>(report.world), report.seconds});
  return report;
}

/// The last rank dies after some steps of all, and may come back after some without it. All know how often it has died before it does so again.
void HealingRank::train(int rounds) {
  const std::string path = folder_ + "/kills";
  const auto kills = [&] { return std::filesystem::exists(path) ? static_cast<int>(std::filesystem::file_size(path)) : 0; };
  int since = 0, done = 0;
  std::uint64_t generation = 0;
  while (true) {
    const StepReport report = step();
    if (std::exchange(generation, report.generation) != report.generation) since = 0;
    ++since;
    if (report.world < kRanks) {
      if (since == kShortSteps && report.rank == 0) std::ofstream(cat(folder_, "/go.", kills()));
      continue;
    }
    if (since == kSteadySteps - 1) done = kills();
    if (since != kSteadySteps) continue;
    if (done == rounds) break;
    if (!is_victim()) continue;
    std::ofstream(path, std::ios::app) << 'x';
    kill(getpid(), SIGKILL);
  }
  elastic_->leave();
}

/// Waits until the others have trained without it, and begins anew, as a process whose start is known.
void begin_when_allowed(const std::string& folder, int rounds) {
  const i64 life = dist::rank_info().value().restart_count;
  if (life == 0) return;
  if (const char* const exec_s = std::getenv(kExecVariable)) return Records(folder).tell_at(parse_float(exec_s), "exec");
  while (!std::filesystem::exists(cat(folder, "/go.", life))) usleep(2000);
  setenv(kExecVariable, cat(now_s()).c_str(), 1);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string(), count = cat(rounds);
  execl(program.c_str(), program.c_str(), "--rank", "heal", folder.c_str(), count.c_str(), nullptr);
  _exit(127);
}

}  // namespace

void train_and_heal(const std::string& folder, int rounds) {
  begin_when_allowed(folder, rounds);
  HealingRank(folder).train(rounds);
}

void read_over_network(const std::string& folder, double bytes) {
  const dist::RankInfo info = dist::rank_info().value();
  const Records records(folder);
  dist::GroupOptions options;
  options.store = dist::connect_job_store(info, std::chrono::seconds(10));
  options.transport = dist::ucx_transport({.shared_memory = false});
  options.shares_memory = false;
  dist::ProcessGroup group(options);
  options.store->set(cat("bench/", info.rank), group.reconfigure_handle());
  dist::ReconfigureOptions members{.uuid = 1, .handles = {}};
  for (int rank = 0; rank < 2; ++rank) {
    options.store->wait({cat("bench/", rank)}, std::chrono::seconds(30));
    members.handles.push_back(options.store->get(cat("bench/", rank)));
  }
  group.reconfigure(members);
  const dist::Window window(group, static_cast<std::uint64_t>(bytes));
  std::memset(window.tensor().data(), static_cast<int>(info.rank) + 1, static_cast<std::size_t>(bytes));
  group.barrier().wait();
  if (info.rank == 0) {
    std::vector<std::byte> got(static_cast<std::size_t>(bytes));
    for (int round = 0; round < 5; ++round) {
      const double begin_s = now_s();
      window.get(1, 0, got);
      records.tell("get", {bytes / (now_s() - begin_s)});
    }
    if (got.front() != std::byte{2} || got.back() != std::byte{2}) throw DistError("window: what was read is wrong");
    constexpr std::size_t kPiece = 3072, kPieces = 500;
    const double begin_s = now_s();
    for (std::size_t i = 0; i < kPieces; ++i) window.get(1, i * kPiece, std::span(got).subspan(i * kPiece, kPiece));
    records.tell("get_one", {static_cast<double>(kPieces * kPiece) / (now_s() - begin_s)});
  }
  group.barrier().wait();
  group.destroy();
}

}  // namespace resilin::bench
