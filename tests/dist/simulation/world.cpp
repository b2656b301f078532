// tests/dist/simulation/world.cpp -- the virtual clock, the ways between the machines, and what each machine's actions do.
#include "tests/dist/simulation/world.h"

#include <algorithm>

#include "resilin/base/overloaded.h"
#include "resilin/dist/membership/choose.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist::simulation {
namespace {

constexpr std::uint64_t kFirstSize = 3;
constexpr std::uint64_t kMs = 1000;
constexpr std::uint64_t kFirstChief = 1'000'000;  // connections of Coordinators begin here, those of ranks are their instances

std::string address_in(std::uint64_t uuid, std::uint64_t instance) { return cat("address of ", instance, " in attempt ", uuid); }

}  // namespace

std::uint64_t Chance::next() {
  // Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

World::Rank::Rank(std::uint64_t number, Fault fault)
    : instance(number),
      member({.instance = number, .attempt_timeout_ms = 1500, .store_grace_ms = 3000, .watch_ms = 30'000, .fault = fault}),
      votes(number, fault) {
  client.connection = client.writer = number;
}

World::World(std::uint64_t seed, Fault fault, bool tells_story) : chance_(seed), fault_(fault), tells_story_(tells_story) {
  for (std::size_t i = 0; i < 2; ++i) {
    chiefs_.push_back(std::make_unique<Chief>(
        CoordinatorOptions{.first_size = kFirstSize, .attempt_timeout_ms = 2500, .watch_ms = 30'000, .fault = fault}));
    Client& client = chiefs_.back()->client;
    client.connection = client.writer = kFirstChief + i;
    later(delay_us(), ChiefTick{i});
  }
  for (std::size_t i = 0; i < kFirstSize; ++i) later(delay_us(), Start{});
  faults_left_ = chance_.below(5);
  if (chance_.one_in(2)) later(chance_.between(100, 1500) * kMs, Start{});  // a joiner
  later(chance_.between(50, 1000) * kMs, Disturb{});
  later(500 * kMs, StoreTick{});
  if (chance_.one_in(3)) later(chance_.between(200, 2000) * kMs, Meddle{});
}

Report World::run() {
  constexpr std::uint64_t kLastsUs = 30'000'000, kMostEvents = 30'000;
  for (const std::unique_ptr<Chief>& chief : chiefs_) step(*chief, coordinator_event::Started{});
  while (!due_.empty() && invariants_.violation().empty()) {
    const Due next = due_.top();
    due_.pop();
    now_us_ = next.time_us;
    Item item = std::move(slots_[next.slot]);
    free_slots_.push_back(next.slot);
    ++report_.events;
    happen(item);
    if (report_.events > kMostEvents) invariants_.fail(cat("L3: ", kMostEvents, " events have happened; the machines run in a circle"));
    if (now_us_ > kLastsUs || is_settled()) break;
  }
  if (invariants_.violation().empty()) check_end();
  report_.violation = invariants_.violation();
  report_.steps = invariants_.steps();
  report_.went_on = report_.steps > steps_at_last_fault_;
  return std::move(report_);
}

void World::at(std::uint64_t time_us, Item item) {
  std::size_t slot = slots_.size();
  if (free_slots_.empty()) {
    slots_.push_back(std::move(item));
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = std::move(item);
  }
  due_.push({time_us, ++order_, slot});
}

std::uint64_t World::delay_us() {
  // From 0.1 ms to 100 ms, each order of magnitude as likely as the others.
  const std::uint64_t scale = std::uint64_t{100} << chance_.below(11);
  return chance_.between(scale / 2, scale);
}

bool World::defer(const Client& client, Item& item) {
  if (client.stopped_until_us <= now_us_) return false;
  at(client.stopped_until_us, std::move(item));
  return true;
}

void World::tell(const std::string& text) {
  if (tells_story_) report_.story += cat(now_us_ / kMs, " ms: ", text, "\n");
}

World::Rank* World::find(std::uint64_t instance) {
  const bool exists = instance >= 1 && instance <= ranks_.size();
  return exists && ranks_[instance - 1]->client.is_alive ? ranks_[instance - 1].get() : nullptr;
}

World::Client* World::client_of(std::uint64_t connection) {
  if (connection >= kFirstChief) return &chiefs_[connection - kFirstChief]->client;
  Rank* const rank = find(connection);
  return rank == nullptr ? nullptr : &rank->client;
}

std::vector<World::Rank*> World::live_ranks() {
  std::vector<Rank*> live;
  for (const std::unique_ptr<Rank>& rank : ranks_) {
    if (rank->client.is_alive) live.push_back(rank.get());
  }
  return live;
}

void World::happen(Item& item) {
  std::visit([this](auto& one) { on(one); }, item);
}

// ---- the store and its clients

void World::ask(Client& client, std::uint64_t id, Request request) {
  request.writer = {client.writer, id};
  if (tells_story_ && request.op == StoreOp::Txn) {
    std::string keys;
    for (const Write& write : request.writes) keys += cat(" ", write.key);
    tell(cat(client.connection, " asks as request ", id, " to write", keys));
  }
  client.open.emplace(id, std::move(request));
  later(delay_us() / 4, ToStore{client.connection, id});
}

void World::on(ToStore& item) {
  Client* const client = client_of(item.connection);
  if (client == nullptr || !client->open.contains(item.id) || !store_is_up_) return;
  const bool is_lossy = now_us_ < lossy_until_us_;
  if (is_lossy && chance_.one_in(4)) {
    tell(cat("request ", item.id, " of ", item.connection, " is lost"));
    return later(200 * kMs, ToStore{item.connection, item.id});
  }
  Request request = client->open.at(item.id);
  request.answered = client->open.begin()->first - 1;
  const std::vector<StoreAnswer> answers = store_.step(RequestArrived{item.connection, item.id, request});
  invariants_.stored(request, store_);
  if (is_lossy && chance_.one_in(4)) {
    tell(cat("the answer to request ", item.id, " of ", item.connection, " is lost"));
    return later(200 * kMs, ToStore{item.connection, item.id});
  }
  answer(answers);
}

void World::answer(const std::vector<StoreAnswer>& answers) {
  for (const StoreAnswer& answer : answers) later(delay_us() / 4, FromStore{answer.connection, answer.id, answer.reply});
}

void World::on(FromStore& item) {
  Client* const client = client_of(item.connection);
  if (client == nullptr || !client->open.contains(item.id)) return;
  if (client->stopped_until_us > now_us_) return at(client->stopped_until_us, FromStore(std::move(item)));
  if (tells_story_ && client->open.at(item.id).op == StoreOp::Txn) {
    tell(cat("request ", item.id, " of ", item.connection, ": ", enum_name(item.reply.status)));
  }
  client->open.erase(item.id);
  if (item.connection >= kFirstChief) {
    step(*chiefs_[item.connection - kFirstChief], coordinator_event::StoreReplied{item.id, std::move(item.reply)});
  } else if (Rank* const rank = find(item.connection)) {
    step(*rank, member_event::StoreReplied{item.id, std::move(item.reply)});
  }
}

void World::on(StoreTick&) {
  if (store_is_up_) answer(store_.step(TimeTold{now_us_ / kMs}));
  later(500 * kMs, StoreTick{});
}

void World::set_timer(Client& client, std::uint64_t deadline_ms) {
  if (deadline_ms > now_us_ / kMs + 100'000) return;
  const std::uint64_t time_us = std::max(now_us_ + 1, deadline_ms * kMs);
  if (client.timer_us > now_us_ && client.timer_us <= time_us) return;
  client.timer_us = time_us;
  at(time_us, Timer{client.connection});
}

void World::on(Timer& item) {
  Client* const client = client_of(item.connection);
  if (client == nullptr) return;
  if (client->stopped_until_us > now_us_) return at(client->stopped_until_us, Timer(item));
  if (item.connection >= kFirstChief) {
    Chief& chief = *chiefs_[item.connection - kFirstChief];
    step(chief, coordinator_event::TimePassed{now_us_ / kMs});
  } else if (Rank* const rank = find(item.connection)) {
    step(*rank, member_event::TimePassed{now_us_ / kMs});
  }
}

// ---- Coordinators

void World::step(Chief& chief, const CoordinatorEvent& event) {
  if (!std::holds_alternative<coordinator_event::TimePassed>(event)) {
    for (CoordinatorRequest& request : chief.coordinator.step(coordinator_event::TimePassed{now_us_ / kMs})) {
      ask(chief.client, request.id, std::move(request.request));
    }
  }
  for (CoordinatorRequest& request : chief.coordinator.step(event)) ask(chief.client, request.id, std::move(request.request));
  set_timer(chief.client, chief.coordinator.next_deadline_ms());
}

void World::on(Beat& item) {
  Rank* const rank = find(item.instance);
  if (rank == nullptr) return;
  if (rank->client.stopped_until_us > now_us_) return at(rank->client.stopped_until_us, Beat(item));
  for (const std::unique_ptr<Chief>& chief : chiefs_) {
    const std::uint64_t steps = rank->votes.applied_steps();
    chief->detector.watch(item.instance, now_us_ / kMs);
    chief->detector.beat(item.instance, now_us_ / kMs, {.step = static_cast<std::int64_t>(steps), .sequence = steps});
  }
  later(300 * kMs, Beat{item.instance});
}

void World::on(ChiefTick& item) {
  Chief& chief = *chiefs_[item.chief];
  if (chief.client.stopped_until_us > now_us_) return at(chief.client.stopped_until_us, ChiefTick(item));
  const bool has_changed = !chief.detector.tick(now_us_ / kMs).empty();
  if (has_changed) {
    std::vector<std::uint64_t> suspects = chief.detector.suspects();
    suspects.insert(suspects.end(), chief.falsely_suspected.begin(), chief.falsely_suspected.end());
    step(chief, coordinator_event::SuspectsAre{std::move(suspects)});
  }
  later(300 * kMs, ChiefTick{item.chief});
}

// ---- ranks

void World::on(Start&) { start_rank(); }

/// Somebody beside the Coordinators opens an attempt of the lineage, as `shrink` does, whatever else is under way.
void World::on(Meddle&) {
  const std::vector<Rank*> live = live_ranks();
  const StoreValue* const current_value = store_.keys().find(kCurrentKey);
  if (!store_is_up_ || live.empty() || current_value == nullptr) return;
  const Current current = decode<Current>(current_value->bytes);
  Handles handles;
  for (const Rank* const rank : live) {
    const bool is_member = std::ranges::find(current.members, rank->instance) != current.members.end();
    if (chance_.one_in(2) && (is_member || rank->member.generation() == 0))
      handles.push_back({rank->instance, is_member ? current.generation : 0});
  }
  if (!continues_base(handles, current.generation)) return;
  const std::uint64_t top = decode<std::uint64_t>(store_.keys().find(kTopKey)->bytes) + 1;
  UsedUuids used = decode<UsedUuids>(store_.keys().find(kUsedKey)->bytes);
  const std::uint64_t uuid = used.runs.back().second + 1;
  used.insert(uuid);
  const Attempt attempt{.uuid = uuid,
                        .generation = top,
                        .base = current.generation,
                        .base_version = current_value->version,
                        .lineage = true,
                        .handles = handles,
                        .digest = digest_of(uuid, handles, true)};
  tell(cat("somebody opens attempt ", uuid, " with ", handles.size(), " members"));
  const Request request{.op = StoreOp::Txn,
                        .writes = {{.key = kTopKey, .bytes = encode(top)},
                                   {.key = kUsedKey, .bytes = encode(used)},
                                   {.key = kPlanKey, .bytes = encode(Plan{.uuid = uuid, .handles = handles})},
                                   {.key = try_key(uuid), .bytes = encode(attempt)}}};
  const std::vector<StoreAnswer> answers = store_.step(RequestArrived{0, 0, request});
  invariants_.stored(request, store_);
  answer(answers);
}

void World::start_rank() {
  ranks_.push_back(std::make_unique<Rank>(ranks_.size() + 1, fault_));
  Rank& rank = *ranks_.back();
  tell(cat("instance ", rank.instance, " starts"));
  step(rank, member_event::Started{});
  later(0, Beat{rank.instance});
}

void World::step(Rank& rank, const MemberEvent& event) {
  const Phase before = rank.member.phase();
  const std::uint64_t uuid = rank.member.attempt().uuid;
  std::vector<MemberAction> actions;
  if (!std::holds_alternative<member_event::TimePassed>(event)) actions = rank.member.step(member_event::TimePassed{now_us_ / kMs});
  for (MemberAction& action : actions) act(rank, action);
  actions = rank.member.step(event);
  for (MemberAction& action : actions) {
    if (const member_action::Finished* finished = std::get_if<member_action::Finished>(&action)) {
      if (before == Phase::Promised && finished->uuid == uuid) invariants_.decided(rank.instance, uuid, finished->verdict);
    }
    act(rank, action);
  }
  if (before == Phase::Idle && rank.member.phase() != Phase::Idle) rank.attempt_since_us = now_us_;
  if (rank.client.is_alive) set_timer(rank.client, rank.member.next_deadline_ms());
}

void World::act(Rank& rank, MemberAction& action) {
  std::visit(
      Overloaded{
          [&](member_action::AskStore& ask_store) { ask(rank.client, ask_store.id, std::move(ask_store.request)); },
          [&](member_action::ForgetStore& forget) { rank.client.open.erase(forget.id); },
          [&](member_action::PrepareMesh& order) { prepare(rank, order.attempt); },
          [&](member_action::Connect& connect) {
            if (connect.address != address_in(connect.uuid, connect.peer.instance)) {
              invariants_.fail(cat("M1: instance ", rank.instance, " connects to \"", connect.address, "\" in attempt ", connect.uuid));
            }
            rank.side_peers = rank.member.attempt().handles;
            send(rank, connect.peer.instance, member_event::HelloHeard{rank.instance, connect.uuid, connect.generation, connect.digest});
          },
          [&](member_action::CloseAdmission& close) {
            if (chance_.one_in(6)) later(delay_us(), Disturb{});  // when it matters most
            const bool is_slow = chance_.one_in(4);
            const std::string blob = rank.votes.close_admission();
            later(is_slow ? delay_us() * 4 : 1, ToMember{rank.instance, member_event::AdmissionClosed{close.uuid, blob}});
          },
          [&](member_action::OpenAdmission&) { act(rank, rank.votes.open_admission()); },
          [&](member_action::DropMesh& drop) { end_mesh(rank, drop.uuid); },
          [&](member_action::TellPeers& tell_peers) { send_all(rank, rank.side_peers, member_event::DecisionHeard{tell_peers.attempt}); },
          [&](member_action::Install& install) {
            tell(
                cat("instance ", rank.instance, " installs generation ", install.attempt.generation, " of attempt ", install.attempt.uuid));
            end_mesh(rank, install.attempt.uuid);
            invariants_.installed(rank.instance, install.before, install.attempt);
            rank.peers = install.attempt.handles;
            if (rank_of(rank.peers, rank.instance) < 0)
              return invariants_.fail(cat("I2: instance ", rank.instance, " installs a list without it"));
            rank.installs = true;
            act(rank, rank.votes.install(install.attempt));
            rank.installs = false;
          },
          [&](member_action::Revoke& revoke) {
            rank.votes.revoke();
            send_all(rank, rank.peers, RevokeFrame{revoke.generation});
          },
          [&](member_action::Finished& finished) {
            if (finished.verdict == Verdict::Abort) ++report_.aborts;
            tell(cat("instance ", rank.instance, " ends attempt ", finished.uuid, ": ", enum_name(finished.verdict), " ", finished.text));
          },
          [&](member_action::Leave& leave) {
            tell(cat("instance ", rank.instance, " leaves: ", leave.text));
            crash(rank);
          }},
      action);
}

void World::prepare(Rank& rank, const Attempt& attempt) {
  if (rank.mesh != 0) invariants_.fail(cat("M2: instance ", rank.instance, " has the mesh of attempt ", rank.mesh, " beside another"));
  rank.mesh = attempt.uuid;
  const std::uint64_t takes_us = chance_.one_in(4) ? delay_us() * 4 : delay_us() / 4;
  if (std::exchange(rank.mesh_fails, false)) {
    return later(takes_us, ToMember{rank.instance, member_event::MeshFailed{attempt.uuid, "as the schedule wants"}});
  }
  const std::string address = address_in(attempt.uuid, rank.instance);
  later(takes_us, ToMember{rank.instance, member_event::MeshPrepared{attempt.uuid, address}});
}

void World::end_mesh(Rank& rank, std::uint64_t uuid) {
  if (rank.mesh != uuid) invariants_.fail(cat("M2: instance ", rank.instance, " ends the mesh of attempt ", uuid, " and has ", rank.mesh));
  rank.mesh = 0;
}

void World::act(Rank& rank, const std::vector<StepAction>& actions) {
  const std::uint64_t mine = static_cast<std::uint64_t>(std::max(0, rank_of(rank.peers, rank.instance)));
  for (const StepAction& action : actions) {
    std::visit(
        Overloaded{[&](const step_action::Compute& compute) {
                     const bool is_fine = !chance_.one_in(20);
                     later(chance_.between(20, 250) * kMs, Computed{rank.instance, {compute.generation, compute.vote, is_fine}});
                   },
                   [&](const step_action::Contribute& part) {
                     invariants_.contributed(mine, part.generation, part.vote);
                     send_all(rank, rank.peers, ContributionFrame{mine, part.generation, part.vote});
                   },
                   [&](const step_action::WorkDone& work) {
                     invariants_.work_done(rank.instance, rank.member.phase(), work.generation, work.vote);
                   },
                   [&](const step_action::Cast& cast_action) {
                     if (cast_action.is_yes) invariants_.voted(mine, cast_action.generation, cast_action.vote);
                     send_all(rank, rank.peers, VoteFrame{mine, cast_action.generation, cast_action.vote, cast_action.is_yes});
                   },
                   [&](const step_action::Apply& apply) {
                     tell(cat("instance ", rank.instance, " applies step ", apply.step, " by vote ", apply.vote, " of generation ",
                              apply.generation, rank.installs ? ", as the outcome" : ""));
                     if (!rank.installs) invariants_.applied_by_votes(rank.instance, rank.member.phase(), apply.generation, apply.vote);
                     invariants_.applied(rank.instance, apply.step, apply.generation, apply.vote);
                   },
                   [&](const step_action::Discard&) {},
                   [&](const step_action::Heal& heal) { send(rank, rank.peers[heal.rank].instance, HealRequest{rank.votes.generation()}); },
                   [&](const step_action::StateLost&) {
                     tell(cat("instance ", rank.instance, " finds nobody with the state"));
                     report_.state_was_lost = true;
                   },
                   [&](const step_action::Diverged&) {
                     invariants_.fail(cat("I6: the members of generation ", rank.votes.generation(), " differ"));
                   }},
        action);
  }
}

// ---- frames

void World::send_all(Rank& from, const Handles& peers, const Frame& frame) {
  for (const Handle& peer : peers) {
    if (peer.instance != from.instance) send(from, peer.instance, frame);
  }
}

void World::send(Rank& from, std::uint64_t to, Frame frame) {
  if (cuts_.contains({std::min(from.instance, to), std::max(from.instance, to)}) || find(to) == nullptr) {
    // Nobody answers: the engine notices, sooner or later.
    if (chance_.one_in(4)) notice(to, from.instance);
    return;
  }
  std::uint64_t& last_us = last_arrival_us_[{from.instance, to}];
  // Meshes of different generations are different ways: only frames of one mesh keep their order. One way for all would hide late frames.
  const bool is_other_mesh =
      std::holds_alternative<member_event::DecisionHeard>(frame) || std::holds_alternative<member_event::HelloHeard>(frame);
  const std::uint64_t time_us = is_other_mesh ? now_us_ + delay_us() : std::max(last_us + 1, now_us_ + delay_us());
  if (!is_other_mesh) last_us = time_us;
  at(time_us, Arrival{from.instance, to, std::move(frame)});
}

void World::on(Arrival& item) {
  Rank* const rank = find(item.to);
  if (rank == nullptr) return;
  if (rank->client.stopped_until_us > now_us_) return at(rank->client.stopped_until_us, Arrival(std::move(item)));
  std::visit(Overloaded{[&](member_event::HelloHeard& hello) { step(*rank, hello); },
                        [&](member_event::DecisionHeard& decision) { step(*rank, decision); },
                        [&](ContributionFrame& frame) {
                          act(*rank, rank->votes.step(step_event::ContributionHeard{frame.rank, frame.generation, frame.vote}));
                        },
                        [&](VoteFrame& frame) {
                          act(*rank, rank->votes.step(step_event::VoteHeard{frame.rank, frame.generation, frame.vote, frame.is_yes}));
                        },
                        [&](RevokeFrame& frame) {
                          step(*rank, member_event::GenerationFailed{frame.generation, {}});
                        },
                        [&](HealRequest& request) {
                          const bool can_heal = rank->votes.generation() == request.generation && rank->votes.has_state();
                          if (!can_heal) return later(50 * kMs, Arrival(std::move(item)));
                          send(*rank, item.from, step_event::Healed{request.generation, rank->votes.applied_steps(), rank->votes.digest()});
                        },
                        [&](step_event::Healed& state) {
                          if (rank->votes.has_state() || rank->votes.generation() != state.generation) return;
                          invariants_.healed(rank->instance, state.step, state.digest);
                          act(*rank, rank->votes.step(state));
                        }},
             item.frame);
}

void World::on(ToMember& item) {
  Rank* const rank = find(item.instance);
  if (rank == nullptr) return;
  if (rank->client.stopped_until_us > now_us_) return at(rank->client.stopped_until_us, ToMember(std::move(item)));
  step(*rank, item.event);
}

void World::on(Computed& item) {
  Rank* const rank = find(item.instance);
  if (rank == nullptr) return;
  if (rank->client.stopped_until_us > now_us_) return at(rank->client.stopped_until_us, Computed(item));
  act(*rank, rank->votes.step(item.event));
}

Report simulate(std::uint64_t seed, Fault fault, bool tells_story) { return World(seed, fault, tells_story).run(); }

}  // namespace resilin::dist::simulation
