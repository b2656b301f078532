// tests/tool/train_test.cpp -- `resilin train` under the launcher: killed, stopped and resumed runs against one that nothing happened to.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <signal.h>

#include <doctest/doctest.h>

#include "resilin/parallel/slots.h"

#include "tests/tool/train_job.h"

#include "tools/resilin/ledger.h"
#include "tools/resilin/train_config.h"
#include "tools/resilin/train_model.h"

namespace resilin::tool {
namespace {

namespace fs = std::filesystem;
using resilin::testing::TemporaryFolder;

constexpr i64 kSteps = 200;
/// The ranks' clocks, which decide nothing without a budget.
const std::set<std::string> kClocks = {"host.measured"};

/// The run that nothing happens to, made once.
class Quiet {
 public:
  static Quiet& get() {
    static Quiet quiet;
    return quiet;
  }
  const TemporaryFolder place;
  std::string run() const { return place.path() + "/quiet"; }
  Checkpoint end;
  std::map<i64, std::vector<i64>> samples;
  std::map<i64, double> losses;

 private:
  Quiet() {
    write_small_task(place.path());
    TrainingJob job(place, "quiet", 4, {"data.measure_every=1"});
    const int code = job.wait();
    const std::string log = job.log();
    CAPTURE(log);
    REQUIRE(code == 0);
    end = load_latest(run() + "/checkpoints").value();
    samples = samples_of(run());
    losses = losses_of(run());
  }
};

void check_ledger(const std::string& folder, i64 first_step, i64 last_step) {
  const LedgerAccount account = verify_ledger(folder);
  const std::string text = ledger_text(account);
  CAPTURE(text);
  CHECK(account.holds());
  CHECK(account.first_step == first_step);
  CHECK(account.last_step == last_step);
}

/// The samples of each of these steps are those of the quiet run.
void check_samples(const std::string& ledger, i64 first_step, i64 last_step) {
  const std::map<i64, std::vector<i64>> samples = samples_of(ledger);
  REQUIRE(static_cast<i64>(samples.size()) == last_step - first_step + 1);
  for (const auto& of_step : samples) {
    CAPTURE(of_step.first);
    CHECK(of_step.second == Quiet::get().samples.at(of_step.first));
  }
}

double mean_of_last(const std::map<i64, double>& losses, i64 count) {
  double sum = 0;
  for (i64 step = kSteps - count; step < kSteps; ++step) sum += losses.at(step);
  return sum / static_cast<double>(count);
}

double relative(double a, double b) { return std::abs(a - b) / std::abs(a); }

/// The mean of the loss on what is held out, over the last steps of a run that measures after each.
double held_out_of(const std::string& run, i64 count) {
  std::map<i64, double> losses;  // by how many steps were done
  for (const Event& event : events_of(run, "held_out")) losses[integer_of(event, "step")] = number_of(event, "loss");
  double sum = 0;
  for (i64 step = kSteps - count + 1; step <= kSteps; ++step) sum += losses.at(step);
  return sum / static_cast<double>(count);
}

/// Another job in the folder, which goes on from where the one before was.
void finish(const TemporaryFolder& place, const std::string& run, int ranks) {
  TrainingJob job(place, run, ranks, {});
  const int code = job.wait();
  const std::string log = job.log();
  CAPTURE(log);
  REQUIRE(code == 0);
}

bool is_gone(pid_t process) { return kill(process, 0) != 0; }

// ---- a rank that is killed

TEST_CASE("a run with a kill has the samples, the dropout and the state of one without") {
  const Quiet& quiet = Quiet::get();
  check_ledger(quiet.run(), 0, kSteps - 1);
  TrainingJob job(quiet.place, "killed", 4, {"data.measure_every=1"}, "kill:2@60");
  const int code = job.wait();
  const std::string run = quiet.place.path() + "/killed", log = job.log();
  CAPTURE(log);
  REQUIRE(code == 0);
  REQUIRE(events_of(run, "kill").size() == 1);
  REQUIRE(events_of(run, "heal").size() == 1);
  check_ledger(run, 0, kSteps - 1);
  check_samples(run, 0, kSteps - 1);
  const std::map<i64, double> losses = losses_of(run);
  REQUIRE(losses.size() == kSteps);
  // Other masks would show in every loss, see below.
  for (const auto& of_step : losses) {
    CAPTURE(of_step.first);
    CHECK(relative(quiet.losses.at(of_step.first), of_step.second) <= 1e-5);
  }
  const double difference = relative_difference(quiet.end, load_latest(run + "/checkpoints").value());
  CHECK(difference <= 1e-5);
  CHECK(relative(mean_of_last(quiet.losses, 20), mean_of_last(losses, 20)) <= 0.01);
  CHECK(relative(held_out_of(quiet.run(), 20), held_out_of(run, 20)) <= 0.01);
  MESSAGE("parameters differ by " << difference << " of their norm");
}

TEST_CASE("the masks of a slot follow from seed, step and slot: with those of another step the loss of a step is another one") {
  const Quiet& quiet = Quiet::get();
  const std::vector<std::string> words = {quiet.place.path() + "/task.toml"};
  TrainModel model(read_train_command(words).config);
  parallel::Goodput goodput;
  const auto loss_with_masks_of = [&](i64 step) {
    double loss = 0;
    for (i64 slot = 0; slot < 8; ++slot) {
      parallel::seed_slot(1, step, slot);
      loss += model.run_slot({0, slot, 8}, goodput).loss;
    }
    return loss / 8;
  };
  CHECK(relative(quiet.losses.at(0), loss_with_masks_of(0)) <= 1e-6);
  CHECK(relative(quiet.losses.at(0), loss_with_masks_of(1)) >= 1e-4);
}

TEST_CASE("a rank that is killed in the last step, and in the job's last words, leaves a whole run") {
  const TemporaryFolder place;
  write_small_task(place.path());
  int number = 0;
  for (const std::string chaos : {"kill:0@39", "kill:2@39", "kill:1@38;seed=5"}) {
    CAPTURE(chaos);
    const std::string name = cat("end", ++number), run = place.path() + "/" + name;
    TrainingJob job(place, name, 4, {"train.steps=40"}, chaos);
    const int code = job.wait();
    const std::string log = job.log();
    CAPTURE(log);
    CHECK(code == 0);
    check_ledger(run, 0, 39);
    CHECK(load_latest(run + "/checkpoints").value().step == 40);
    CHECK(!events_of(run, "held_out").empty());
  }
}

// ---- the launcher is told to end

TEST_CASE(
    "SIGTERM: one checkpoint, all leave after the same step, and the next job goes on there, bit for bit, its ledger beside the old one") {
  const Quiet& quiet = Quiet::get();
  const TemporaryFolder place;
  write_small_task(place.path());
  const std::string run = place.path() + "/run";
  i64 stopped = 0;
  {
    TrainingJob job(place, "run", 4, {});
    const bool reached = job.reaches(60);
    job.send(SIGTERM);
    const int code = job.wait();
    const std::string log = job.log();
    CAPTURE(log);
    REQUIRE(reached);
    CHECK(code == 128 + SIGTERM);
    const std::vector<Event> checkpoints = events_of(run, "checkpoint"), leaves = events_of(run, "leave");
    REQUIRE(checkpoints.size() == 1);
    stopped = integer_of(checkpoints[0], "step");
    CHECK(stopped > 60);
    CHECK(stopped < kSteps);
    CHECK(leaves.size() == 4);
    for (const Event& leave : leaves) CHECK(integer_of(leave, "step") == stopped);
    check_ledger(run, 0, stopped - 1);
  }
  fs::copy(run, place.path() + "/three", fs::copy_options::recursive);
  finish(place, "run", 4);
  check_ledger(run + "/ledger.1", 0, stopped - 1);
  check_ledger(run, stopped, kSteps - 1);
  check_samples(run + "/ledger.1", 0, stopped - 1);
  check_samples(run, stopped, kSteps - 1);
  CHECK(integer_of(events_of(run, "run").back(), "first_step") == stopped);
  CHECK(is_same(quiet.end, load_latest(run + "/checkpoints").value(), kClocks));

  finish(place, "three", 3);
  const std::string three = place.path() + "/three";
  check_ledger(three, stopped, kSteps - 1);
  check_samples(three, stopped, kSteps - 1);
  CHECK(relative_difference(quiet.end, load_latest(three + "/checkpoints").value()) <= 1e-5);
}

TEST_CASE(
    "SIGTERM to one rank: it leaves, the others train on; then to the launcher while a rank is being started again: what is left leaves "
    "whole") {
  const TemporaryFolder place;
  write_small_task(place.path());
  const std::string run = place.path() + "/run";
  for (const useconds_t later_us : {0, 60'000, 150'000}) {
    CAPTURE(later_us);
    fs::remove_all(run);
    TrainingJob job(place, "run", 4, {"train.steps=1000000"});
    REQUIRE(job.reaches(20));
    const auto process_of = [&](std::size_t number) { return static_cast<pid_t>(integer_of(events_of(run, "start").at(number), "pid")); };
    REQUIRE(kill(process_of(1), SIGTERM) == 0);
    REQUIRE(dist::launch::comes_true([&] { return events_of(run, "leave").size() == 1; }));
    REQUIRE(job.reaches(integer_of(events_of(run, "leave")[0], "step") + 5));
    REQUIRE(kill(process_of(3), SIGKILL) == 0);
    REQUIRE(dist::launch::comes_true([&] { return events_of(run, "start").size() == 5; }));
    usleep(later_us);
    job.send(SIGTERM);
    const int code = job.wait();
    const std::string log = job.log();
    CAPTURE(log);
    CHECK(code == 128 + SIGTERM);
    const i64 saved = load_latest(run + "/checkpoints").value().step;
    check_ledger(run, 0, saved - 1);
    for (const Event& start : events_of(run, "start")) CHECK(is_gone(static_cast<pid_t>(integer_of(start, "pid"))));
  }
}

TEST_CASE("SIGKILL of the launcher: no rank survives it, and the next job goes on from the last checkpoint") {
  const Quiet& quiet = Quiet::get();
  const TemporaryFolder place;
  write_small_task(place.path());
  const std::string run = place.path() + "/run";
  {
    TrainingJob job(place, "run", 4, {"checkpoint.every=50"});
    const bool reached = job.reaches(60);
    job.send(SIGKILL);
    CHECK(job.wait() == -SIGKILL);
    REQUIRE(reached);
    const std::vector<Event> starts = events_of(run, "start");
    REQUIRE(starts.size() == 4);
    for (const Event& start : starts)
      CHECK(dist::launch::comes_true([&] { return is_gone(static_cast<pid_t>(integer_of(start, "pid"))); }));
  }
  const i64 saved = load_latest(run + "/checkpoints").value().step;
  CHECK(saved >= 50);
  CHECK(saved % 50 == 0);
  finish(place, "run", 4);
  check_ledger(run, saved, kSteps - 1);
  check_samples(run, saved, kSteps - 1);
  CHECK(verify_ledger(run + "/ledger.1").holds());
  CHECK(is_same(quiet.end, load_latest(run + "/checkpoints").value(), kClocks));
}

TEST_CASE("a resumed run with a kill verifies, takes more steps when it is told to, and one that begins anew moves the checkpoints away") {
  const TemporaryFolder place;
  write_small_task(place.path());
  const std::string run = place.path() + "/run";
  TrainingJob first(place, "run", 3, {"train.steps=20"});
  REQUIRE(first.wait() == 0);
  TrainingJob second(place, "run", 3, {"train.steps=80"}, "kill:1@40");
  const int code = second.wait();
  const std::string log = second.log();
  CAPTURE(log);
  REQUIRE(code == 0);
  REQUIRE(events_of(run, "heal").size() == 1);
  check_ledger(run + "/ledger.1", 0, 19);
  check_ledger(run, 20, 79);
  TrainingJob anew(place, "run", 2, {"train.steps=10", "--resume", "never"});
  REQUIRE(anew.wait() == 0);
  check_ledger(run + "/ledger.2", 20, 79);
  check_ledger(run, 0, 9);
  CHECK(load_latest(run + "/checkpoints").value().step == 10);
  CHECK(load_latest(run + "/checkpoints.1").value().step == 80);
}

}  // namespace
}  // namespace resilin::tool
