// src/resilin/dist/collective/schedule_ring.cpp -- every rank receives from the one before it and sends to the next, in several lanes.
#include <array>
#include <utility>

#include "resilin/dist/collective/schedule_parts.h"

namespace resilin::dist::schedules {
namespace {

Round pass_on(const Part& part, const Range& send, const Range& receive) {
  Round round;
  round.sends.push_back({part.neighbour(1), send});
  round.receives.push_back({part.neighbour(-1), receive});
  return round;
}

/// into = what has come op what this rank has: an element's terms are added along the ring.
Combine join(const Range& into, const Range& come, const Range& own, bool is_final) {
  return {.into = into, .from = {{Source::kHere, come}, {Source::kHere, own}}, .is_final = is_final};
}

/// Sums come to rest in Output: share c starts at rank c and is whole at rank c - 1. A share of Output is written after its last reading as Input
/// and before its first sending, so nothing settles.
void reduce_shares(const Part& part, Elements section, ScratchSpace& scratch, std::vector<Round>& lane) {
  const Range space = scratch.take(part.bytes(part.share(0, section)));
  for (int step = 0; step + 1 < part.size(); ++step) {
    const Elements sent = part.share(part.neighbour(-step), section);
    const Elements received = part.share(part.neighbour(-step - 1), section);
    const Range come{Memory::Scratch, space.offset, part.bytes(received)};
    Round round = pass_on(part, part.range(step == 0 ? Memory::Input : Memory::Output, sent), come);
    add(round, join(part.range(Memory::Output, received), come, part.range(Memory::Input, received), step + 2 == part.size()));
    lane.push_back(std::move(round));
  }
}

/// From where reduce_shares ends. Each share of Output that is received was sent on before.
void gather_shares(const Part& part, Elements section, std::vector<Round>& lane) {
  for (int step = 0; step + 1 < part.size(); ++step) {
    const Range sent = part.range(Memory::Output, part.share(part.neighbour(1 - step), section));
    const Range received = part.range(Memory::Output, part.share(part.neighbour(-step), section));
    lane.push_back(pass_on(part, sent, received));
    lane.back().settle = step == 0;
  }
}

}  // namespace

Schedule ring_all_reduce(const Part& part) {
  Schedule schedule;
  ScratchSpace scratch;
  for (const Elements& section : part.sections(part.size())) {
    std::vector<Round> lane;
    reduce_shares(part, section, scratch, lane);
    gather_shares(part, section, lane);
    schedule.lanes.push_back(std::move(lane));
  }
  schedule.scratch_bytes = scratch.size_bytes();
  return schedule;
}

Schedule ring_all_gather(const Part& part) {
  Schedule schedule;
  for (const Elements& section : part.sections(1)) {
    std::vector<Round> lane;
    const Range own = part.range(Memory::Input, section);
    for (int step = 0; step + 1 < part.size(); ++step) {
      const Range sent = part.range(Memory::Output, part.slice(part.neighbour(-step), section));
      const Range received = part.range(Memory::Output, part.slice(part.neighbour(-step - 1), section));
      lane.push_back(pass_on(part, step == 0 ? own : sent, received));
    }
    add(lane.front(), copy(part.range(Memory::Output, part.slice(part.rank, section)), own));
    schedule.lanes.push_back(std::move(lane));
  }
  return schedule;
}

/// Slice c starts at rank c + 1 and is whole at rank c. What comes is added where it came, and sent from there in the next round, while the other
/// of two places takes what comes then; so a place is written again two rounds later, when that send has ended.
Schedule ring_reduce_scatter(const Part& part) {
  Schedule schedule;
  ScratchSpace scratch;
  for (const Elements& section : part.sections(1)) {
    const std::array<Range, 2> places{scratch.take(part.bytes(section)), scratch.take(part.bytes(section))};
    std::vector<Round> lane;
    for (int step = 0; step + 1 < part.size(); ++step) {
      const bool is_last = step + 2 == part.size();
      const Range& come = places[static_cast<std::size_t>(step % 2)];
      const Range& before = places[static_cast<std::size_t>((step + 1) % 2)];
      const Range first = part.range(Memory::Input, part.slice(part.neighbour(-1), section));
      Round round = pass_on(part, step == 0 ? first : before, come);
      const Range own = part.range(Memory::Input, part.slice(part.neighbour(-step - 2), section));
      add(round, join(is_last ? part.range(Memory::Output, section) : come, come, own, is_last));
      round.settle = step >= 2;
      lane.push_back(std::move(round));
    }
    schedule.lanes.push_back(std::move(lane));
  }
  schedule.scratch_bytes = scratch.size_bytes();
  return schedule;
}

}  // namespace resilin::dist::schedules
