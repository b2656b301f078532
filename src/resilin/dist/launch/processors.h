// src/resilin/dist/launch/processors.h -- Internal: the processors of a host shared out among its ranks.
#pragma once

#include <vector>

#include "resilin/base/text.h"

namespace resilin::dist {

/// The processors that this process may use, ascending.
std::vector<int> usable_processors();

/// Disjoint neighbours for each rank, sizes that differ by one at most. Fewer processors than ranks: nothing for anyone, all share all.
std::vector<std::vector<int>> share_processors(const std::vector<int>& processors, i64 ranks);

/// max(1, processors / ranks).
i64 threads_of_rank(i64 processors, i64 ranks);

}  // namespace resilin::dist
