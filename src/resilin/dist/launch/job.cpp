// src/resilin/dist/launch/job.cpp -- secret, store and signals of a job.
#include "resilin/dist/launch/job.h"

#include "resilin/base/error.h"
#include "resilin/base/log.h"
#include "resilin/dist/agent/rank_record.h"
#include "resilin/dist/store/tcp_store.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kAgentGrace{5'000};  // an agent's requests do not wait longer for a lost store
constexpr nanoseconds kOthersGrace = std::chrono::minutes(5);

std::shared_ptr<Store> connect(const Address& address, const JobSecret& secret, milliseconds grace) {
  return std::make_shared<TcpStore>(address, secret, TcpStoreOptions{.grace = grace});
}

Address local_address(const RunFolder& folder) { return {Address::Kind::Unix, folder.path() + "/store", 0}; }

std::unique_ptr<StoreServer> serve(const RunOptions& run, const JobSecret& secret, const RunFolder& folder) {
  StoreServerOptions options;
  options.snapshot_file = folder.path() + "/store.snapshot";
  options.addresses.push_back(local_address(folder));
  if (!is_one_host(run)) options.addresses.push_back(endpoint_of(run));
  return std::make_unique<StoreServer>(secret, options);
}

}  // namespace

bool is_one_host(const RunOptions& run) { return run.standalone || (run.max_nodes == 1 && run.rdzv_endpoint.empty()); }

Address endpoint_of(const RunOptions& run) {
  if (!run.rdzv_endpoint.empty()) return parse_host_port(run.rdzv_endpoint, kDefaultPort);
  const i64 port = run.master_port.value_or(kDefaultPort);
  return {Address::Kind::Tcp, run.master_addr.empty() ? "127.0.0.1" : run.master_addr, static_cast<std::uint16_t>(port)};
}

JobSecret job_secret(const RunOptions& run) {
  if (!run.secret_file.empty()) return JobSecret::of_file(run.secret_file);
  if (is_one_host(run)) return JobSecret::make();
  throw ArgumentError(
      "run: a job of several hosts needs one secret: --secret-file is not given; 32 random bytes with mode 0600 on each host are needed");
}

JobStore open_job_store(const RunOptions& run, const JobSecret& secret, const RunFolder& folder) {
  JobStore store;
  const bool must_serve = is_one_host(run) || (run.node_rank && *run.node_rank == 0);
  if (must_serve) {
    store.server = serve(run, secret, folder);
  } else if (!run.node_rank) {
    try {
      store.server = serve(run, secret, folder);
    } catch (const StoreError& error) {
      // The address is another host's, or another agent of this host came first.
      log(LogLevel::Info, cat("run: another agent serves the store: ", error.what()));
    }
  }
  const Address address = store.server ? local_address(folder) : endpoint_of(run);
  store.address = print_address(address);
  // Until the agent of the first host is there; later an agent waits less.
  if (!store.server) connect(address, secret, run.join_timeout)->num_keys();
  store.client = connect(address, secret, kAgentGrace);
  return store;
}

void wait_for_other_hosts(const JobStore& store, const NodePlace& place, Clock& clock) {
  if (!store.server) return;
  const nanoseconds deadline = clock.now() + kOthersGrace;
  for (i64 node = 0; node < place.nodes; ++node) {
    if (node == place.node) continue;
    const std::string ended = agent_key(node) + "/ended";
    while (clock.now() < deadline && !store.client->check({ended}) && store.client->check({agent_key(node)})) {
      try {
        store.client->wait({ended}, milliseconds(500));
      } catch (const TimeoutError&) {
        continue;  // its lease is looked at again
      }
    }
  }
}

HeldSignals::HeldSignals() {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, signal);
  pthread_sigmask(SIG_BLOCK, &held, &before_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
}

HeldSignals::~HeldSignals() {
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace resilin::dist
