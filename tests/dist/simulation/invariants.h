// tests/dist/simulation/invariants.h -- Internal: what must hold after every event of a simulated schedule.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "resilin/dist/membership/member.h"
#include "resilin/dist/membership/records.h"
#include "resilin/dist/store/machine.h"

namespace resilin::dist::simulation {

/// I1 one decision per uuid. I2 COMMIT implies all READY. I3 an instance's generation grows; one generation names one list. I4 cur moves from
/// base to new, and the new list holds a member of base that wrote READY. I5 no Work or vote of a generation succeeds on a member after its
/// READY, and only with the parts of all. I6 the applied steps of any two instances are prefixes of one another. Besides, M1 a peer is connected
/// to at the address that it has in this attempt, M2 a mesh that is prepared is dropped or installed, once, before the next one.
class Invariants {
 public:
  /// The first violation; empty while all hold.
  const std::string& violation() const { return violation_; }
  void fail(std::string text) {
    if (violation_.empty()) violation_ = std::move(text);
  }

  /// The store did a request that may write.
  void stored(const Request& request, const StoreMachine& store);
  /// A member that had promised left its attempt.
  void decided(std::uint64_t instance, std::uint64_t uuid, Verdict verdict);
  void installed(std::uint64_t instance, std::uint64_t before, const Attempt& attempt);
  void contributed(std::uint64_t rank, std::uint64_t generation, std::uint64_t vote) { contributions_[{generation, vote}].insert(rank); }
  void voted(std::uint64_t rank, std::uint64_t generation, std::uint64_t vote) { yes_[{generation, vote}].insert(rank); }
  void work_done(std::uint64_t instance, Phase phase, std::uint64_t generation, std::uint64_t vote);
  /// An applied step, by votes of its generation or as the outcome that an install brought.
  void applied(std::uint64_t instance, std::uint64_t step, std::uint64_t generation, std::uint64_t vote);
  void applied_by_votes(std::uint64_t instance, Phase phase, std::uint64_t generation, std::uint64_t vote);
  void healed(std::uint64_t instance, std::uint64_t step, std::uint64_t digest);

  std::uint64_t steps() const { return history_.size(); }
  const Current& current() const { return current_; }

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;  // generation, vote
  void commit_seen(const Attempt& attempt, const StoreMachine& store);
  void current_moved(const Current& current, const Attempt& attempt, const StoreMachine& store);

  std::string violation_;
  std::map<std::uint64_t, Verdict> final_;                              // uuid -> what the store says
  std::map<std::uint64_t, std::pair<std::uint64_t, Verdict>> decided_;  // uuid -> the first instance that learned it, and what
  std::map<std::uint64_t, Handles> lists_;                              // generation -> its list
  std::map<Place, std::set<std::uint64_t>> contributions_, yes_;
  std::vector<Place> history_;  // the longest
  std::vector<std::uint64_t> digests_ = {0};
  std::map<std::uint64_t, std::uint64_t> positions_;  // instance -> its applied steps
  Current current_;
};

}  // namespace resilin::dist::simulation
