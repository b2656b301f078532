// tests/tool/soak_rank.cpp -- a rank of a job that trains the exact task until it is told to stop; soak_job.h starts it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/event_log.h"
#include "resilin/base/overloaded.h"
#include "resilin/dist/group/init.h"
#include "resilin/dist/launch/rank_info.h"
#include "resilin/parallel/elastic.h"

#include "tests/support/task.h"
#include "tests/tool/soak_job.h"

namespace resilin::tool::soak {
namespace {

using namespace parallel;
using parallel::testing::Task;

class SoakRank {
 public:
  SoakRank(i64 features, i64 deadline_s)
      : folder_(std::getenv("OUT")),
        info_(dist::rank_info().value()),
        events_(folder_ + "/events.jsonl"),
        task_(features),
        elastic_(task_.state(), task_.parameters(), options(deadline_s)) {}

  void run() {
    if (info_.restart_count > 0) warm_up();
    dist::InitOptions init{.membership = dist::Membership::Lineage, .changes = elastic_.changes()};
    elastic_.join(dist::init_process_group(init));
    while (!take_step().all_leave) {
      if (access((folder_ + "/stop").c_str(), F_OK) == 0) elastic_.request_leave();
    }
    tell("end", {{"step", elastic_.next_step()}, {"digest", cat(task_.digest())}});
    elastic_.leave();
  }

 private:
  ElasticOptions options(i64 deadline_s) {
    ElasticOptions options = task_.options();
    options.step_timeout = std::chrono::seconds(deadline_s);
    options.digest_every = 1;  // of the whole state, after each step
    options.ledger = LedgerOptions{.folder = folder_ + "/ledger",
                                   .job = info_.run_id,
                                   .rank = info_.rank,
                                   .life = info_.restart_count,
                                   .batch = parallel::testing::kBatch,
                                   .samples_per_epoch = parallel::testing::kSamples};
    options.on_event = [this](const TrainingEvent& event) { tell_change(event); };
    return options;
  }

  /// Its kernels are loaded before others wait for it.
  void warm_up() {
    parallel::testing::Undisturbed other(task_.parameters()[0].numel().value());
    other.step();
  }

  StepReport take_step() {
    const StepReport report =
        elastic_.step([this](const Slot& slot) { return task_.run_slot(slot); }, [this](const Applied& applied) { task_.apply(applied); });
    tell("step", {{"generation", static_cast<i64>(report.generation)}, {"step", report.step}});
    return report;
  }

  void tell_change(const TrainingEvent& event) {
    std::visit(Overloaded{[&](const training_event::Generation& one) {
                            Json::Array members;
                            for (const i64 member : one.members) members.emplace_back(member);
                            tell("generation", {{"generation", static_cast<i64>(one.generation)},
                                                {"cause", enum_name(one.cause)},
                                                {"members", std::move(members)}});
                          },
                          [&](const training_event::Lost& one) {
                            tell("lost", {{"error", one.error}});
                          },
                          [&](const training_event::InDoubt& one) {
                            tell("in_doubt", {{"step", one.step}});
                          },
                          [&](const training_event::Healed& one) {
                            tell("heal", {{"step", one.step}});
                          }},
               event);
  }

  void tell(const char* what, Json::Object more) { events_.append({what, info_.rank, info_.restart_count, std::move(more), 0}); }

  const std::string folder_;
  const dist::RankInfo info_;
  EventLog events_;
  Task task_;
  Elastic elastic_;
};

TEST_CASE("a rank that trains the exact task" * doctest::skip()) {
  alarm(2400);
  std::istringstream mode(std::getenv("RESILIN_TEST_RANK"));
  i64 features = 0, deadline_s = 0;
  mode >> features >> deadline_s;
  REQUIRE(deadline_s > 0);
  try {
    SoakRank(features, deadline_s).run();
  } catch (const Error& error) {
    std::fprintf(stderr, "rank ended: %s\n", error.what());
    _exit(1);
  }
}

}  // namespace
}  // namespace resilin::tool::soak
