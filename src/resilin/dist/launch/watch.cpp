// src/resilin/dist/launch/watch.cpp -- an agent that starts nothing.
#include "resilin/dist/launch/watch.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/log.h"
#include "resilin/dist/launch/job.h"
#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {
namespace {

void check(const RunOptions& run) {
  if (is_one_host(run)) return;
  if (!run.node_rank || *run.node_rank >= run.max_nodes) {
    throw ArgumentError(cat("agent: with --rdzv-endpoint each host needs its number: --node-rank is ",
                            run.node_rank ? cat(*run.node_rank) : "not given", "; it must be below --nnodes, ", run.max_nodes));
  }
}

/// What a shell evaluates before it starts the ranks.
std::string variables(const JobStore& store, const RunFolder& folder, const std::string& secret_file) {
  return cat("export RESILIN_STORE='", store.address, "'\nexport RESILIN_AGENT='unix:", folder.path(),
             "/agent'\nexport RESILIN_SECRET_FILE='", secret_file, "'\n");
}

void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(to, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw IoError("agent: its variables cannot be written; who started it must read them");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

int watch_ranks(RunOptions run, Descriptor variables_to) {
  const JobSecret secret = job_secret(run);
  RunFolder folder(run_base(), run.rdzv_id);
  std::string secret_file = run.secret_file;
  if (secret_file.empty()) {
    secret_file = folder.path() + "/secret";
    atomic_write(secret_file, secret.bytes());
  }
  const JobStore store = open_job_store(run, secret, folder);
  AgentSetup setup;
  setup.place = {run.node_rank.value_or(0), run.max_nodes, 0, 0};
  setup.store_address = store.address;
  setup.adopts = true;
  run.policy = Policy::Shrink;
  run.min_ranks = 0;  // who starts ranks decides what their deaths mean
  setup.run = run;
  const NodePlace place = setup.place;
  const HeldSignals held;
  int exit_code = 1;
  {
    Agent agent(std::move(setup), secret, folder, store.client);
    write_all(variables_to.get(), variables(store, folder, secret_file));
    variables_to.close();
    exit_code = agent.run();
  }
  wait_for_other_hosts(store, place, machine_clock());
  return exit_code;
}

/// The agent's own process: without a terminal, its errors where they were.
[[noreturn]] void run_behind(const RunOptions& run, Descriptor variables_to) {
  setsid();
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  int exit_code = 1;
  try {
    exit_code = watch_ranks(run, std::move(variables_to));
  } catch (const std::exception& error) {
    log(LogLevel::Error, error.what());
  }
  _exit(exit_code);
}

/// Comes back when the agent serves.
int start_behind(const RunOptions& run) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw IoError("agent: no descriptor is left; two are needed");
  const Descriptor read_end(ends[0]);
  int write_end = ends[1];
  const pid_t process = fork();  // closes read_end in the child
  if (process < 0) throw IoError("agent: no process is left; one is needed");
  if (process == 0) run_behind(run, Descriptor(write_end));
  close(write_end);
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t count = read(read_end.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  if (text.empty()) {
    waitpid(process, nullptr, 0);
    return 1;  // it has said why
  }
  text += cat("export RESILIN_AGENT_PID='", process, "'\n");
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  return 0;
}

}  // namespace

int watch_job(const std::vector<std::string>& arguments) {
  const RunOptions run = parse_agent_options(arguments, environment_variable);
  if (run.help) {
    std::fputs(agent_help().c_str(), stdout);
    return 0;
  }
  check(run);
  if (run.foreground) return watch_ranks(run, Descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)));
  return start_behind(run);
}

}  // namespace resilin::dist
