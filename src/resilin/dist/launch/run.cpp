// src/resilin/dist/launch/run.cpp -- a job put together: secret, store, hosts, agent.
#include "resilin/dist/launch/run.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <signal.h>

#include "resilin/base/error.h"
#include "resilin/base/log.h"
#include "resilin/dist/agent/agent.h"
#include "resilin/dist/agent/rank_record.h"
#include "resilin/dist/launch/rendezvous.h"
#include "resilin/dist/os/socket.h"
#include "resilin/dist/store/server.h"
#include "resilin/dist/store/tcp_store.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::uint16_t kDefaultPort = 29500;  // torchrun's
constexpr milliseconds kAgentGrace{5'000};     // an agent's requests do not wait longer for a lost store
constexpr nanoseconds kOthersGrace = std::chrono::minutes(5);

/// Signals wait for the agent's loop until the end of the scope.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &pipe_before_);
  }
  ~HeldSignals() {
    sigaction(SIGPIPE, &pipe_before_, nullptr);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_;
  struct sigaction pipe_before_;
};

/// A port of this address that was free a moment ago, for a store that the ranks' own program may open.
i64 free_port(const std::string& host) { return listen_on({Address::Kind::Tcp, host, 0}).address.port; }

Address endpoint_of(const RunOptions& run) {
  if (!run.rdzv_endpoint.empty()) return parse_host_port(run.rdzv_endpoint, kDefaultPort);
  const i64 port = run.master_port.value_or(kDefaultPort);
  return {Address::Kind::Tcp, run.master_addr.empty() ? "127.0.0.1" : run.master_addr, static_cast<std::uint16_t>(port)};
}

bool is_one_host(const RunOptions& run) { return run.standalone || (run.max_nodes == 1 && run.rdzv_endpoint.empty()); }

JobSecret secret_of(const RunOptions& run) {
  if (!run.secret_file.empty()) return JobSecret::of_file(run.secret_file);
  if (is_one_host(run)) return JobSecret::make();
  throw ArgumentError(
      "run: a job of several hosts needs one secret: --secret-file is not given; 32 random bytes with mode 0600 on each host are needed");
}

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

/// The store of the job: served here, or of another host's agent.
struct JobStore {
  std::unique_ptr<StoreServer> server;
  std::shared_ptr<Store> client;
  std::string address;  // for the ranks of this host
};

std::shared_ptr<Store> connect(const Address& address, const JobSecret& secret, milliseconds grace) {
  return std::make_shared<TcpStore>(address, secret, TcpStoreOptions{.grace = grace});
}

std::unique_ptr<StoreServer> serve(const RunOptions& run, const JobSecret& secret, const RunFolder& folder) {
  StoreServerOptions options;
  options.snapshot_file = folder.path() + "/store.snapshot";
  options.addresses.push_back({Address::Kind::Unix, folder.path() + "/store", 0});
  if (!is_one_host(run)) options.addresses.push_back(endpoint_of(run));
  return std::make_unique<StoreServer>(secret, options);
}

bool may_serve(const RunOptions& run) { return is_one_host(run) || !run.node_rank || *run.node_rank == 0; }

JobStore open_store(const RunOptions& run, const JobSecret& secret, const RunFolder& folder) {
  JobStore store;
  const Address local{Address::Kind::Unix, folder.path() + "/store", 0};
  const bool must_serve = is_one_host(run) || run.node_rank.has_value();
  if (may_serve(run)) {
    try {
      store.server = serve(run, secret, folder);
    } catch (const StoreError& error) {
      if (must_serve) throw;  // else the address is another host's, or another agent of this host came first
      log(LogLevel::Info, cat("run: another agent serves the store: ", error.what()));
    }
  }
  const Address address = store.server ? local : endpoint_of(run);
  store.address = print_address(address);
  // Until the agent of the first host is there; later an agent waits less.
  if (!store.server) connect(address, secret, run.join_timeout)->num_keys();
  store.client = connect(address, secret, kAgentGrace);
  return store;
}

AgentSetup set_up(const RunOptions& run, const JobStore& store, const std::vector<std::string>& variables) {
  AgentSetup setup;
  setup.run = run;
  setup.store_address = store.address;
  setup.environment = variables;
  setup.ranks_die_with_agent = is_one_host(run);
  const std::string host = !run.master_addr.empty() ? run.master_addr : !run.local_addr.empty() ? run.local_addr : endpoint_of(run).host;
  if (is_one_host(run)) {
    setup.place = {0, 1, 0, run.ranks_per_node};
    setup.master_addr = run.master_addr.empty() ? "127.0.0.1" : run.master_addr;
    setup.master_port = run.master_port.value_or(0) != 0 ? *run.master_port : free_port("127.0.0.1");
    return setup;
  }
  setup.place = meet(*store.client, run, machine_clock());
  const bool chosen = run.master_port.value_or(0) != 0 && !run.rdzv_endpoint.empty();
  std::string master;
  if (setup.place.node == 0) master = cat(host, ":", chosen ? *run.master_port : free_port(host));
  const Address agreed = parse_host_port(agree_on_master(*store.client, run, setup.place, master), kDefaultPort);
  setup.master_addr = agreed.host;
  setup.master_port = agreed.port;
  return setup;
}

/// Who serves the store stays until the other agents are done, or their leases have ended.
void wait_for_others(Store& store, const NodePlace& place, Clock& clock) {
  const nanoseconds deadline = clock.now() + kOthersGrace;
  for (i64 node = 0; node < place.nodes; ++node) {
    if (node == place.node) continue;
    while (clock.now() < deadline) {
      if (store.watch(agent_key(node) + "/ended", 0, milliseconds(500)).exists() || !store.check({agent_key(node)})) break;
    }
  }
}

int run_ranks(const RunOptions& run, const std::vector<std::string>& variables) {
  const JobSecret secret = secret_of(run);
  RunFolder folder(run_base(), run.rdzv_id);
  const JobStore store = open_store(run, secret, folder);
  AgentSetup setup = set_up(run, store, variables);
  const NodePlace place = setup.place;
  const HeldSignals held;
  int exit_code = 1;
  {
    Agent agent(std::move(setup), secret, folder, store.client);
    exit_code = agent.run();
  }
  if (store.server) wait_for_others(*store.client, place, machine_clock());
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
