// tests/dist/launch/watch_test.cpp -- `resilin agent`: ranks that another launcher started are watched.
#include "resilin/dist/launch/watch.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/dist/agent/heartbeat.h"
#include "resilin/dist/agent/rank_record.h"
#include "resilin/dist/launch/job_store.h"
#include "resilin/dist/wire/codec.h"

#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;

/// An agent in a child, what it printed and what it said.
struct RunningAgent {
  explicit RunningAgent(std::vector<std::string> flags) {
    process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {
      alarm(60);
      const int out = open((folder.path() + "/out").c_str(), O_WRONLY | O_CREAT, 0600);
      const int log = open((folder.path() + "/log").c_str(), O_WRONLY | O_CREAT, 0600);
      dup2(out, STDOUT_FILENO);
      dup2(log, STDERR_FILENO);
      flags.push_back("--foreground");
      _exit(watch_job(flags));
    }
    for (int i = 0; i < 2000 && variable("RESILIN_SECRET_FILE").empty(); ++i) usleep(10'000);
  }
  ~RunningAgent() {
    if (process < 0) return;
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  int wait() {
    int status = 0;
    REQUIRE(waitpid(process, &status, 0) == process);
    process = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string variable(const std::string& name) const {
    const std::string path = folder.path() + "/out";
    const std::string text = std::filesystem::exists(path) ? read_file(path) : "";
    const std::size_t at = text.find(name + "='");
    const std::size_t end = at == std::string::npos ? at : text.find("'\n", at);
    return end == std::string::npos ? "" : text.substr(at + name.size() + 2, end - at - name.size() - 2);
  }
  RankInfo rank(i64 number) const {
    RankInfo info;
    info.rank = number;
    info.store_address = variable("RESILIN_STORE");
    info.agent_address = variable("RESILIN_AGENT");
    info.secret_file = variable("RESILIN_SECRET_FILE");
    return info;
  }
  const testing::TemporaryFolder folder;
  pid_t process = -1;
};

/// A rank that some launcher started: it beats until it is told to leave, or for ever.
pid_t start_rank(const RankInfo& info, bool leaves) {
  const pid_t process = fork();
  if (process != 0) return process;
  alarm(60);
  signal(SIGTERM, SIG_DFL);
  try {
    Heartbeat heartbeat(info, milliseconds(50));
    heartbeat.report(1);
    if (leaves) {
      heartbeat.leave();
      usleep(100'000);
      _exit(0);
    }
    while (true) pause();
  } catch (const std::exception&) {
    _exit(9);
  }
}

RankRecord wait_for_state(Store& store, i64 rank, RankState state) {
  std::uint64_t version = 0;
  while (true) {
    const StoreValue value = store.watch(rank_key(rank), version, milliseconds(20'000));
    version = value.version;
    const RankRecord record = decode<RankRecord>(value.bytes);
    if (record.state == state) return record;
  }
}

TEST_CASE("an agent adopts the ranks that beat to it, publishes their deaths, and ends with the last") {
  RunningAgent agent({"--nproc-per-node=2", "--rdzv-id=adopted"});
  const std::shared_ptr<Store> store = connect_job_store(agent.rank(0));
  const pid_t first = start_rank(agent.rank(4), false);
  CHECK(wait_for_state(*store, 4, RankState::Running).process == first);
  kill(first, SIGKILL);
  const RankRecord dead = wait_for_state(*store, 4, RankState::Dead);
  CHECK(dead.text == "rank 4 is gone; how it ended is known to its parent only");
  REQUIRE(waitpid(first, nullptr, 0) == first);
  const pid_t second = start_rank(agent.rank(5), true);
  wait_for_state(*store, 5, RankState::Left);
  REQUIRE(waitpid(second, nullptr, 0) == second);
  CHECK(agent.wait() == 0);
  CHECK(read_file(agent.folder.path() + "/log").find("incident 1: rank 4 is gone") != std::string::npos);
}

TEST_CASE("an adopted rank is evicted by a signal, and its successor has its number and a greater life") {
  RunningAgent agent({"--nproc-per-node=2", "--rdzv-id=evicted"});
  const std::shared_ptr<Store> store = connect_job_store(agent.rank(0));
  const pid_t first = start_rank(agent.rank(0), false);
  const RankRecord running = wait_for_state(*store, 0, RankState::Running);
  store->set(evict_key(0), encode(EvictOrder{running.instance, "the test wants it"}));
  int status = 0;
  REQUIRE(waitpid(first, &status, 0) == first);
  CHECK(WTERMSIG(status) == SIGKILL);
  wait_for_state(*store, 0, RankState::Dead);
  const pid_t second = start_rank(agent.rank(0), false);
  RankRecord again = wait_for_state(*store, 0, RankState::Running);
  CHECK(again.life == 1);
  CHECK(again.process == second);
  kill(agent.process, SIGTERM);
  REQUIRE(waitpid(second, &status, 0) == second);
  CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("an agent to which nobody comes ends, and leaves nothing") {
  RunningAgent agent({"--nproc-per-node=2", "--rdzv-id=lonely", "--rdzv-conf=join_timeout=0.5"});
  const std::string secret_file = agent.variable("RESILIN_SECRET_FILE");
  CHECK(agent.wait() == 1);
  CHECK(read_file(agent.folder.path() + "/log").find("no rank was there for 500 ms") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(secret_file));
}

TEST_CASE("an agent takes its own flags only") {
  CHECK_THROWS_WITH_AS(watch_job({"--max-restarts=2"}), "agent: unknown flag: --max-restarts; did you mean --nnodes?", ArgumentError);
  CHECK_THROWS_WITH_AS(watch_job({"train"}), "agent: it starts no program: [train]; resilin run does", ArgumentError);
  CHECK_THROWS_AS(watch_job({"--rdzv-endpoint=127.0.0.1:1", "--nnodes=2"}), ArgumentError);
}

}  // namespace
}  // namespace resilin::dist
