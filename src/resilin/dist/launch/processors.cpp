// src/resilin/dist/launch/processors.cpp -- processors of ranks.
#include "resilin/dist/launch/processors.h"

#include <algorithm>

#include <sched.h>

namespace resilin::dist {

std::vector<int> usable_processors() {
  std::vector<int> processors;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return processors;  // more than a set can name: nobody is pinned
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  }
  return processors;
}

std::vector<std::vector<int>> share_processors(const std::vector<int>& processors, i64 ranks) {
  std::vector<std::vector<int>> shares(static_cast<std::size_t>(ranks));
  const i64 count = static_cast<i64>(processors.size());
  if (count < ranks) return shares;
  for (i64 rank = 0; rank < ranks; ++rank) {
    const auto begin = processors.begin() + rank * count / ranks;
    const auto end = processors.begin() + (rank + 1) * count / ranks;
    shares[static_cast<std::size_t>(rank)].assign(begin, end);
  }
  return shares;
}

i64 threads_of_rank(i64 processors, i64 ranks) { return std::max<i64>(1, processors / ranks); }

}  // namespace resilin::dist
