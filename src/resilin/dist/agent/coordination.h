// src/resilin/dist/agent/coordination.h -- Internal: an agent's part in membership: a Coordinator that hears of the ranks of its host.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "resilin/dist/agent/machine.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/membership/coordinator_driver.h"
#include "resilin/dist/store/store.h"

namespace resilin::dist {

/// Runs a Coordinator. What becomes of the ranks of this host it hears from `note`; whom the lineage goes on without it tells. A job whose
/// ranks do not ask to join sees nothing of it.
///
/// Threads  one calls; `evicted` is called in another
class Coordination {
 public:
  using Evicted = std::function<void(std::uint64_t instance, std::uint64_t generation)>;

  /// The first generation waits for `first_size` ranks, but for those that have ended and are not started again: with Policy::Shrink the dead
  /// too, but only of this host.
  Coordination(std::size_t first_size, Policy policy, std::shared_ptr<Store> store, Evicted evicted, Clock& clock);

  /// What the agent knows of a life from now on. Instance 0 is nobody.
  void note(std::uint64_t instance, RankState state);
  /// These lives are on a host whose agent is silent: suspected until it is heard of again. An empty list: it is.
  void note_lost_host(i64 node, std::vector<std::uint64_t> instances);
  /// A generation was installed. Any thread may ask.
  bool has_lineage() const { return has_lineage_.load(std::memory_order_relaxed); }

 private:
  void tell();

  const Policy policy_;
  std::set<std::uint64_t> suspected_;  // or dead
  std::map<i64, std::vector<std::uint64_t>> lost_hosts_;
  std::set<std::uint64_t> left_;   // in good order
  std::set<std::uint64_t> ended_;  // and reaped, however they did
  std::size_t dead_ = 0;
  const Evicted evicted_;
  std::atomic<bool> has_lineage_ = false;
  CoordinatorDriver driver_;  // its thread uses evicted_
};

}  // namespace resilin::dist
