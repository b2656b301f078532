// src/resilin/dist/collective/schedule_parts.h -- Internal: what the makers of schedules share.
#pragma once

#include <cstdint>
#include <vector>

#include "resilin/dist/collective/schedule.h"

namespace resilin::dist::schedules {

/// Consecutive elements.
struct Elements {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

/// Part `index` of `parts` nearly equal ones: the first are longer by one element where it does not divide.
Elements part_of(Elements whole, int parts, int index);
/// The parts first ... first + count - 1 as one.
Elements parts_of(Elements whole, int parts, int first, int count);

/// What is sent to tell something without saying anything.
inline constexpr Range kNothing{Memory::Scratch, 0, 0};

/// Scratch memory is taken once and never given back: slots begin at cache lines.
class ScratchSpace {
 public:
  Range take(std::uint64_t bytes);
  std::uint64_t size_bytes() const { return size_bytes_; }

 private:
  std::uint64_t size_bytes_ = 0;
};

/// One rank's view of a key.
struct Part {
  const ScheduleKey& key;
  int rank = 0;

  int size() const { return key.size; }
  /// The rank so many places behind this one on the ring; negative: before it.
  int neighbour(int distance) const { return ((rank + distance) % key.size + key.size) % key.size; }
  std::uint64_t bytes(Elements elements) const { return elements.count * static_cast<std::uint64_t>(size_bytes(key.dtype)); }
  Range range(Memory memory, Elements elements) const {
    return {memory, elements.begin * static_cast<std::uint64_t>(size_bytes(key.dtype)), bytes(elements)};
  }
  Elements own() const { return {0, key.elements}; }
  /// `section` of the elements that are a rank's own, in the memory that holds all ranks' elements.
  Elements slice(int of_rank, Elements section) const {
    return {static_cast<std::uint64_t>(of_rank) * key.elements + section.begin, section.count};
  }
  /// What a rank owns of a section that all have.
  Elements share(int of_rank, Elements section) const { return part_of(section, key.size, of_rank); }
  /// The own elements in lanes, of which so many ranks take a share each.
  std::vector<Elements> sections(int sharers) const;
};

/// Adds what is not empty.
void add(Round& round, Combine combine);
/// into = from, here.
Combine copy(const Range& into, const Range& from);
/// Everyone's elements of Input come here; gives back where they lie, in rank order.
std::vector<Source> collect(const Part& part, Elements elements, ScratchSpace& scratch, Round& round);
/// Tells all peers, and waits until all have told, that the rounds before are done.
Round synchronize(const Part& part);

// One maker for each row of the table in schedule.cpp; at least two ranks.
Schedule direct_all_reduce(const Part& part);
Schedule direct_all_gather(const Part& part);
Schedule direct_barrier(const Part& part);
Schedule owner_all_reduce(const Part& part);
Schedule owner_reduce_scatter(const Part& part);
Schedule ring_all_reduce(const Part& part);
Schedule ring_all_gather(const Part& part);
Schedule ring_reduce_scatter(const Part& part);
Schedule halving_doubling_all_reduce(const Part& part);
Schedule tree_broadcast(const Part& part);
Schedule dissemination_barrier(const Part& part);
Schedule pull_all_reduce(const Part& part);
Schedule pull_all_gather(const Part& part);
Schedule pull_reduce_scatter(const Part& part);
Schedule pull_broadcast(const Part& part);

}  // namespace resilin::dist::schedules
