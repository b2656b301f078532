// tests/parallel/elastic_test.cpp -- steps are taken by all or by none, whoever is lost, and the state stays the undisturbed one.
#include "resilin/parallel/elastic.h"

#include <array>
#include <atomic>
#include <stdexcept>
#include <variant>

#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/overloaded.h"
#include "resilin/base/text.h"
#include "resilin/io/checkpoint.h"

#include "tests/parallel/world.h"
#include "tests/support/temporary_folder.h"

namespace resilin::parallel {
namespace {

using testing::Place;
using testing::Task;
using testing::Trained;
using testing::World;

constexpr i64 kSteps = 30;

/// What happened to it, for one who looks at a failure.
std::string story_of(const Trained& trained) {
  std::string story;
  for (const TrainingEvent& event : trained.events) {
    std::visit(Overloaded{[&](const training_event::Generation& one) {
                            story += cat("\n  generation ", one.generation, ": ", one.members, " at step ", one.step);
                          },
                          [&](const training_event::Lost& one) {
                            story += cat("\n  lost ", one.generation, " at step ", one.step, ": ", one.error);
                          },
                          [&](const training_event::InDoubt& one) { story += cat("\n  in doubt at step ", one.step, ": ", one.committed); },
                          [&](const training_event::Healed& one) { story += cat("\n  healed at step ", one.step); }},
               event);
  }
  return story;
}

/// Of a list of ranks: all have taken all steps, and their state is that of the run without faults.
void check_whole(World& world, const std::vector<int>& ranks, i64 steps = kSteps) {
  const std::uint64_t expected = testing::undisturbed(steps);
  for (const int rank : ranks) {
    CAPTURE(rank);
    const Trained& trained = world.wait(rank);
    const std::string story = story_of(trained);
    CAPTURE(story);
    CHECK(trained.error == "");
    CHECK(trained.steps == steps);
    CHECK(trained.digest == expected);
    for (std::size_t i = 1; i < trained.reports.size(); ++i) CHECK(trained.reports[i].step == trained.reports[i - 1].step + 1);
  }
}

TEST_CASE("ranks that train together have the state of one that trains alone") {
  for (const int size : {1, 2, 3, 5}) {
    CAPTURE(size);
    World world(size, kSteps);
    std::vector<int> ranks;
    for (int i = 0; i < size; ++i) ranks.push_back(world.start());
    check_whole(world, ranks);
  }
}

TEST_CASE("a rank that is killed at any place of a step costs no step and no sample") {
  for (const Place place :
       {Place::BeforeSlot, Place::BeforeSums, Place::BeforeLastSum, Place::BeforeVote, Place::AfterVoteIsOut, Place::InApply}) {
    for (const int victim : {0, 2}) {
      CAPTURE(static_cast<int>(place));
      CAPTURE(victim);
      World world(3, kSteps);
      world.at = [&](World& w, int rank, i64 step, Place now) {
        if (rank == victim && step == 11 && now == place) w.kill(rank);
      };
      std::vector<int> ranks;
      for (int i = 0; i < 3; ++i) ranks.push_back(world.start());
      CHECK(world.wait(victim).error == "killed");
      std::erase(ranks, victim);
      check_whole(world, ranks);
    }
  }
}

TEST_CASE("what a rank gives is written down before the others can have all of it: they may commit the step when it dies before its vote") {
  const resilin::testing::TemporaryFolder folder;
  World world(3, kSteps);
  world.change = [&](int rank, ElasticOptions& options) { options.ledger = LedgerOptions{.folder = folder.path(), .rank = rank}; };
  std::array<std::atomic<int>, 3> missing{};
  world.at = [&](World&, int rank, i64 step, Place now) {
    if (now != Place::BeforeLastSum) return;
    const std::string ledger = read_file(cat(folder.path(), "/", rank, ".0.jsonl"));
    if (ledger.find(cat(".", step, ".0\",\"group_rank\"")) == std::string::npos) ++missing[static_cast<std::size_t>(rank)];
  };
  for (int i = 0; i < 3; ++i) world.start();
  check_whole(world, {0, 1, 2});
  for (const std::atomic<int>& of_rank : missing) CHECK(of_rank == 0);
}

// ---- in doubt: rank 1 cast yes and did not see the votes; rank 2 is the one that dies

template <class Event>
std::vector<Event> events_of(const Trained& trained) {
  std::vector<Event> found;
  for (const TrainingEvent& event : trained.events) {
    if (const Event* const one = std::get_if<Event>(&event)) found.push_back(*one);
  }
  return found;
}

/// The outcomes that a rank learned of votes it was in doubt about.
std::vector<bool> outcomes_of(const Trained& trained) {
  std::vector<bool> outcomes;
  for (const training_event::InDoubt& event : events_of<training_event::InDoubt>(trained)) outcomes.push_back(event.committed);
  return outcomes;
}

constexpr i64 kStruck = 7;

TEST_CASE("in doubt: somebody saw all votes and applied, so the step is committed") {
  World world(3, kSteps);
  world.at = [](World& w, int rank, i64 step, Place now) {
    if (rank != 2 || step != kStruck) return;
    if (now == Place::BeforeVote) w.cut(2, 1);  // its vote reaches rank 0 alone
    if (now == Place::AfterVoteIsOut) {
      while (w.steps_of(0) <= kStruck) usleep(500);
      w.kill(2);
    }
  };
  for (int i = 0; i < 3; ++i) world.start();
  check_whole(world, {0, 1});
  CHECK(outcomes_of(world.wait(0)).empty());
  CHECK(outcomes_of(world.wait(1)) == std::vector<bool>{true});
}

TEST_CASE("in doubt: nobody saw the votes and all that are left have cast yes, so the step is committed") {
  World world(3, kSteps);
  std::atomic<int> out{0};
  world.at = [&](World& w, int rank, i64 step, Place now) {
    if (step != kStruck) return;
    if (rank != 2 && now == Place::AfterVoteIsOut) ++out;
    if (rank != 2 || now != Place::BeforeVote) return;
    while (out < 2) usleep(500);
    w.kill(2);
  };
  for (int i = 0; i < 3; ++i) world.start();
  check_whole(world, {0, 1});
  CHECK(outcomes_of(world.wait(0)) == std::vector<bool>{true});
  CHECK(outcomes_of(world.wait(1)) == std::vector<bool>{true});
}

TEST_CASE("in doubt: somebody saw a no, so the step is repeated") {
  World world(3, kSteps);
  bool has_failed = false;
  world.at = [&](World& w, int rank, i64 step, Place now) {
    if (step != kStruck) return;
    if (rank == 2 && now == Place::BeforeSlot && !has_failed) {
      has_failed = true;
      throw std::runtime_error("a slot that fails");
    }
    if (rank == 2 && now == Place::BeforeVote) w.cut(2, 1);
    if (rank == 0 && now == Place::BeforeSlot && w.tries_of(0, kStruck) == 2) w.kill(2);  // it has seen the no and repeats
  };
  for (int i = 0; i < 3; ++i) world.start();
  check_whole(world, {0, 1});
  CHECK(outcomes_of(world.wait(0)).empty());
  CHECK(outcomes_of(world.wait(1)) == std::vector<bool>{false});
}

TEST_CASE("in doubt: nobody saw the votes and somebody has not cast, so the step is repeated") {
  World world(3, kSteps);
  world.at = [](World& w, int rank, i64 step, Place now) {
    if (step != kStruck) return;
    if (rank == 2 && now == Place::BeforeLastSum) w.cut(2, 0);  // which rank 0 waits for in vain
    if (rank == 1 && now == Place::AfterVoteIsOut) w.kill(2);
  };
  for (int i = 0; i < 3; ++i) world.start();
  check_whole(world, {0, 1});
  CHECK(outcomes_of(world.wait(0)).empty());
  CHECK(outcomes_of(world.wait(1)) == std::vector<bool>{false});
}

TEST_CASE("a slot that fails once is repeated by all; one that fails always ends the job with the reason") {
  for (const bool always : {false, true}) {
    CAPTURE(always);
    World world(2, kSteps);
    std::atomic<int> failures{0};
    world.at = [&](World&, int rank, i64 step, Place now) {
      if (rank == 1 && step == kStruck && now == Place::BeforeSlot && (always || failures == 0)) {
        ++failures;
        throw std::runtime_error("no such file: batch 7");
      }
    };
    for (int i = 0; i < 2; ++i) world.start();
    if (!always) {
      check_whole(world, {0, 1});
      continue;
    }
    for (const int rank : {0, 1}) {
      const std::string error = world.wait(rank).error;
      CHECK_MESSAGE(error.find("elastic: step 7 failed 3 times") != std::string::npos, error);
      CHECK_MESSAGE(error.find("slot 4 on rank 1: no such file: batch 7") != std::string::npos, error);
    }
    CHECK(failures == 3);
  }
}

TEST_CASE("a rank that joins reads the state of the others and takes the same steps from there") {
  World world(2, 200);
  std::vector<int> ranks = {world.start(), world.start()};
  while (world.steps_of(0) < 20) usleep(1000);
  ranks.push_back(world.start());
  check_whole(world, ranks, 200);
  const Trained& joined = world.wait(ranks.back());
  REQUIRE(!joined.reports.empty());
  CHECK(joined.reports.front().step >= 20);
  CHECK(joined.reports.front().world == 3);
  REQUIRE(events_of<training_event::Healed>(joined).size() == 1);
  CHECK(events_of<training_event::Healed>(joined)[0].step == joined.reports.front().step);
  for (const int rank : {0, 1}) {
    // At a boundary between steps: nothing was under way that could be lost.
    CHECK(events_of<training_event::Lost>(world.wait(rank)).empty());
    const auto generations = events_of<training_event::Generation>(world.wait(rank));
    REQUIRE(generations.size() == 2);
    CHECK(generations[1].cause == training_event::Generation::Cause::Join);
    CHECK(generations[1].members == std::vector<std::int64_t>{0, 1, 2});
  }
}

TEST_CASE("a change that the program does not let in goes on after its time, and the step under way is repeated") {
  World world(2, 40);
  world.change = [](int, ElasticOptions& options) { options.hold = std::chrono::milliseconds(30); };
  world.at = [](World&, int rank, i64 step, Place now) {
    if (rank == 1 && step >= 5 && step < 9 && now == Place::BeforeSlot) usleep(100'000);
  };
  std::vector<int> ranks = {world.start(), world.start()};
  while (world.steps_of(0) < 5) usleep(1000);
  ranks.push_back(world.start());
  check_whole(world, ranks, 40);
  const Trained& joined = world.wait(2);
  REQUIRE(!joined.reports.empty());
  CHECK(joined.reports.front().step < 9);
}

TEST_CASE("a donor that is killed while others heal costs nothing: the next generation heals them") {
  World world(3, 200);
  std::atomic<bool> struck{false};
  world.change = [&](int rank, ElasticOptions& options) {
    if (rank != 0) return;
    options.on_event = [&, before = options.on_event](const TrainingEvent& event) {
      before(event);
      const auto* const generation = std::get_if<training_event::Generation>(&event);
      // Rank 0 offers its state in this generation, and is gone.
      if (generation != nullptr && generation->cause == training_event::Generation::Cause::Join && !struck.exchange(true)) world.kill(0);
    };
  };
  for (int i = 0; i < 3; ++i) world.start();
  while (world.steps_of(0) < 20) usleep(1000);
  const int joined = world.start();
  CHECK(world.wait(0).error == "killed");
  check_whole(world, {1, 2, joined}, 200);
}

TEST_CASE("a link that is cut without a word costs one of its two ends, and nobody else") {
  World world(3, kSteps);
  world.attempt_timeout = std::chrono::milliseconds(4000);
  world.change = [](int, ElasticOptions& options) { options.step_timeout = std::chrono::milliseconds(1000); };
  world.at = [](World& w, int rank, i64 step, Place now) {
    if (rank == 0 && step == kStruck && now == Place::BeforeSlot) w.cut(1, 2);
  };
  for (int i = 0; i < 3; ++i) world.start();
  check_whole(world, {0, 1});
  const std::string error = world.wait(2).error;
  CHECK_MESSAGE(error.find("evicted") != std::string::npos, error);
}

TEST_CASE("a rank whose state has changed unseen ends, and the others go on") {
  World world(3, 80);
  world.at = [](World& w, int rank, i64 step, Place now) {
    if (rank == 1 && step == 20 && now == Place::BeforeSlot) static_cast<float*>(w.task(1).average().data())[40] += 1;
  };
  for (int i = 0; i < 3; ++i) world.start();
  const std::string error = world.wait(1).error;
  CHECK_MESSAGE(error.find("the state of rank 1 is not that of the majority") != std::string::npos, error);
  check_whole(world, {0, 2}, 80);
}

TEST_CASE("memory that changes between two steps is noticed before the next step whose digest covers it") {
  World world(3, 80);
  world.change = [](int, ElasticOptions& options) { options.digest_every = 1; };
  world.at_step = [](World& w, int rank, const StepReport& report) {
    // The votes on step 21 are about the state as step 20 has left it.
    if (rank == 1 && report.step == 20) static_cast<float*>(w.task(1).average().data())[40] += 1;
  };
  for (int i = 0; i < 3; ++i) world.start();
  const std::string error = world.wait(1).error;
  CHECK_MESSAGE(error.find("before step 22 the state of rank 1 is not that of the majority") != std::string::npos, error);
  check_whole(world, {0, 2}, 80);
}

TEST_CASE("steps with and without protection are the same steps") {
  World world(3, kSteps);
  world.at_step = [](World& w, int rank, const StepReport& report) { w.elastic(rank).set_protects(report.step / 5 % 2 == 1); };
  for (int i = 0; i < 3; ++i) world.start();
  check_whole(world, {0, 1, 2});
  for (const StepReport& report : world.wait(0).reports) {
    CAPTURE(report.step);
    const bool is_protected = report.step == 0 || (report.step - 1) / 5 % 2 == 1;
    CHECK((report.protect_s > 0) == is_protected);
  }
}

TEST_CASE("a rank that is lost in a step without protection ends the job") {
  World world(3, kSteps);
  world.at_step = [](World& w, int rank, const StepReport& report) { w.elastic(rank).set_protects(report.step < 5); };
  world.at = [](World& w, int rank, i64 step, Place now) {
    if (rank == 2 && step == 9 && now == Place::BeforeSums) w.kill(2);
  };
  for (int i = 0; i < 3; ++i) world.start();
  for (const int rank : {0, 1}) CHECK(world.wait(rank).error != "");
}

TEST_CASE("two ranks whose states differ end: nobody knows which one is right") {
  World world(2, 80);
  world.at = [](World& w, int rank, i64 step, Place now) {
    if (rank == 1 && step == 20 && now == Place::BeforeSlot) static_cast<float*>(w.task(1).average().data())[40] += 1;
  };
  for (int i = 0; i < 2; ++i) world.start();
  for (const int rank : {0, 1}) {
    const std::string error = world.wait(rank).error;
    CHECK_MESSAGE(error.find("no majority of the ranks has the same state") != std::string::npos, error);
  }
}

TEST_CASE("a rank that is asked to leave does so after a committed step, and the others go on") {
  World world(3, 60);
  world.at = [](World& w, int rank, i64 step, Place now) {
    if (rank == 1 && step == 9 && now == Place::BeforeSlot) w.elastic(1).request_leave();
  };
  for (int i = 0; i < 3; ++i) world.start();
  const Trained& left = world.wait(1);
  CHECK(left.error == "");
  CHECK(left.steps == 10);
  REQUIRE(!left.reports.empty());
  CHECK(left.reports.back().leaves);
  CHECK(!left.reports.back().all_leave);
  CHECK(left.reports.back().saves);
  CHECK(left.digest == testing::undisturbed(10));
  check_whole(world, {0, 2}, 60);
}

TEST_CASE("all ranks are asked to leave: one of them saves") {
  World world(3, 60);
  world.at = [](World& w, int rank, i64 step, Place now) {
    if (step == 9 && now == Place::BeforeSlot) w.elastic(rank).request_leave();
  };
  for (int i = 0; i < 3; ++i) world.start();
  int savers = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const Trained& left = world.wait(rank);
    CHECK(left.error == "");
    REQUIRE(!left.reports.empty());
    CHECK(left.reports.back().all_leave);
    savers += left.reports.back().saves ? 1 : 0;
  }
  CHECK(savers == 1);
}

TEST_CASE("a checkpoint goes on bit for bit, also with another number of ranks") {
  const resilin::testing::TemporaryFolder folder;
  for (const int size : {3, 2}) {
    CAPTURE(size);
    {
      World world(3, 24);
      world.at_step = [&](World& w, int rank, const StepReport& report) {
        if (report.step == 11 && report.rank == 0) w.elastic(rank).save(folder.path());
      };
      for (int i = 0; i < 3; ++i) world.start();
      check_whole(world, {0, 1, 2}, 24);
    }
    const std::optional<Checkpoint> saved = load_latest(folder.path());
    REQUIRE(saved.has_value());
    CHECK(saved->step == 12);
    World resumed(size, 24);
    resumed.prepare = [&](int, Task& task, ElasticOptions& options) {
      task.state().restore(*saved);
      options.first_step = saved->step;
    };
    std::vector<int> ranks;
    for (int i = 0; i < size; ++i) ranks.push_back(resumed.start());
    check_whole(resumed, ranks, 24);
    CHECK(resumed.wait(0).reports.front().step == 12);
  }
}

TEST_CASE("a rank that the others have gone on without cannot replace the latest checkpoint") {
  const resilin::testing::TemporaryFolder folder;
  World world(3, 60);
  std::string refused;
  world.at = [&](World& w, int rank, i64 step, Place now) {
    if (rank != 2 || step != 9 || now != Place::BeforeSlot) return;
    w.suspect(2);  // it stands still, and its agent thinks that it is dead
    while (w.steps_of(0) < 30) usleep(500);
    try {
      w.elastic(2).save(folder.path());
    } catch (const StaleError& error) {
      refused = error.what();
    }
  };
  world.at_step = [&](World& w, int rank, const StepReport& report) {
    if (report.step == 19 && rank == 0) w.elastic(rank).save(folder.path());
  };
  for (int i = 0; i < 3; ++i) world.start();
  const std::string error = world.wait(2).error;
  CHECK_MESSAGE(error.find("evicted") != std::string::npos, error);
  check_whole(world, {0, 1}, 60);
  CHECK_MESSAGE(refused.find("has a checkpoint of step 20; this one is of step 9") != std::string::npos, refused);
  CHECK(load_latest(folder.path())->step == 20);
}

TEST_CASE("an evicted rank is refused also where the folder has no checkpoint yet") {
  const resilin::testing::TemporaryFolder folder;
  World world(3, 60);
  std::string refused;
  world.at = [&](World& w, int rank, i64 step, Place now) {
    if (rank != 2 || step != 9 || now != Place::BeforeSlot) return;
    w.suspect(2);
    while (w.steps_of(0) < 30) usleep(500);
    try {
      w.elastic(2).save(folder.path());
    } catch (const StaleError& error) {
      refused = error.what();
    }
  };
  for (int i = 0; i < 3; ++i) world.start();
  world.wait(2);
  check_whole(world, {0, 1}, 60);
  CHECK_MESSAGE(refused.find("this rank is in generation 1; the newest one is 2") != std::string::npos, refused);
  CHECK(!load_latest(folder.path()).has_value());
}

TEST_CASE("a rank that is killed and comes back") {
  World world(3, 300);
  world.at = [&](World& w, int rank, i64 step, Place now) {
    if (rank == 1 && step == 25 && now == Place::BeforeVote) w.kill(rank);
  };
  for (int i = 0; i < 3; ++i) world.start();
  CHECK(world.wait(1).error == "killed");
  const int again = world.start();
  check_whole(world, {0, 2, again}, 300);
}

// ---- the end

TEST_CASE("the last words are said once, and who is first when the one before died in its own says them") {
  for (const bool dies : {false, true}) {
    CAPTURE(dies);
    World world(3, kSteps);
    std::atomic<int> said{0};
    world.last_words = [&](World& w, int rank) {
      if (dies && rank == 0) return w.kill(0);
      ++said;
    };
    for (int i = 0; i < 3; ++i) world.start();
    check_whole(world, dies ? std::vector<int>{1, 2} : std::vector<int>{0, 1, 2});
    CHECK(said == 1);
  }
}

TEST_CASE("a rank that joins after the last step, while the last words are said, has the state in the end") {
  World world(3, kSteps);
  world.change = [](int, ElasticOptions& options) { options.hold = std::chrono::milliseconds(200); };
  std::atomic<int> said{0};
  world.last_words = [&](World& w, int rank) {
    ++said;
    if (rank != 0) return;
    w.start();  // nobody admits it: it comes when the hold is over
    const dist::GenerationInfo before = w.elastic(0).group().info();
    for (int i = 0; i < 10'000 && w.elastic(0).group().generation() == before.generation; ++i) usleep(1000);
  };
  for (int i = 0; i < 3; ++i) world.start();
  check_whole(world, {0, 1, 2, 3});
  CHECK(said == 1);
}

TEST_CASE("a rank whose state is to come hears of the end of a change that is held, and joins before the others go") {
  World world(2, kSteps);
  std::atomic<bool> started{false};
  world.last_words = [&](World& w, int rank) {
    if (rank != 0 || started.exchange(true)) return;
    w.start();
    while (!w.elastic(0).group().held_change()) usleep(500);
  };
  for (int i = 0; i < 2; ++i) world.start();
  world.wait(0);
  check_whole(world, {0, 1, 2});
}

}  // namespace
}  // namespace resilin::parallel
