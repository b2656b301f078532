// src/resilin/dist/group/init.h -- init_process_group: the group of all ranks of this job.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "resilin/base/api.h"
#include "resilin/dist/group/process_group.h"

namespace resilin::dist {

/// What is not given is taken from the launcher's environment (see rank_info).
struct InitOptions {
  std::string name = "default";
  std::shared_ptr<Store> store = nullptr;  // the job's
  TransportMaker transport = nullptr;      // UCX over shared memory and the network of the knob dist.interface
  int rank = -1;
  int size = -1;
  Membership membership = Membership::Listed;  // Lineage: the group lives on with whoever is there; rank and size are the Coordinator's
  std::chrono::milliseconds timeout = std::chrono::minutes(5);      // for all ranks to come
  std::chrono::milliseconds store_grace = std::chrono::minutes(1);  // a change of members waits so long for a store that is away
  bool records = true;                                              // keeps a flight recording
  ChangeRules changes = {};                                         // see process_group.h
};

/// Meets the other ranks through the store and comes back when the first generation stands; beats to the agent of this host, where there is one,
/// as long as the group lives.
///
/// Errors  ArgumentError when rank and size are neither given nor in the environment; UnsupportedError without a store or transport;
///         TimeoutError when a rank does not come
RESILIN_API ProcessGroup init_process_group(const InitOptions& options = {});

}  // namespace resilin::dist
