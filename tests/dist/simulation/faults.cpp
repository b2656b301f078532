// tests/dist/simulation/faults.cpp -- what goes wrong in a schedule, and what must be true once all of it is over.
#include <algorithm>

#include "tests/dist/simulation/world.h"

namespace resilin::dist::simulation {
namespace {

constexpr std::uint64_t kMs = 1000;

}  // namespace

void World::on(Disturb&) {
  std::vector<Rank*> live = live_ranks();
  if (faults_left_ == 0 || live.empty()) return;
  --faults_left_;
  Rank& victim = draw_victim(live);
  Rank& other = *live[chance_.below(live.size())];
  switch (chance_.below(10)) {
    case 0:
    case 1:
      tell(cat("fault: instance ", victim.instance, " is killed"));
      if (chance_.one_in(2)) later(chance_.between(1, 500) * kMs, Start{});
      crash(victim);
      break;
    case 2:
      victim.client.stopped_until_us = now_us_ + chance_.between(50, chance_.one_in(2) ? 7000 : 2000) * kMs;
      tell(cat("fault: instance ", victim.instance, " stops until ", victim.client.stopped_until_us / kMs, " ms"));
      break;
    case 3:
    case 4: suspect_falsely(victim); break;
    case 5: cut(victim, other); break;
    case 6:
      lossy_until_us_ = now_us_ + chance_.between(100, 2000) * kMs;
      tell("fault: the store's requests and answers get lost");
      break;
    case 7: stop_store(); break;
    case 8:
      victim.mesh_fails = true;
      tell(cat("fault: the next mesh of instance ", victim.instance, " cannot be made"));
      break;
    default: {
      Chief& chief = *chiefs_[chance_.below(chiefs_.size())];
      chief.client.stopped_until_us = now_us_ + chance_.between(50, 3000) * kMs;
      tell("fault: a Coordinator stops for a while");
    }
  }
  last_fault_us_ = now_us_;
  steps_at_last_fault_ = invariants_.steps();
  // Often while the last one is still being dealt with.
  later((chance_.one_in(3) ? chance_.between(200, 2000) : chance_.between(1, 300)) * kMs, Disturb{});
}

/// Every other time one that has promised, if there is one: then it matters most what happens to it.
World::Rank& World::draw_victim(const std::vector<Rank*>& live) {
  std::vector<Rank*> promised;
  for (Rank* const rank : live) {
    if (rank->member.phase() == Phase::Promised) promised.push_back(rank);
  }
  const std::vector<Rank*>& among = promised.empty() || chance_.one_in(2) ? live : promised;
  return *among[chance_.below(among.size())];
}

void World::crash(Rank& rank) {
  rank.client.is_alive = false;
  if (store_is_up_) answer(store_.step(ConnectionClosed{rank.client.connection}));
  for (Rank* const witness : live_ranks()) {
    if (!chance_.one_in(4)) notice(rank.instance, witness->instance);
  }
}

/// The engine of `witness` finds that it cannot reach `lost`, on the mesh of its attempt and on the installed one.
void World::notice(std::uint64_t lost, std::uint64_t witness) {
  Rank* const rank = find(witness);
  if (rank == nullptr) return;
  const std::uint64_t wait_us = delay_us() * 2;
  if (rank_of(rank->member.attempt().handles, lost) >= 0) {
    later(wait_us, ToMember{witness, member_event::PeerUnreachable{rank->member.attempt().uuid, lost}});
  }
  if (rank_of(rank->peers, lost) >= 0) {
    later(wait_us, ToMember{witness, member_event::GenerationFailed{rank->member.generation(), {lost}}});
  }
}

void World::cut(Rank& a, Rank& b) {
  if (a.instance == b.instance) return;
  const Pair pair{std::min(a.instance, b.instance), std::max(a.instance, b.instance)};
  cuts_.insert(pair);
  tell(cat("fault: instances ", pair.first, " and ", pair.second, " cannot reach each other"));
  notice(a.instance, b.instance);
  notice(b.instance, a.instance);
  if (chance_.one_in(2)) later(chance_.between(100, 2000) * kMs, Mend{pair});
}

void World::on(Mend& item) { cuts_.erase(item.pair); }

void World::suspect_falsely(Rank& rank) {
  const std::size_t chief = chance_.below(chiefs_.size());
  chiefs_[chief]->falsely_suspected.insert(rank.instance);
  tell(cat("fault: Coordinator ", chief, " suspects instance ", rank.instance));
  std::vector<std::uint64_t> suspects = chiefs_[chief]->detector.suspects();
  suspects.push_back(rank.instance);
  step(*chiefs_[chief], coordinator_event::SuspectsAre{std::move(suspects)});
  const std::uint64_t lasts_us = chance_.between(1, 1500) * kMs;
  later(lasts_us, TrustAgain{chief, rank.instance});
}

void World::on(TrustAgain& item) {
  Chief& chief = *chiefs_[item.chief];
  chief.falsely_suspected.erase(item.instance);
  step(chief, coordinator_event::SuspectsAre{chief.detector.suspects()});
}

void World::stop_store() {
  if (!store_is_up_) return;
  store_is_up_ = false;
  const std::uint64_t away_us = chance_.between(10, chance_.one_in(3) ? 5000 : 800) * kMs;
  tell(cat("fault: the store is away for ", away_us / kMs, " ms"));
  later(away_us, StoreReturns{});
  constexpr std::uint64_t kPatienceUs = 500 * kMs;
  if (away_us <= kPatienceUs) return;
  for (Rank* const rank : live_ranks()) {
    rank->client.store_is_lost = true;
    later(kPatienceUs, ToMember{rank->instance, member_event::StoreLost{}});
  }
}

void World::on(StoreReturns&) {
  store_ = StoreMachine::restore(store_.snapshot(), {}, now_us_ / kMs);
  store_is_up_ = true;
  tell("the store is back");
  const auto repeat = [this](Client& client) {
    for (const auto& [id, request] : client.open) later(delay_us(), ToStore{client.connection, id});
  };
  for (Rank* const rank : live_ranks()) {
    repeat(rank->client);
    if (std::exchange(rank->client.store_is_lost, false)) later(delay_us(), ToMember{rank->instance, member_event::StoreBack{}});
  }
  for (const std::unique_ptr<Chief>& chief : chiefs_) repeat(chief->client);
}

bool World::is_settled() {
  if (faults_left_ != 0 || now_us_ < std::max(last_fault_us_, lossy_until_us_) + 2000 * kMs) return false;
  if (invariants_.steps() <= steps_at_last_fault_ + 2) return false;
  const auto is_at_work = [&](Rank* rank) {
    return rank->member.phase() == Phase::Idle && rank->member.generation() == invariants_.current().generation;
  };
  return std::ranges::all_of(live_ranks(), is_at_work);
}

void World::check_end() {
  report_.generations = invariants_.current().generation;
  constexpr std::uint64_t kLongestUs = 8'000'000;
  for (Rank* const rank : live_ranks()) {
    const Phase phase = rank->member.phase();
    const bool is_in_attempt = phase != Phase::Idle && phase != Phase::Gone;
    if (is_in_attempt && now_us_ - rank->attempt_since_us > kLongestUs) {
      invariants_.fail(cat("L1: instance ", rank->instance, " is ", enum_name(phase), " in attempt ", rank->member.attempt().uuid,
                           " since ", rank->attempt_since_us / kMs, " ms; it is ", now_us_ / kMs, " ms"));
    }
  }
  constexpr std::size_t kMostKeys = 80;
  for (const std::string& key : store_.keys().list("revoke/")) {
    if (key != revoke_key(invariants_.current().generation)) invariants_.fail(cat("L2: ", key, " is left in the store at the end"));
  }
  if (store_.keys().size() > kMostKeys) invariants_.fail(cat("L2: the store holds ", store_.keys().size(), " keys at the end"));
}

}  // namespace resilin::dist::simulation
