// src/resilin/dist/launch/rendezvous.h -- Internal: agents of several hosts agree on their numbers through the store.
#pragma once

#include "resilin/dist/agent/agent.h"

namespace resilin::dist {

/// The number of this host and of its first rank. Static: hosts have the numbers that they were given, all must come. Otherwise the number is
/// that of arrival, and whoever closes first does so when --nnodes MAX are there, or MIN and nobody more within the last call.
///
/// Errors   TimeoutError naming the hosts that did not come; ArgumentError when a number is taken, or the job has begun without this host
NodePlace meet(Store& store, const RunOptions& run, Clock& clock);

/// Node 0 says where its ranks' own programs meet ("HOST:PORT"); the others learn it.
std::string agree_on_master(Store& store, const RunOptions& run, const NodePlace& place, const std::string& of_node_0);

}  // namespace resilin::dist
