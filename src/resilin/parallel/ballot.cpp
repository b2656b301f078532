// src/resilin/parallel/ballot.cpp -- ballots: said, heard and counted.
#include "resilin/parallel/ballot.h"

#include <algorithm>
#include <cstring>

namespace resilin::parallel {

void Ballot::set_reason(std::string_view text) {
  reason.fill('\0');
  std::ranges::copy(text.substr(0, reason.size() - 1), reason.begin());
}

std::string Ballot::reason_text() const { return {reason.data(), std::ranges::find(reason, '\0')}; }

std::span<const Ballot> BallotBox::exchange(dist::ProcessGroup& group, const Ballot& mine, std::chrono::milliseconds timeout) {
  constexpr i64 kBytes = sizeof(Ballot);
  const std::size_t size = static_cast<std::size_t>(group.size());
  if (!all_.defined() || all_.numel().value() != kBytes * group.size()) {
    mine_ = Tensor::allocate(Shape{kBytes}, DType::U8);
    all_ = Tensor::allocate(Shape{kBytes * group.size()}, DType::U8);
  }
  std::memcpy(mine_.data(), &mine, sizeof mine);
  group.all_gather_single(all_, mine_, timeout).wait();
  return {static_cast<const Ballot*>(all_.data()), size};
}

Majority majority_of(std::span<const Ballot> ballots) {
  for (const Ballot& ballot : ballots) {
    const std::ptrdiff_t votes = std::ranges::count(ballots, ballot.state, &Ballot::state);
    if (2 * static_cast<std::size_t>(votes) > ballots.size())
      return {.exists = true, .is_unanimous = static_cast<std::size_t>(votes) == ballots.size(), .state = ballot.state};
  }
  return {};
}

std::uint64_t common_change(std::span<const Ballot> ballots) {
  const std::uint64_t first = ballots.front().held_change;
  return std::ranges::all_of(ballots, [&](const Ballot& ballot) { return ballot.held_change == first; }) ? first : 0;
}

}  // namespace resilin::parallel
