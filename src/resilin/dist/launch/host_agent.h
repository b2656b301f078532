// src/resilin/dist/launch/host_agent.h -- Internal: the agent of a host whose ranks srun, mpirun or a script starts.
#pragma once

#include "resilin/dist/launch/rank_info.h"

namespace resilin::dist {

/// Finds the agent that watches the ranks of this job on this host, and fills in its store, address and secret, and the number of this
/// life. The first rank that comes starts it, as a process of its own that ends with the last rank. In one life the answer is always the same.
///
/// Errors  UnsupportedError when the job has several hosts; StoreError when the agent does not start; IoError without its program or a folder
void find_host_agent(RankInfo& rank);

}  // namespace resilin::dist
