// tools/resilin/train.cpp -- `resilin train`: the loop of steps, its events, checkpoints and pages.
#include "tools/resilin/train.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <signal.h>
#include <unistd.h>

#include "resilin/base/event_log.h"
#include "resilin/base/log.h"
#include "resilin/base/overloaded.h"
#include "resilin/dist/launch/host_agent.h"
#include "resilin/dist/launch/job_store.h"
#include "resilin/dist/membership/coordinator_driver.h"
#include "resilin/dist/transport/fake.h"
#include "resilin/resilin.h"

#include "tools/resilin/follow.h"
#include "tools/resilin/metrics_server.h"
#include "tools/resilin/train_config.h"
#include "tools/resilin/train_job.h"
#include "tools/resilin/train_model.h"

namespace resilin::tool {
namespace {

using namespace parallel;
using std::chrono::milliseconds;

constexpr i64 kSampleBytes = 300;
/// Who is asked to leave trains on for so long when others were not asked yet: a signal reaches the ranks of a job one after the other.
constexpr i64 kLeaveTogether_us = 1'000'000;

/// The one that a signal asks to leave.
std::atomic<Elastic*> leaving{nullptr};

extern "C" void leave_on_signal(int) {
  if (Elastic* const elastic = leaving.load()) elastic->request_leave();
}

milliseconds ms_of(double seconds) { return milliseconds(static_cast<i64>(seconds * 1e3)); }

/// A job of one rank without launcher: its store, Coordinator and connections are in this process.
class LoneJob {
 public:
  LoneJob() : store_(dist::make_hash_store()), coordinator_({.first_size = 1}, store_, nullptr) {}
  dist::Store& store() { return *store_; }
  void put_into(dist::InitOptions& options) {
    options.store = store_;
    options.transport = fabric_.maker(0);
    options.rank = 0;
    options.size = 1;
    options.records = false;
  }

 private:
  std::shared_ptr<dist::Store> store_;
  dist::CoordinatorDriver coordinator_;
  dist::FakeFabric fabric_;
};

class TrainRun {
 public:
  explicit TrainRun(const TrainConfig& config);
  int run();

 private:
  ElasticOptions elastic_options();
  void resume();
  dist::Store& store();
  void join();
  void take_steps();
  void speak_last();
  void measure();
  void tell_step(const StepReport& report, i64 begin_us);
  void tell_change(const TrainingEvent& event);
  void serve(const StepReport& report);
  void save(bool is_last = false);
  void tell_goodput();
  void tell(std::string what, Json::Object more, i64 t_us = 0);

  const TrainConfig config_;
  dist::RankInfo info_;
  TrainModel model_;
  i64 first_step_ = 0;  // of the checkpoint that was found
  std::shared_ptr<dist::Store> store_;
  std::optional<LoneJob> lone_;  // in place of the launcher's
  TrainJob job_;
  EventLog events_;
  std::optional<RunView> view_;  // where no `resilin demo` follows the events
  std::optional<Elastic> elastic_;
  std::optional<MetricsServer> server_;
  RunMetrics metrics_;
};

TrainRun::TrainRun(const TrainConfig& config)
    : config_(config),
      info_(dist::rank_info().value_or(dist::RankInfo{})),
      model_(config),
      events_((std::filesystem::create_directories(config.run.out), config.run.out + "/events.jsonl")) {
  if (config.run.progress != ProgressForm::Off && info_.rank == 0) view_.emplace(config.run.progress, STDOUT_FILENO);
  if (config.run.http_port != 0) server_.emplace(MetricsServer::Options{.port = config.run.http_port + info_.local_rank});
  resume();
  job_ = agree_on_job(store(), first_step_);
  claim_run_folder(config.run.out, job_.id, config.checkpoint.resume == Resume::Never);
  elastic_.emplace(model_.state(), model_.parameters(), elastic_options());
}

/// The job's.
dist::Store& TrainRun::store() {
  if (!dist::rank_info()) return lone_ ? lone_->store() : lone_.emplace().store();
  if (store_ == nullptr) {
    if (info_.store_address.empty()) dist::find_host_agent(info_);
    store_ = dist::connect_job_store(info_);
  }
  return *store_;
}

ElasticOptions TrainRun::elastic_options() {
  ElasticOptions options;
  options.slots = config_.train.slots;
  options.seed = config_.train.seed;
  options.first_step = job_.first_step;
  options.step_timeout = ms_of(config_.elastic.step_timeout_s);
  options.heal_timeout = ms_of(config_.elastic.heal_timeout_s);
  options.min_world = static_cast<int>(config_.elastic.min_world);
  options.digest_every = config_.elastic.digest_every;
  options.protects = config_.elastic.fault_tolerance;
  options.ledger = LedgerOptions{.folder = config_.run.out + "/ledger",
                                 .job = info_.run_id,
                                 .rank = info_.rank,
                                 .life = info_.restart_count,
                                 .first_step = job_.first_step,
                                 .batch = model_.batch(),
                                 .samples_per_epoch = model_.samples_per_epoch()};
  options.deltas = {model_.clock_delta()};
  options.on_event = [this](const TrainingEvent& event) { tell_change(event); };
  return options;
}

/// All ranks of a job begin with the same state; one that is started again gets it from the others, unless it died before they had begun.
void TrainRun::resume() {
  if (config_.checkpoint.resume == Resume::Never) return;
  const std::string folder = config_.run.out + "/checkpoints";
  const std::optional<Checkpoint> found = load_latest(folder);
  if (!found && config_.checkpoint.resume == Resume::Must) throw IoError(cat("train: ", folder, " has no checkpoint to go on from"));
  if (!found) return;
  model_.restore(*found);
  first_step_ = found->step;
}

void TrainRun::join() {
  if (info_.restart_count > 0) model_.warm_up();
  dist::InitOptions options{.membership = dist::Membership::Lineage, .changes = elastic_->changes()};
  if (lone_) lone_->put_into(options);
  elastic_->join(dist::init_process_group(options));
  leaving = &*elastic_;
  struct sigaction action {};
  action.sa_handler = leave_on_signal;
  sigaction(SIGTERM, &action, nullptr);
}

int TrainRun::run() {
  tell("run", {{"steps", model_.steps()},
               {"batch", model_.batch()},
               {"tokens_per_step", model_.tokens_per_step()},
               {"parameters", model_.parameter_count()},
               {"first_step", job_.first_step}});
  try {
    join();
    take_steps();
  } catch (const EvictedError& error) {
    if (!is_finished(store())) throw;
    log(LogLevel::Info, cat("the job has finished without this rank: ", error.what()));
  }
  leaving = nullptr;
  tell_goodput();
  tell("leave", {{"step", elastic_->next_step()}});
  if (view_) view_->finish();
  return 0;
}

void TrainRun::take_steps() {
  elastic_->heal();
  i64 planned = model_.steps(), asked_us = 0;
  while (elastic_->next_step() < model_.steps()) {
    const i64 begin_us = unix_time_us();
    const StepReport last = elastic_->step([this](const Slot& slot) { return model_.run_slot(slot, elastic_->goodput()); },
                                           [this](const Applied& applied) { model_.apply(applied); });
    tell_step(last, begin_us);
    if (std::exchange(planned, model_.steps()) != planned && last.rank == 0) tell("plan", {{"step", last.step}, {"steps", planned}});
    if (server_) serve(last);
    if (last.leaves && asked_us == 0) asked_us = unix_time_us();
    if (last.all_leave) return elastic_->leave_together([this] { save(true); });
    if (last.leaves && unix_time_us() - asked_us > kLeaveTogether_us) {
      if (last.saves) save();
      return elastic_->leave();
    }
    const i64 done = last.step + 1;
    const auto is_due = [&](i64 every) { return last.rank == 0 && every != 0 && done % every == 0 && done < model_.steps(); };
    if (is_due(config_.checkpoint.every)) save();
    if (is_due(config_.data.measure_every)) measure();
  }
  elastic_->finish([this] { speak_last(); });
}

void TrainRun::measure() {
  tell("held_out", {{"step", elastic_->next_step()}, {"loss", model_.held_out_loss()}, {"bigram_entropy", model_.bigram_entropy()}});
}

/// The job's last words, by the rank that is first in the end.
void TrainRun::speak_last() {
  save(true);
  measure();
  tell("sample", {{"text", model_.sample(kSampleBytes)}});
  note_finished(store());
}

/// What is not saved in the midst of a run is saved later by those that went on; the last one is repeated by them.
void TrainRun::save(bool is_last) {
  const i64 begin_us = unix_time_us();
  const i64 generation = static_cast<i64>(elastic_->group().generation());
  try {
    elastic_->save(config_.run.out + "/checkpoints", config_.checkpoint.keep);
  } catch (const StaleError& error) {
    if (is_last && (elastic_->group().is_aborted() || static_cast<i64>(elastic_->group().generation()) != generation)) throw;
    log(LogLevel::Warning, error.what());
    return;
  }
  tell("checkpoint", {{"generation", generation},
                      {"step", elastic_->next_step()},
                      {"path", config_.run.out + "/checkpoints"},
                      {"ms", static_cast<double>(unix_time_us() - begin_us) * 1e-3}});
}

// ---- events

void TrainRun::tell(std::string what, Json::Object more, i64 t_us) {
  const Event event{.what = std::move(what), .rank = info_.rank, .life = info_.restart_count, .more = std::move(more), .t_us = t_us};
  events_.append(event);
  if (view_) view_->show(event);
}

void TrainRun::tell_step(const StepReport& report, i64 begin_us) {
  const i64 generation = static_cast<i64>(report.generation), end_us = unix_time_us();
  tell("step", {{"generation", generation},
                {"step", report.step},
                {"attempt", report.attempt},
                {"begin_us", begin_us},
                {"end_us", end_us},
                {"healing", report.healed}});
  if (report.rank != 0) return;
  const double step_s = std::max(report.seconds, 1e-9);
  tell("commit", {{"generation", generation},
                  {"world", static_cast<i64>(report.world)},
                  {"step", report.step},
                  {"loss", report.loss},
                  {"samples", report.samples},
                  {"tokens_per_s", static_cast<double>(report.samples * config_.model.length) / step_s},
                  {"step_ms", step_s * 1e3},
                  {"ft_ms", report.protect_s * 1e3}});
}

void TrainRun::tell_change(const TrainingEvent& event) {
  const auto number = [](std::uint64_t value) { return static_cast<i64>(value); };
  std::visit(
      Overloaded{
          [&](const training_event::Generation& one) {
            if (one.cause == training_event::Generation::Cause::Shrink) ++metrics_.recoveries;
            Json::Array members;
            for (const i64 member : one.members) members.emplace_back(member);
            tell("generation", {{"generation", number(one.generation)},
                                {"group_rank", static_cast<i64>(one.rank)},
                                {"world", static_cast<i64>(one.world)},
                                {"cause", enum_name(one.cause)},
                                {"step", one.step},
                                {"members", std::move(members)},
                                {"after_ms", one.after_s * 1e3}});
          },
          [&](const training_event::Lost& one) {
            tell("lost", {{"generation", number(one.generation)}, {"step", one.step}, {"error", one.error}});
          },
          [&](const training_event::InDoubt& one) {
            tell("in_doubt", {{"generation", number(one.generation)}, {"step", one.step}, {"outcome", one.committed ? "yes" : "no"}});
          },
          [&](const training_event::Healed& one) {
            tell("heal",
                 {{"generation", number(one.generation)}, {"step", one.step}, {"bytes", number(one.bytes)}, {"ms", one.seconds * 1e3}});
          }},
      event);
}

void TrainRun::tell_goodput() {
  const Goodput& goodput = elastic_->goodput();
  tell("goodput", {{"train_s", goodput.seconds(Spent::Train)},
                   {"data_s", goodput.seconds(Spent::Data)},
                   {"checkpoint_s", goodput.seconds(Spent::Checkpoint)},
                   {"recover_s", goodput.seconds(Spent::Recover)},
                   {"idle_s", goodput.seconds(Spent::Idle)},
                   {"ft_s", goodput.seconds(Spent::Protect)}});
}

void TrainRun::serve(const StepReport& report) {
  const Goodput& goodput = elastic_->goodput();
  metrics_.step = report.step + 1;
  metrics_.loss = report.loss;
  metrics_.tokens_per_s = static_cast<double>(report.samples * config_.model.length) / std::max(report.seconds, 1e-9);
  metrics_.world = report.world;
  metrics_.generation = static_cast<i64>(report.generation);
  ++metrics_.commits;
  metrics_.train_s = goodput.seconds(Spent::Train);
  metrics_.data_s = goodput.seconds(Spent::Data);
  metrics_.checkpoint_s = goodput.seconds(Spent::Checkpoint);
  metrics_.recover_s = goodput.seconds(Spent::Recover);
  metrics_.idle_s = goodput.seconds(Spent::Idle);
  metrics_.ft_s = goodput.seconds(Spent::Protect);
  server_->set(metrics_);
}

}  // namespace

int train(const std::vector<std::string>& arguments) {
  const TrainCommand command = read_train_command(arguments);
  if (command.help) {
    std::fputs(train_help().c_str(), stdout);
    return 0;
  }
  try {
    return TrainRun(command.config).run();
  } catch (const StoreError& error) {
    std::fprintf(stderr, "resilin: %s\n", error.what());
    return dist::kExitStoreLost;
  }
}

}  // namespace resilin::tool
