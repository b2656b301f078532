// src/resilin/dist/collective/schedule_exchange.cpp -- every rank sends to every other: Direct and Owner.
#include <utility>

#include "resilin/dist/collective/schedule_parts.h"

namespace resilin::dist::schedules {

Schedule direct_all_reduce(const Part& part) {
  ScratchSpace scratch;
  Round exchange;
  for (int i = 1; i < part.size(); ++i) exchange.sends.push_back({part.neighbour(i), part.range(Memory::Input, part.own())});
  std::vector<Source> all = collect(part, part.own(), scratch, exchange);
  // Output may be what the sends read.
  Round sum;
  sum.settle = true;
  add(sum, {.into = part.range(Memory::Output, part.own()), .from = std::move(all), .is_final = true});
  return {.scratch_bytes = scratch.size_bytes(), .reads_peers = false, .lanes = {{std::move(exchange), std::move(sum)}}};
}

Schedule direct_all_gather(const Part& part) {
  Round round;
  for (int i = 1; i < part.size(); ++i) {
    round.sends.push_back({part.neighbour(i), part.range(Memory::Input, part.own())});
    round.receives.push_back({part.neighbour(-i), part.range(Memory::Output, part.slice(part.neighbour(-i), part.own()))});
  }
  add(round, copy(part.range(Memory::Output, part.slice(part.rank, part.own())), part.range(Memory::Input, part.own())));
  return {.scratch_bytes = 0, .reads_peers = false, .lanes = {{std::move(round)}}};
}

Schedule direct_barrier(const Part& part) { return {.scratch_bytes = 0, .reads_peers = false, .lanes = {{synchronize(part)}}}; }

Schedule owner_all_reduce(const Part& part) {
  Schedule schedule;
  ScratchSpace scratch;
  for (const Elements& section : part.sections(part.size())) {
    const Range mine = part.range(Memory::Output, part.share(part.rank, section));
    Round to_owners;
    for (int i = 1; i < part.size(); ++i) {
      to_owners.sends.push_back({part.neighbour(i), part.range(Memory::Input, part.share(part.neighbour(i), section))});
    }
    std::vector<Source> all = collect(part, part.share(part.rank, section), scratch, to_owners);
    // Where Output is Input, no send reads the own share.
    add(to_owners, {.into = mine, .from = std::move(all), .is_final = true});
    // The sends of the first round may read the other shares.
    Round from_owners;
    from_owners.settle = true;
    for (int i = 1; i < part.size(); ++i) {
      const int peer = part.neighbour(-i);
      from_owners.sends.push_back({part.neighbour(i), mine});
      from_owners.receives.push_back({peer, part.range(Memory::Output, part.share(peer, section))});
    }
    schedule.lanes.push_back({std::move(to_owners), std::move(from_owners)});
  }
  schedule.scratch_bytes = scratch.size_bytes();
  return schedule;
}

Schedule owner_reduce_scatter(const Part& part) {
  Schedule schedule;
  ScratchSpace scratch;
  for (const Elements& section : part.sections(1)) {
    Round round;
    for (int i = 1; i < part.size(); ++i) {
      round.sends.push_back({part.neighbour(i), part.range(Memory::Input, part.slice(part.neighbour(i), section))});
    }
    std::vector<Source> all = collect(part, part.slice(part.rank, section), scratch, round);
    // Where Output is the own slice of Input, no send reads it.
    add(round, {.into = part.range(Memory::Output, section), .from = std::move(all), .is_final = true});
    schedule.lanes.push_back({std::move(round)});
  }
  schedule.scratch_bytes = scratch.size_bytes();
  return schedule;
}

}  // namespace resilin::dist::schedules
