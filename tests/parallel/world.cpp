// tests/parallel/world.cpp -- ranks that train as threads of this process.
#include "tests/parallel/world.h"

#include <exception>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/group/process_group.h"
#include "resilin/dist/membership/records.h"

namespace resilin::parallel::testing {
namespace {

struct Killed {};

/// The store as a process sees it that can be killed: it says and hears nothing more.
class MortalStore final : public dist::Store {
 public:
  MortalStore(std::shared_ptr<dist::Store> store, const std::atomic<bool>& killed) : store_(std::move(store)), killed_(killed) {}
  dist::Reply ask(dist::Request request, std::stop_token stop) override {
    require_alive();
    const dist::Reply reply = store_->ask(std::move(request), std::move(stop));
    require_alive();
    return reply;
  }

 private:
  void require_alive() const {
    if (killed_) throw StoreError("this process is dead");
  }
  const std::shared_ptr<dist::Store> store_;
  const std::atomic<bool>& killed_;
};

bool is_vote(const dist::Collective& collective) {
  return collective.kind == dist::CollectiveKind::AllGatherSingle && collective.inputs[0].dtype() == DType::U8;
}
bool is_last_sum(const dist::Collective& collective) {
  return collective.kind == dist::CollectiveKind::AllReduce && collective.inputs[0].dtype() == DType::F64;
}

}  // namespace

World::World(int first_size, i64 steps, i64 features)
    : steps_(steps),
      features_(features),
      store_(dist::make_hash_store()),
      coordinator_({.first_size = static_cast<std::size_t>(first_size)}, store_, nullptr) {}

World::~World() {
  for (const std::unique_ptr<Rank>& rank : ranks_) {
    if (!rank->thread.joinable()) continue;
    kill(rank->number);
    rank->thread.join();
  }
}

int World::start() {
  ranks_.push_back(std::make_unique<Rank>());
  Rank& rank = *ranks_.back();
  rank.number = static_cast<int>(ranks_.size()) - 1;
  rank.instance = static_cast<std::uint64_t>(store_->add(dist::kInstancesKey, 1));
  rank.thread = std::thread([this, &rank] { run(rank); });
  return rank.number;
}

void World::kill(int number) {
  Rank& rank = *ranks_[static_cast<std::size_t>(number)];
  if (rank.killed.exchange(true)) return;
  fabric_.kill(number);
  suspect(number);
}

void World::suspect(int number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  dead_.push_back(ranks_[static_cast<std::size_t>(number)]->instance);
  coordinator_.tell({.instances = dead_, .left = left_});
}

const Trained& World::wait(int number) {
  Rank& rank = *ranks_[static_cast<std::size_t>(number)];
  if (rank.thread.joinable()) rank.thread.join();
  return rank.trained;
}

i64 World::steps_of(int number) const { return ranks_[static_cast<std::size_t>(number)]->steps; }

int World::tries_of(int number, i64 step) const { return ranks_[static_cast<std::size_t>(number)]->tries[static_cast<std::size_t>(step)]; }

void World::run(Rank& rank) {
  try {
    train(rank);
  } catch (const Killed&) {
    rank.trained.error = "killed";
  } catch (const std::exception& error) {
    rank.trained.error = rank.killed ? "killed" : error.what();
    kill(rank.number);  // a process that ends so is dead for the others
  }
}

void World::train(Rank& rank) {
  rank.task = std::make_unique<Task>(features_);
  ElasticOptions options = rank.task->options();
  options.on_event = [&](const TrainingEvent& event) { rank.trained.events.push_back(event); };
  if (change) change(rank.number, options);
  if (prepare) prepare(rank.number, *rank.task, options);
  rank.elastic = std::make_unique<Elastic>(rank.task->state(), rank.task->parameters(), options);
  dist::GroupOptions group;
  group.store = std::make_shared<MortalStore>(store_, rank.killed);
  group.store_grace = std::chrono::milliseconds(100);  // which only a dead one sees
  group.transport = transport ? transport : fabric_.maker(rank.number);
  group.shares_memory = shares_memory;
  group.membership = dist::Membership::Lineage;
  group.instance = rank.instance;
  group.launch_rank = rank.number;
  group.attempt_timeout = attempt_timeout;
  group.changes = rank.elastic->changes();
  dist::ProcessGroup made(group);
  i64 step = -1, last_slot = 0;
  const auto pass = [&](Place place) {
    if (at) at(*this, rank.number, step, place);
    if (rank.killed) throw Killed();
  };
  const HookHandle before = made.register_pre_hook([&](const dist::CollectiveEvent& event) {
    if (event.collective.kind == dist::CollectiveKind::AllReduceCoalesced) pass(Place::BeforeSums);
    if (is_last_sum(event.collective)) pass(Place::BeforeLastSum);
    if (is_vote(event.collective)) pass(Place::BeforeVote);
  });
  const HookHandle after = made.register_post_hook([&](const dist::CollectiveEvent& event) {
    if (is_vote(event.collective)) pass(Place::AfterVoteIsOut);
  });
  rank.elastic->join(made);
  if (last_words) rank.elastic->heal();
  while (rank.elastic->next_step() < steps_ || !rank.elastic->is_healed()) {
    const StepReport report = rank.elastic->step(
        [&](const Slot& slot) {
          if (slot.step != step || slot.slot <= last_slot) ++rank.tries[static_cast<std::size_t>(slot.step)];
          step = slot.step;
          last_slot = slot.slot;
          pass(Place::BeforeSlot);
          return rank.task->run_slot(slot);
        },
        [&](const Applied& applied) {
          step = applied.step;
          pass(Place::InApply);
          rank.task->apply(applied);
        });
    rank.trained.reports.push_back(report);
    if (at_step) at_step(*this, rank.number, report);
    rank.steps = rank.elastic->next_step();
    if (report.leaves) break;
  }
  if (last_words) {
    rank.elastic->finish([&] {
      last_words(*this, rank.number);
      if (rank.killed) throw Killed();
    });
  }
  rank.trained.digest = rank.task->digest();
  rank.trained.steps = rank.elastic->next_step();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    left_.push_back(rank.instance);
    coordinator_.tell({.instances = dead_, .left = left_});
  }
  rank.elastic->leave();
}

}  // namespace resilin::parallel::testing
