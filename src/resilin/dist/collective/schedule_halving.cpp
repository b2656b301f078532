// src/resilin/dist/collective/schedule_halving.cpp -- recursive halving, then doubling, between ranks at distances of powers of two.
// Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004.
#include <utility>

#include "resilin/dist/collective/schedule_parts.h"

namespace resilin::dist::schedules {
namespace {

/// The shares of the ranks that agree with `rank` in all bits from `distance` on.
Elements block_of(const Part& part, int rank, int distance) { return parts_of(part.own(), part.size(), rank & ~(distance - 1), distance); }

}  // namespace

Schedule halving_doubling_all_reduce(const Part& part) {
  ScratchSpace scratch;
  std::vector<Round> lane;
  const Range space = scratch.take(part.bytes(block_of(part, 0, part.size() / 2)));
  for (int distance = part.size() / 2; distance >= 1; distance /= 2) {
    const int peer = part.rank ^ distance;
    const Memory memory = lane.empty() ? Memory::Input : Memory::Output;
    const Elements kept = block_of(part, part.rank, distance);
    const Range come{Memory::Scratch, space.offset, part.bytes(kept)};
    Round round;
    round.sends.push_back({peer, part.range(memory, block_of(part, peer, distance))});
    round.receives.push_back({peer, come});
    // What is kept has not been sent.
    add(round, {.into = part.range(Memory::Output, kept),
                .from = {{Source::kHere, part.range(memory, kept)}, {Source::kHere, come}},
                .is_final = distance == 1});
    lane.push_back(std::move(round));
  }
  for (int distance = 1; distance < part.size(); distance *= 2) {
    const int peer = part.rank ^ distance;
    Round round;
    round.sends.push_back({peer, part.range(Memory::Output, block_of(part, part.rank, distance))});
    // This was sent to the same peer while halving.
    round.receives.push_back({peer, part.range(Memory::Output, block_of(part, peer, distance))});
    round.settle = distance == 1;
    lane.push_back(std::move(round));
  }
  return {.scratch_bytes = scratch.size_bytes(), .reads_peers = false, .lanes = {std::move(lane)}};
}

}  // namespace resilin::dist::schedules
