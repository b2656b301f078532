// tests/dist/recorder/corpus.cpp -- a small world of ranks: programs of collectives, compute times, clocks, and one fault.
#include "tests/dist/recorder/corpus.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <vector>

#include "resilin/base/hash.h"
#include "resilin/base/text.h"
#include "resilin/dist/recorder/recorder.h"

namespace resilin::dist::testing {
namespace {

using Time = std::uint64_t;  // nanoseconds of the world
constexpr Time kMs = 1'000'000;
constexpr Time kSecond = 1000 * kMs;
constexpr Time kBeat = 100 * kMs;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + engine_() % (high - low + 1); }
  bool chance(std::uint64_t percent) { return between(1, 100) <= percent; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[between(0, list.size() - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

class WorldClock final : public Clock {
 public:
  std::chrono::nanoseconds now() const override { return std::chrono::nanoseconds(*world_ + offset_); }
  void wait_until(std::condition_variable&, std::unique_lock<std::mutex>&, std::chrono::nanoseconds) override {}
  WorldClock(const Time& world, std::uint64_t offset) : world_(&world), offset_(offset) {}

 private:
  const Time* world_;
  std::uint64_t offset_;
};

struct Group {
  std::uint32_t id = 0;
  std::string name;
  std::vector<std::int32_t> members;
};

/// A line of a program.
struct Action {
  enum Kind { Step, Compute, Issue, Wait } kind = Compute;
  std::uint64_t step = 0;
  Time compute_ns = 0;
  std::size_t group = 0;
  IssuedWork work = {};
  std::size_t name = 0;  // of the operation that is issued or waited for, within the program
};

std::uint64_t signature_of(const IssuedWork& work) {
  std::uint64_t hash = hash_mix(static_cast<std::uint64_t>(work.op), static_cast<std::uint64_t>(work.dtype));
  hash = hash_mix(hash, static_cast<std::uint64_t>(work.reduce));
  return hash_mix(hash_mix(hash, static_cast<std::uint64_t>(work.root)), work.input_elements) | 1;
}

struct Issued {
  WorkMark mark;
  std::size_t group = 0;
  std::uint64_t sequence = 0;
  bool done = false;
};

struct Rank {
  std::unique_ptr<WorldClock> clock;
  std::unique_ptr<Recorder> recorder;
  std::vector<Action> program;
  std::size_t next = 0;
  std::map<std::size_t, Issued> issued;  // by name
  std::map<std::size_t, std::uint64_t> sequences;
  std::optional<std::size_t> waits_for;
  std::set<std::int32_t> hungry_for;
  bool dead = false;
  bool halted = false;  // the job failed here
  bool left = false;
  Time last_beat = 0;
};

struct Round {
  std::map<std::int32_t, std::size_t> arrived;  // rank -> name of its operation
  std::uint64_t signature = 0;
  bool over = false;  // done, or never to be
};

class World {
 public:
  World(Fault fault, std::uint64_t seed, std::string folder)
      : dice_(hash_mix(seed, static_cast<std::uint64_t>(fault))), fault_(fault), folder_(std::move(folder)) {}

  Label play() {
    make_ranks();
    make_groups();
    make_programs();
    inject();
    for (std::int32_t rank = 0; rank < size_; ++rank) at(dice_.between(0, 20 * kMs), [this, rank] { run(rank); });
    while (!events_.empty() && now_ < end_) {
      const Event event = events_.top();
      if (event.time > end_) break;
      events_.pop();
      beat_until(event.time);
      now_ = event.time;
      event.act();
    }
    if (end_ == kNever) end_ = now_ + dice_.between(2, 5) * kSecond;
    beat_until(end_);
    now_ = end_;
    save();
    return label_;
  }

 private:
  struct Event {
    Time time = 0;
    std::uint64_t order = 0;
    std::function<void()> act;
    bool operator<(const Event& other) const { return std::pair(time, order) > std::pair(other.time, other.order); }
  };
  static constexpr Time kNever = ~Time{0} / 4;

  void at(Time time, std::function<void()> act) { events_.push({time, ++events_made_, std::move(act)}); }
  void soon(std::function<void()> act) { at(now_ + dice_.between(20'000, 900'000), std::move(act)); }
  Rank& rank(std::int32_t number) { return ranks_[static_cast<std::size_t>(number)]; }

  void make_ranks();
  void make_groups();
  void make_programs();
  IssuedWork random_work(const Group& group);
  void inject();
  void inject_program_fault();
  std::size_t random_issue(std::int32_t number, std::uint64_t first_step, std::uint64_t last_step);

  void beat_until(Time time);
  void run(std::int32_t number);
  bool perform(std::int32_t number, const Action& action);
  void issue(std::int32_t number, const Action& action);
  void arrive(std::int32_t number, std::size_t name);
  void complete(std::size_t group, std::uint64_t sequence);
  void finish(std::int32_t number, std::size_t name, RecordedStatus status);
  void fail_all(std::size_t group, std::uint64_t sequence, RecordedStatus status, std::int32_t origin);
  void halt(std::int32_t number, std::size_t group, std::uint64_t sequence, RecordedStatus status, std::int32_t origin);
  void kill(std::int32_t number);
  void leave(std::int32_t number);
  void save();

  Dice dice_;
  Fault fault_;
  std::string folder_;
  Label label_;
  std::int32_t size_ = 0;
  Time now_ = 0;
  Time end_ = kNever;
  Time timeout_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t generation_ = 0;
  std::size_t window_ = 0;  // operations that run ahead of the wait
  bool ring_ = false;       // a rank waits for its left neighbour only
  bool failed_ = false;
  std::vector<Rank> ranks_;
  std::vector<Group> groups_;
  std::map<std::pair<std::size_t, std::uint64_t>, Round> rounds_;
  std::priority_queue<Event> events_;
  std::uint64_t events_made_ = 0;
};

void World::make_ranks() {
  size_ = static_cast<std::int32_t>(dice_.between(3, 8));
  generation_ = dice_.between(1, 9);
  timeout_ = dice_.between(100, 300) * kSecond;
  const std::uint64_t hosts = dice_.between(1, 3);
  const bool knows_clocks = dice_.chance(50);
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t host = 0; host < hosts; ++host) offsets.push_back(dice_.between(1, 1'000'000) * kSecond + dice_.between(0, kSecond));
  ranks_.resize(static_cast<std::size_t>(size_));
  const std::size_t records = dice_.of<std::size_t>({512, 1024, 2048});
  for (std::int32_t number = 0; number < size_; ++number) {
    const std::uint64_t host = static_cast<std::uint64_t>(number) * hosts / static_cast<std::uint64_t>(size_);
    RecorderOptions options;
    options.folder = folder_ + "/live";
    options.job = "corpus";
    options.host = cat("host", host);
    options.backend = "fake";
    options.rank = number;
    options.world = size_;
    options.instance = dice_.between(1, ~0ull - 1);
    options.clock_domain = knows_clocks ? host + 1 : 0;
    options.wall_now = std::chrono::nanoseconds(1'700'000'000 * kSecond + dice_.between(0, 50 * kMs));
    options.beat_interval = std::chrono::nanoseconds(kBeat);
    options.records = records;
    Rank& its = rank(number);
    its.clock = std::make_unique<WorldClock>(now_, offsets[host]);
    its.recorder = std::make_unique<Recorder>(options, *its.clock);
  }
}

void World::make_groups() {
  Group world{0, "world", {}};
  for (std::int32_t number = 0; number < size_; ++number) world.members.push_back(number);
  groups_.push_back(world);
  for (std::uint64_t extra = dice_.between(0, 2); extra > 0; --extra) {
    Group group{static_cast<std::uint32_t>(groups_.size()), cat("part", groups_.size()), {}};
    for (std::int32_t number = 0; number < size_; ++number) {
      if (dice_.chance(60)) group.members.push_back(number);
    }
    if (group.members.size() >= 2) groups_.push_back(group);
  }
  for (Rank& its : ranks_) {
    for (const Group& group : groups_) its.recorder->define_group({group.id, generation_, group.name, "", group.members});
  }
}

IssuedWork World::random_work(const Group& group) {
  IssuedWork work;
  work.op = dice_.of<CollectiveKind>({CollectiveKind::AllReduce, CollectiveKind::AllReduce, CollectiveKind::AllReduce,
                                      CollectiveKind::AllGatherSingle, CollectiveKind::ReduceScatterSingle, CollectiveKind::Broadcast,
                                      CollectiveKind::AllToAllSingle, CollectiveKind::Barrier});
  work.group = group.id;
  work.generation = generation_;
  work.timeout_ms = static_cast<std::uint32_t>(timeout_ / kMs);
  if (work.op == CollectiveKind::Barrier) return work;
  work.dtype = dice_.of<DType>({DType::F32, DType::BF16, DType::F64, DType::I64});
  work.input_elements = dice_.of<std::uint64_t>({1, 128, 1024, 4096, 65536, 1u << 20}) * 840;
  work.output_elements = work.input_elements;
  work.bytes = work.input_elements * static_cast<std::uint64_t>(size_bytes(work.dtype));
  if (work.op == CollectiveKind::AllReduce || work.op == CollectiveKind::ReduceScatterSingle) work.reduce = ReduceOp::Sum;
  if (work.op == CollectiveKind::Broadcast) work.root = dice_.of(group.members);
  return work;
}

void World::make_programs() {
  steps_ = dice_.between(6, 20);
  window_ = dice_.between(0, 3);
  ring_ = dice_.chance(40);
  const Time compute = dice_.between(5, 60) * kMs;
  std::vector<std::pair<std::size_t, IssuedWork>> body;
  for (std::uint64_t count = dice_.between(2, 6); count > 0; --count) {
    const std::size_t group = count == 1 ? 0 : dice_.between(0, groups_.size() - 1);
    body.emplace_back(group, random_work(groups_[group]));
    // Buckets of one size follow each other.
    while (dice_.chance(30)) body.push_back(body.back());
  }
  for (std::int32_t number = 0; number < size_; ++number) {
    std::vector<Action>& program = rank(number).program;
    std::vector<std::size_t> open;
    for (std::uint64_t step = 1; step <= steps_; ++step) {
      program.push_back({.kind = Action::Step, .step = step});
      for (const auto& [group, work] : body) {
        const std::vector<std::int32_t>& members = groups_[group].members;
        program.push_back({.kind = Action::Compute, .step = step, .compute_ns = dice_.between(compute / 2, compute * 3 / 2)});
        if (std::find(members.begin(), members.end(), number) == members.end()) continue;
        open.push_back(program.size());
        program.push_back({.kind = Action::Issue, .step = step, .group = group, .work = work, .name = program.size()});
        while (open.size() > window_) {
          program.push_back({.kind = Action::Wait, .step = step, .name = open.front()});
          open.erase(open.begin());
        }
      }
      for (const std::size_t name : open) program.push_back({.kind = Action::Wait, .step = step, .name = name});
      open.clear();
    }
  }
}

std::size_t World::random_issue(std::int32_t number, std::uint64_t first_step, std::uint64_t last_step) {
  std::vector<std::size_t> places;
  const std::vector<Action>& program = rank(number).program;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program[i].kind == Action::Issue && program[i].step >= first_step && program[i].step <= last_step) places.push_back(i);
  }
  return dice_.of(places);
}

void World::inject() {
  label_.fault = fault_;
  label_.rank = static_cast<std::int32_t>(dice_.between(0, static_cast<std::uint64_t>(size_) - 1));
  Rank& its = rank(label_.rank);
  if (fault_ == Fault::HealthySlow) {
    for (Action& action : its.program) action.compute_ns *= 10;
    Time total = 0;
    for (const Action& action : its.program) total += action.compute_ns;
    end_ = total * dice_.between(50, 95) / 100;
    label_.words = cat("rank ", label_.rank, " computes for ten times as long as the others");
  } else if (fault_ == Fault::Stuck) {
    const std::size_t place = random_issue(label_.rank, 3, steps_);
    its.program[place - 1].compute_ns = kNever + 1;
    label_.words = cat("rank ", label_.rank, " is stuck before its line ", place, ", in step ", its.program[place].step);
  } else if (fault_ == Fault::Kill && dice_.chance(50)) {
    Time total = 0;
    for (const Action& action : its.program) total += action.compute_ns;
    at(total * dice_.between(5, 90) / 100, [this] { kill(label_.rank); });
    label_.words = cat("rank ", label_.rank, " is killed at any time");
  } else if (fault_ == Fault::Kill) {
    const std::size_t place = random_issue(label_.rank, 2, steps_);
    its.program.insert(its.program.begin() + static_cast<std::ptrdiff_t>(place) + 1, {.kind = Action::Compute, .compute_ns = kNever});
    label_.words = cat("rank ", label_.rank, " is killed after it issued line ", place);
  } else {
    inject_program_fault();
  }
}

void World::inject_program_fault() {
  Rank& its = rank(label_.rank);
  const std::size_t place = random_issue(label_.rank, 3, steps_);
  Action& action = its.program[place];
  label_.words = cat("rank ", label_.rank, ", step ", action.step, ", line ", place, ": ");
  if (fault_ == Fault::Skip) {
    label_.words += "leaves the operation out";
    const std::size_t name = action.name;
    its.program.erase(
        std::remove_if(its.program.begin(), its.program.end(),
                       [name](const Action& a) { return (a.kind == Action::Issue || a.kind == Action::Wait) && a.name == name; }),
        its.program.end());
  } else if (fault_ == Fault::Extra) {
    Action extra{.kind = Action::Issue, .step = action.step, .group = action.group, .name = its.program.size()};
    extra.work = dice_.chance(50) ? action.work : random_work(groups_[action.group]);
    const Action wait{.kind = Action::Wait, .step = action.step, .name = extra.name};
    label_.words += cat("one more ", name_of(extra.work.op), " of ", extra.work.input_elements);
    const auto where = its.program.begin() + static_cast<std::ptrdiff_t>(place);
    const auto inserted = its.program.insert(where, extra);
    if (window_ == 0) its.program.insert(inserted + 1, wait);
  } else {
    IssuedWork& work = action.work;
    const std::uint64_t way = work.op == CollectiveKind::Barrier ? 3 : dice_.between(0, 3);
    if (way == 0) work.dtype = work.dtype == DType::F32 ? DType::BF16 : DType::F32;
    if (way == 1) work.input_elements = work.input_elements / 840 * dice_.between(400, 839);
    if (way == 2 && work.reduce != ReduceOp::None)
      work.reduce = ReduceOp::Max;
    else if (way >= 2)
      work.op = work.op == CollectiveKind::AllGatherSingle ? CollectiveKind::AllToAllSingle : CollectiveKind::AllGatherSingle;
    work.bytes = work.input_elements * static_cast<std::uint64_t>(size_bytes(work.dtype));
    label_.words += cat("operation is ", name_of(work.op), " ", work.dtype, " of ", work.input_elements);
  }
}

void World::beat_until(Time time) {
  const Time before = now_;
  for (Rank& its : ranks_) {
    if (its.dead || its.left || time < its.last_beat + kBeat) continue;
    its.last_beat = time - (time - its.last_beat) % kBeat;
    now_ = std::max(before, its.last_beat);
    its.recorder->beat();
  }
  now_ = before;
}

void World::run(std::int32_t number) {
  Rank& its = rank(number);
  while (!its.dead && !its.halted && !its.left) {
    if (its.next == its.program.size()) return leave(number);
    const std::size_t line = its.next++;
    if (!perform(number, its.program[line])) return;
  }
}

/// False when the program goes on later.
bool World::perform(std::int32_t number, const Action& action) {
  Rank& its = rank(number);
  if (action.kind == Action::Step) its.recorder->begin_step(action.step);
  if (action.kind == Action::Issue) issue(number, action);
  if (action.kind == Action::Compute) {
    if (action.compute_ns == kNever)
      at(now_ + dice_.between(0, 2 * kMs), [this, number] { kill(number); });
    else if (action.compute_ns < kNever)
      at(now_ + action.compute_ns, [this, number] { run(number); });
    return false;
  }
  if (action.kind == Action::Wait && !its.issued.at(action.name).done) {
    its.recorder->begin_wait(its.issued.at(action.name).mark);
    its.waits_for = action.name;
    return false;
  }
  return true;
}

void World::issue(std::int32_t number, const Action& action) {
  Rank& its = rank(number);
  IssuedWork work = action.work;
  work.sequence = ++its.sequences[action.group];
  work.signature = signature_of(work);
  const std::vector<i64> dims = {static_cast<i64>(work.input_elements)};
  work.dims = dims;
  const WorkMark mark = its.recorder->issue(work);
  its.issued[action.name] = {mark, action.group, work.sequence, false};
  const std::size_t name = action.name;
  const std::uint64_t signature = work.signature;
  Round& round = rounds_[{action.group, work.sequence}];
  if (round.signature == 0) round.signature = signature;
  const bool fits = round.signature == signature;
  round.over = round.over || !fits;
  soon([this, number, name, mark] {
    if (rank(number).dead || rank(number).halted) return;
    rank(number).recorder->start(mark);
    arrive(number, name);
  });
  const std::size_t group = action.group;
  const std::uint64_t sequence = work.sequence;
  if (fits) return;
  soon([this, number, group, sequence] {
    if (!rank(number).dead) fail_all(group, sequence, RecordedStatus::Mismatch, number);
  });
}

void World::arrive(std::int32_t number, std::size_t name) {
  const Issued& issued = rank(number).issued.at(name);
  Round& round = rounds_[{issued.group, issued.sequence}];
  const std::vector<std::int32_t>& members = groups_[issued.group].members;
  round.arrived[number] = name;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::int32_t member = members[i];
    const bool neighbour = !ring_ || members[(i + 1) % members.size()] == number;
    if (member != number && neighbour && round.arrived.count(member) == 0) {
      rank(number).recorder->begin_peer_wait(member, issued.mark);
      rank(number).hungry_for.insert(member);
    }
    if (member != number && round.arrived.count(member) != 0 && rank(member).hungry_for.erase(number) != 0 && !rank(member).dead) {
      rank(member).recorder->end_peer_wait(number);
      rank(member).recorder->count_received(number, 64);
      rank(number).recorder->count_sent(member, 64);
    }
  }
  const std::size_t group = issued.group;
  const std::uint64_t sequence = issued.sequence;
  at(now_ + timeout_, [this, number, name, group, sequence] {
    const Rank& its = rank(number);
    if (!its.dead && !its.halted && !its.issued.at(name).done) fail_all(group, sequence, RecordedStatus::TimedOut, number);
  });
  if (round.arrived.size() == members.size()) complete(group, sequence);
}

void World::complete(std::size_t group, std::uint64_t sequence) {
  Round& round = rounds_[{group, sequence}];
  if (round.over) return;
  round.over = true;
  for (const auto& [number, name] : round.arrived) {
    const std::int32_t member = number;
    const std::size_t its_name = name;
    soon([this, member, its_name] { finish(member, its_name, RecordedStatus::Success); });
  }
}

void World::finish(std::int32_t number, std::size_t name, RecordedStatus status) {
  Rank& its = rank(number);
  if (its.dead || its.halted) return;
  Issued& issued = its.issued.at(name);
  issued.done = true;
  its.recorder->finish(issued.mark, status);
  if (its.waits_for != name) return;
  its.waits_for.reset();
  its.recorder->end_wait(issued.mark);
  run(number);
}

/// A rank found that the operation fails; it revokes the generation, and every rank learns of it.
void World::fail_all(std::size_t group, std::uint64_t sequence, RecordedStatus status, std::int32_t origin) {
  if (failed_) return;
  failed_ = true;
  for (std::int32_t number = 0; number < size_; ++number) {
    soon([this, number, group, sequence, status, origin] { halt(number, group, sequence, status, origin); });
  }
  end_ = now_ + dice_.between(20, 5000) * kMs;
}

void World::halt(std::int32_t number, std::size_t group, std::uint64_t sequence, RecordedStatus status, std::int32_t origin) {
  Rank& its = rank(number);
  if (its.dead || its.halted || its.left) return;
  its.recorder->revoke(generation_, origin, 1);
  for (auto& [name, issued] : its.issued) {
    if (issued.done) continue;
    const bool itself = issued.group == group && issued.sequence == sequence;
    its.recorder->finish(issued.mark, itself ? status : RecordedStatus::Failed);
    issued.done = true;
    if (its.waits_for == name) its.recorder->end_wait(issued.mark);
  }
  its.halted = true;
}

void World::kill(std::int32_t number) {
  Rank& its = rank(number);
  if (its.left || its.dead) return;
  its.dead = true;
  if (dice_.chance(40)) {
    end_ = now_ + dice_.between(2500, 20'000) * kMs;  // nobody notices before somebody asks for the recordings
    return;
  }
  const LossEvidence evidence = dice_.of<LossEvidence>({LossEvidence::Engine, LossEvidence::Exit, LossEvidence::Heartbeat});
  const Time noticed = now_ + (evidence == LossEvidence::Heartbeat ? 1100 : dice_.between(2, 20)) * kMs;
  const std::int32_t witness = static_cast<std::int32_t>(
      (static_cast<std::uint64_t>(number) + dice_.between(1, static_cast<std::uint64_t>(size_) - 1)) % static_cast<std::uint64_t>(size_));
  end_ = noticed + dice_.between(20, 5000) * kMs;
  at(noticed, [this, number, witness, evidence] {
    if (rank(witness).left) return;
    rank(witness).recorder->lose_peer(number, evidence, generation_);
    const Time end = end_;
    fail_all(groups_.size(), 0, RecordedStatus::PeerLost, witness);
    end_ = end;
  });
}

void World::leave(std::int32_t number) {
  Rank& its = rank(number);
  its.left = true;
  its.recorder->leave();
  // Whoever still waits for it hears that it left.
  for (std::int32_t other = 0; other < size_; ++other) {
    soon([this, other, number] {
      const Rank& waiting = rank(other);
      if (waiting.dead || waiting.halted || !waiting.waits_for) return;
      const Issued& issued = waiting.issued.at(*waiting.waits_for);
      const std::vector<std::int32_t>& members = groups_[issued.group].members;
      const Round& round = rounds_[{issued.group, issued.sequence}];
      const bool needs = std::find(members.begin(), members.end(), number) != members.end() && round.arrived.count(number) == 0;
      if (needs) fail_all(issued.group, issued.sequence, RecordedStatus::PeerLeft, other);
    });
  }
}

void World::save() {
  for (Rank& its : ranks_) {
    const std::filesystem::path live = its.recorder->path();
    its.recorder->save((folder_ + "/" + live.filename().string()).c_str());
  }
}

FindingKind kind_of(Fault fault) {
  switch (fault) {
    case Fault::Kill: return FindingKind::DeadRank;
    case Fault::Skip: return FindingKind::MissingOp;
    case Fault::Extra: return FindingKind::ExtraOp;
    case Fault::Mismatch: return FindingKind::Mismatch;
    case Fault::Stuck: return FindingKind::Stuck;
    case Fault::HealthySlow: break;
  }
  return FindingKind::Straggler;
}

}  // namespace

Label record_run(Fault fault, std::uint64_t seed, const std::string& folder) { return World(fault, seed, folder).play(); }

bool is_right(const Label& label, const Analysis& analysis) {
  const std::vector<std::int32_t> itself = {label.rank};
  if (label.fault == Fault::HealthySlow) {
    return std::ranges::all_of(analysis.findings, [&](const Finding& finding) { return !finding.blames && finding.ranks == itself; });
  }
  if (analysis.findings.empty()) return false;
  const Finding& first = analysis.findings.front();
  return first.blames && first.kind == kind_of(label.fault) && first.ranks == itself;
}

bool names_straggler(const Label& label, const Analysis& analysis) {
  return std::ranges::any_of(analysis.findings, [&](const Finding& finding) {
    return finding.kind == FindingKind::Straggler && finding.ranks == std::vector<std::int32_t>{label.rank};
  });
}

}  // namespace resilin::dist::testing
