// src/resilin/dist/launch/job.h -- Internal: what launcher and agent put a job together of: secret, store, signals.
#pragma once

#include <memory>
#include <string>

#include <signal.h>

#include "resilin/dist/agent/agent.h"
#include "resilin/dist/launch/options.h"
#include "resilin/dist/launch/run_folder.h"
#include "resilin/dist/security/secret.h"
#include "resilin/dist/store/server.h"

namespace resilin::dist {

/// torchrun's.
inline constexpr std::uint16_t kDefaultPort = 29500;

/// Nothing to agree on with other hosts: Unix sockets serve.
bool is_one_host(const RunOptions& run);
/// Where the store of several hosts is served.
Address endpoint_of(const RunOptions& run);
/// From the file; a job of one host without one makes its own. ArgumentError when several hosts have none.
JobSecret job_secret(const RunOptions& run);

/// The store of the job: served here, or of another host's agent.
struct JobStore {
  std::unique_ptr<StoreServer> server;
  std::shared_ptr<Store> client;
  std::string address;  // for the ranks of this host
};

/// Serves the store where this host must or may, else waits until another host serves it.
JobStore open_job_store(const RunOptions& run, const JobSecret& secret, const RunFolder& folder);

/// Who serves the store stays until the other agents are done, or their leases have ended.
void wait_for_other_hosts(const JobStore& store, const NodePlace& place, Clock& clock);

/// SIGINT, SIGTERM and SIGHUP wait for the agent's loop, and SIGPIPE does nothing, until the end of the scope.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_;
  struct sigaction pipe_before_;
};

}  // namespace resilin::dist
