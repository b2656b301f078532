// src/resilin/parallel/ballot.h -- Internal: what a rank says in a vote on a step, and how all ranks hear it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "resilin/dist/group/process_group.h"
#include "resilin/tensor/tensor.h"

namespace resilin::parallel {

/// As it travels, of one size.
struct Ballot {
  std::uint64_t vote = 0;
  std::uint64_t step = 0;         // the one that is voted on
  std::uint64_t state = 0;        // digest before it
  std::uint64_t held_change = 0;  // a change of members that waits at this rank; 0: none
  std::uint8_t is_yes = 0;
  std::uint8_t leaves = 0;
  std::array<char, 222> reason{};  // of a no

  void set_reason(std::string_view text);
  std::string reason_text() const;
};
static_assert(sizeof(Ballot) == 256);

/// Where ballots lie while they travel.
class BallotBox {
 public:
  /// All ranks' ballots, by rank, until the next exchange. Throws what the collective throws.
  std::span<const Ballot> exchange(dist::ProcessGroup& group, const Ballot& mine, std::chrono::milliseconds timeout);

 private:
  Tensor mine_, all_;  // u8
};

/// The digest that more than half of the ballots say; nothing when there is none. Alike on all ranks.
struct Majority {
  bool exists = false;
  bool is_unanimous = false;
  std::uint64_t state = 0;
};
Majority majority_of(std::span<const Ballot> ballots);

/// The change that all ranks hold; 0 when they do not all hold the same.
std::uint64_t common_change(std::span<const Ballot> ballots);

}  // namespace resilin::parallel
