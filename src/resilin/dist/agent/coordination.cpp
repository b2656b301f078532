// src/resilin/dist/agent/coordination.cpp -- an agent's part in membership: a Coordinator that hears of the ranks of its host.
#include "resilin/dist/agent/coordination.h"

#include <algorithm>
#include <utility>

namespace resilin::dist {

Coordination::Coordination(std::size_t first_size, Policy policy, std::shared_ptr<Store> store, Evicted evicted, Clock& clock)
    : policy_(policy),
      evicted_(std::move(evicted)),
      driver_(
          {.first_size = first_size}, std::move(store),
          [this](const Current& before, const Current& now) {
            has_lineage_ = true;
            for (const std::uint64_t instance : before.members) {
              if (std::ranges::find(now.members, instance) == now.members.end()) evicted_(instance, now.generation);
            }
          },
          clock) {}

void Coordination::note(std::uint64_t instance, RankState state) {
  if (instance == 0) return;
  bool is_new = false;
  switch (state) {
    case RankState::Running: is_new = suspected_.erase(instance) != 0; break;
    case RankState::Suspected:
    case RankState::Evicted: is_new = suspected_.insert(instance).second; break;
    case RankState::Dead:
      suspected_.insert(instance);
      ended_.insert(instance);
      ++dead_;
      is_new = true;
      break;
    case RankState::Left:
    case RankState::Done:
      suspected_.erase(instance);
      ended_.insert(instance);
      is_new = left_.insert(instance).second;
      break;
  }
  if (is_new) tell();
}

void Coordination::note_lost_host(i64 node, std::vector<std::uint64_t> instances) {
  lost_hosts_[node] = std::move(instances);
  tell();
}

void Coordination::tell() {
  std::set<std::uint64_t> suspected = suspected_;
  for (const auto& [node, instances] : lost_hosts_) suspected.insert(instances.begin(), instances.end());
  const std::size_t lacking = left_.size() + (policy_ == Policy::Shrink ? dead_ : 0);
  driver_.tell({{suspected.begin(), suspected.end()}, {left_.begin(), left_.end()}, {ended_.begin(), ended_.end()}, lacking});
}

}  // namespace resilin::dist
