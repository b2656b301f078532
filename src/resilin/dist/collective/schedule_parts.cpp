// src/resilin/dist/collective/schedule_parts.cpp -- parts of elements, and the steps that several algorithms take.
#include "resilin/dist/collective/schedule_parts.h"

#include <algorithm>
#include <utility>

namespace resilin::dist::schedules {

Elements part_of(Elements whole, int parts, int index) { return parts_of(whole, parts, index, 1); }

Elements parts_of(Elements whole, int parts, int first, int count) {
  const std::uint64_t each = whole.count / static_cast<std::uint64_t>(parts);
  const std::uint64_t longer = whole.count % static_cast<std::uint64_t>(parts);
  const auto begin_of = [&](int index) {
    const std::uint64_t i = static_cast<std::uint64_t>(index);
    return i * each + std::min(i, longer);
  };
  return {whole.begin + begin_of(first), begin_of(first + count) - begin_of(first)};
}

Range ScratchSpace::take(std::uint64_t bytes) {
  constexpr std::uint64_t kLine = 64;
  const Range range{Memory::Scratch, size_bytes_, bytes};
  size_bytes_ += (bytes + kLine - 1) / kLine * kLine;
  return range;
}

std::vector<Elements> Part::sections(int sharers) const {
  // While one lane combines, another transfers: worth it where a share takes longer than the start of a transfer.
  constexpr std::uint64_t kLeastShareBytes = 256 << 10;
  constexpr std::uint64_t kMostLanes = 4;
  const std::uint64_t share_bytes = bytes(own()) / static_cast<std::uint64_t>(sharers);
  const int lanes = static_cast<int>(std::clamp<std::uint64_t>(share_bytes / kLeastShareBytes, 1, kMostLanes));
  std::vector<Elements> result;
  for (int i = 0; i < lanes; ++i) result.push_back(part_of(own(), lanes, i));
  return result;
}

void add(Round& round, Combine combine) {
  if (combine.into.bytes != 0) round.combines.push_back(std::move(combine));
}

Combine copy(const Range& into, const Range& from) {
  return {.into = into, .from = {{.peer = Source::kHere, .range = from}}, .is_final = false};
}

std::vector<Source> collect(const Part& part, Elements elements, ScratchSpace& scratch, Round& round) {
  std::vector<Source> from;
  for (int rank = 0; rank < part.size(); ++rank) {
    Range range = part.range(Memory::Input, elements);
    if (rank != part.rank) {
      range = scratch.take(range.bytes);
      round.receives.push_back({rank, range});
    }
    from.push_back({.peer = Source::kHere, .range = range});
  }
  return from;
}

Round synchronize(const Part& part) {
  Round round;
  for (int i = 1; i < part.size(); ++i) {
    round.sends.push_back({part.neighbour(i), kNothing});
    round.receives.push_back({part.neighbour(-i), kNothing});
  }
  return round;
}

}  // namespace resilin::dist::schedules
