// src/resilin/dist/collective/schedule_pull.cpp -- ranks of one host read each other's memory and write their own.
//
// A rank reads a peer's Input once the peer's first frame has come: the peer has begun, so the caller's data is there. What a peer computed may
// be read, and what was read of a peer may be overwritten by it, after a synchronization: each rank sends its words after its own reads and writes
// and goes on when all have. The last round is one too, so that nobody hands his memory back while it is read.
//
// all_reduce where Output is Input: up to the first synchronization rank r writes share r of its own memory only, and share r of all memories is
// read by r only. After it, r writes the shares p != r of its own memory, which p alone has read, before it; and it reads share p of p, which p
// wrote before it and does not write again.
// all_gather where Input is the own slice of Output: others read that slice only, and it is never written.
// reduce_scatter where Output is the own slice of Input: r writes slice r of its own memory, which nobody else reads.
// broadcast: only the root's Input is read, and the root writes Output only, or, where they are one, nothing.
#include <utility>

#include "resilin/dist/collective/schedule_parts.h"

namespace resilin::dist::schedules {
namespace {

Source from_rank(const Part& part, int rank, const Range& range) { return {rank == part.rank ? Source::kHere : rank, range}; }

/// into = the sum of everyone's elements of Input, in rank order.
Combine pull_sum(const Part& part, const Range& into, Elements elements) {
  Combine sum{.into = into, .from = {}, .is_final = true};
  for (int rank = 0; rank < part.size(); ++rank) sum.from.push_back(from_rank(part, rank, part.range(Memory::Input, elements)));
  return sum;
}

/// Others begin at other ranks, so that not all read the same memory.
Combine pull_copy(const Part& part, int rank, const Range& into, const Range& from) {
  return {.into = into, .from = {from_rank(part, rank, from)}, .is_final = false};
}

Schedule one_lane(std::vector<Round> rounds) { return {.scratch_bytes = 0, .reads_peers = true, .lanes = {std::move(rounds)}}; }

}  // namespace

Schedule pull_all_reduce(const Part& part) {
  Round reduce;
  const Elements own = part.share(part.rank, part.own());
  add(reduce, pull_sum(part, part.range(Memory::Output, own), own));
  Round gather = synchronize(part);
  for (int i = 1; i < part.size(); ++i) {
    const Range share = part.range(Memory::Output, part.share(part.neighbour(i), part.own()));
    add(gather, pull_copy(part, part.neighbour(i), share, share));
  }
  return one_lane({std::move(reduce), std::move(gather), synchronize(part)});
}

Schedule pull_all_gather(const Part& part) {
  Round gather;
  for (int i = 0; i < part.size(); ++i) {
    const int rank = part.neighbour(i);
    add(gather, pull_copy(part, rank, part.range(Memory::Output, part.slice(rank, part.own())), part.range(Memory::Input, part.own())));
  }
  return one_lane({std::move(gather), synchronize(part)});
}

Schedule pull_reduce_scatter(const Part& part) {
  Round reduce;
  add(reduce, pull_sum(part, part.range(Memory::Output, part.own()), part.slice(part.rank, part.own())));
  return one_lane({std::move(reduce), synchronize(part)});
}

Schedule pull_broadcast(const Part& part) {
  const int root = part.key.root;
  Round read;
  Round done;
  for (int i = 1; i < part.size(); ++i) {
    const int peer = part.neighbour(i);
    if (part.rank == root) {
      read.sends.push_back({peer, kNothing});
      done.receives.push_back({peer, kNothing});
    } else if (peer == root) {
      read.receives.push_back({peer, kNothing});
      done.sends.push_back({peer, kNothing});
    }
  }
  add(read, pull_copy(part, root, part.range(Memory::Output, part.own()), part.range(Memory::Input, part.own())));
  return one_lane({std::move(read), std::move(done)});
}

}  // namespace resilin::dist::schedules
