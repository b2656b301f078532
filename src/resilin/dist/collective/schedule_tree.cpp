// src/resilin/dist/collective/schedule_tree.cpp -- a binomial tree for broadcasts, and barriers by dissemination.
// Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", IJPP 1988.
#include <utility>

#include "resilin/dist/collective/schedule_parts.h"

namespace resilin::dist::schedules {
namespace {

/// The lowest set bit of a place in the tree, whose root is place 0 and has room for all.
int span_of(int place, int size) {
  int span = 1;
  while (span < size && (place & span) == 0) span *= 2;
  return span;
}

}  // namespace

Schedule tree_broadcast(const Part& part) {
  Schedule schedule;
  const int place = part.neighbour(-part.key.root);
  const int span = span_of(place, part.size());
  for (const Elements& section : part.sections(1)) {
    std::vector<Round> lane;
    const Range source = part.range(place == 0 ? Memory::Input : Memory::Output, section);
    if (place != 0) {
      Round round;
      round.receives.push_back({part.neighbour(-span), source});
      lane.push_back(std::move(round));
    }
    Round round;
    for (int distance = span / 2; distance >= 1; distance /= 2) {  // the largest subtree first
      if (place + distance < part.size()) round.sends.push_back({part.neighbour(distance), source});
    }
    if (place == 0) add(round, copy(part.range(Memory::Output, section), source));
    if (!round.sends.empty()) lane.push_back(std::move(round));
    schedule.lanes.push_back(std::move(lane));
  }
  return schedule;
}

Schedule dissemination_barrier(const Part& part) {
  std::vector<Round> lane;
  for (int distance = 1; distance < part.size(); distance *= 2) {
    Round round;
    round.sends.push_back({part.neighbour(distance), kNothing});
    round.receives.push_back({part.neighbour(-distance), kNothing});
    lane.push_back(std::move(round));
  }
  return {.scratch_bytes = 0, .reads_peers = false, .lanes = {std::move(lane)}};
}

}  // namespace resilin::dist::schedules
