// src/resilin/dist/membership/choose.h -- Internal: which list of members a Coordinator proposes next.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "resilin/dist/membership/fault.h"
#include "resilin/dist/membership/records.h"

namespace resilin::dist {

/// What a Coordinator knows when it chooses.
struct Situation {
  Current current;                          // generation 0: no lineage yet
  bool is_revoked = false;                  // current's Work has failed
  std::vector<std::uint64_t> joiners = {};  // in the order of their announcements
  std::vector<std::uint64_t> suspects = {};
  Plan plan = {};                               // the last one; its attempt has ended
  std::optional<Attempt> ended = std::nullopt;  // that attempt, while the store still has it
  std::vector<Pair> broken = {};                // pairs that attempts on this base found
  std::vector<std::uint64_t> lost = {};         // whom other Coordinators suspected when they revoked current
  std::size_t first_size = 1;                   // instances that a first list waits for
  Fault fault = Fault::None;
};

/// The smallest set of instances without which no pair is left. Of equal ones: the one that leaves more of `precious`, then the one that leaves
/// the oldest instances. Exact up to 20 instances in pairs, above that the most entangled go first.
std::set<std::uint64_t> fewest_to_drop(const std::vector<Pair>& pairs, const std::vector<std::uint64_t>& precious);

/// The next list, or nothing to propose: the current one is fine, nobody of base is left, or the list failed before and nobody is to blame.
/// Members of base keep their order; joiners follow by age. A list that failed is never proposed again: who was to blame is left out.
Handles choose_handles(const Situation& situation);

}  // namespace resilin::dist
