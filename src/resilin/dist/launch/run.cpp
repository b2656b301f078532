// src/resilin/dist/launch/run.cpp -- a job put together and run.
#include "resilin/dist/launch/run.h"

#include <cstdio>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/dist/launch/job.h"
#include "resilin/dist/launch/rendezvous.h"
#include "resilin/dist/os/socket.h"

namespace resilin::dist {
namespace {

/// A port of this address that was free a moment ago, for a store that the ranks' own program may open.
i64 free_port(const std::string& host) { return listen_on({Address::Kind::Tcp, host, 0}).address.port; }

void check_hosts(const RunOptions& run) {
  if (is_one_host(run)) return;
  if (run.rdzv_backend == "static" && run.min_nodes != run.max_nodes) {
    throw ArgumentError(
        cat("run: --nnodes is ", run.min_nodes, ":", run.max_nodes, "; static takes one number, --rdzv-backend c10d a range"));
  }
  if (run.rdzv_backend == "static" && run.max_nodes > 1 && !run.node_rank) {
    throw ArgumentError("run: --node-rank is not given; static needs it on each host, --rdzv-backend c10d numbers hosts as they come");
  }
}

/// Where the ranks' own program may open a store, as torchrun's programs do.
Address master_of(const RunOptions& run) {
  Address master = endpoint_of(run);
  if (!run.local_addr.empty()) master.host = run.local_addr;
  if (!run.master_addr.empty()) master.host = run.master_addr;
  const bool chosen = run.master_port.value_or(0) != 0 && (is_one_host(run) || !run.rdzv_endpoint.empty());
  master.port = static_cast<std::uint16_t>(chosen ? *run.master_port : free_port(master.host));
  return master;
}

AgentSetup set_up(const RunOptions& run, const JobStore& store, const std::vector<std::string>& variables) {
  AgentSetup setup;
  setup.run = run;
  setup.store_address = store.address;
  setup.environment = variables;
  setup.ranks_die_with_agent = is_one_host(run);
  Address master;
  if (is_one_host(run)) {
    setup.place = {0, 1, 0, run.ranks_per_node};
    master = master_of(run);
  } else {
    setup.place = meet(*store.client, run, machine_clock());
    if (setup.place.node == 0) master = master_of(run);
    master = parse_address(agree_on_master(*store.client, run, setup.place, print_address(master)));
  }
  setup.master_addr = master.host;
  setup.master_port = master.port;
  return setup;
}

int run_ranks(const RunOptions& run, const std::vector<std::string>& variables) {
  const JobSecret secret = job_secret(run);
  RunFolder folder(run_base(), run.rdzv_id);
  const JobStore store = open_job_store(run, secret, folder);
  AgentSetup setup = set_up(run, store, variables);
  const NodePlace place = setup.place;
  const HeldSignals held;
  int exit_code = 1;
  {
    Agent agent(std::move(setup), secret, folder, store.client);
    exit_code = agent.run();
  }
  wait_for_other_hosts(store, place, machine_clock());
  return exit_code;
}

}  // namespace

int run_job(const std::vector<std::string>& arguments, const std::vector<std::string>& variables) {
  const RunOptions run = parse_run_options(arguments, environment_variable);
  if (run.help) {
    std::fputs(run_help().c_str(), stdout);
    return 0;
  }
  check_hosts(run);
  return run_ranks(run, variables);
}

}  // namespace resilin::dist
