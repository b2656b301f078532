// src/resilin/dist/agent/agent.h -- Internal: starts the ranks of a host, watches them, and does what the machine decides.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "resilin/dist/agent/machine.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/launch/options.h"
#include "resilin/dist/launch/run_folder.h"
#include "resilin/dist/security/secret.h"
#include "resilin/dist/store/store.h"

namespace resilin::dist {

/// The place of this host in the job.
struct NodePlace {
  i64 node = 0;
  i64 nodes = 1;
  i64 first_rank = 0;
  i64 world_size = 1;
};

struct AgentSetup {
  RunOptions run;
  NodePlace place;
  std::string store_address;  // for the ranks
  std::string master_addr;
  i64 master_port = 0;
  std::vector<std::string> environment;  // that ranks get besides their own variables
  bool ranks_die_with_agent = false;
  bool adopts = false;  // starts nothing: watches the ranks that others start and that beat to it
};

/// The thin part around AgentMachine: processes, signals, files, the store. One thread decides; another writes to the store, so that a store
/// that is slow or gone holds no decision up.
class Agent {
 public:
  Agent(AgentSetup setup, const JobSecret& secret, RunFolder& folder, std::shared_ptr<Store> store, Clock& clock = machine_clock());
  ~Agent();

  /// Runs the job of this host to its end; gives back the exit code. SIGINT, SIGTERM and SIGHUP end it early; the caller has them blocked.
  int run();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace resilin::dist
