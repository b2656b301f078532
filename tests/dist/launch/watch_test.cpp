// tests/dist/launch/watch_test.cpp -- `resilin agent`: ranks that another launcher started are watched.
#include "resilin/dist/launch/watch.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/dist/agent/heartbeat.h"
#include "resilin/dist/agent/rank_record.h"
#include "resilin/dist/agent/spawn.h"
#include "resilin/dist/launch/job_store.h"
#include "resilin/dist/launch/rank_info.h"
#include "resilin/dist/wire/codec.h"

#include "tests/support/launcher.h"
#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

using launch::comes_true;
using launch::end_of;
using launch::own_environment;
using std::chrono::milliseconds;

/// `resilin agent` as a child, what it printed and what it said.
class RunningAgent {
 public:
  explicit RunningAgent(const std::vector<std::string>& flags) : child_(start(folder_.path(), flags)) {
    comes_true([&] { return !variable("RESILIN_SECRET_FILE").empty(); });
  }
  pid_t process() const { return child_.process(); }
  int wait() { return end_of(child_); }
  std::string log() const { return launch::read_or_empty(folder_.path() + "/log"); }
  std::string variable(const std::string& name) const {
    const std::string text = launch::read_or_empty(folder_.path() + "/out");
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

 private:
  static Child start(const std::string& folder, const std::vector<std::string>& flags) {
    Program program;
    program.arguments = {plugin_path("resilin"), "agent", "--foreground"};
    program.arguments.insert(program.arguments.end(), flags.begin(), flags.end());
    program.environment = own_environment();
    program.dies_with_parent = true;
    const Descriptor out(open((folder + "/out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const Descriptor log(open((folder + "/log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    program.out = out.get();
    program.err = log.get();
    return Child(program);
  }

  const testing::TemporaryFolder folder_;
  Child child_;
};

/// A rank that some launcher started: it beats until it is told to leave, or for ever (see the last test of this file).
Child start_rank(const RankInfo& info, bool leaves) {
  Program program;
  program.arguments = launch::with_test_case({}, leaves ? "leaves" : "stays", "a rank that beats");
  program.environment = rank_environment(info, own_environment());
  return Child(program);
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
  Child first = start_rank(agent.rank(4), false);
  CHECK(wait_for_state(*store, 4, RankState::Running).process == first.process());
  first.send_signal(SIGKILL);
  const RankRecord dead = wait_for_state(*store, 4, RankState::Dead);
  CHECK(dead.text == "rank 4 is gone; how it ended is known to its parent only");
  CHECK(end_of(first) == -SIGKILL);
  Child second = start_rank(agent.rank(5), true);
  wait_for_state(*store, 5, RankState::Left);
  CHECK(end_of(second) == 0);
  CHECK(agent.wait() == 0);
  CHECK(agent.log().find("incident 1: rank 4 is gone") != std::string::npos);
}

TEST_CASE("an adopted rank is evicted by a signal, and its successor has its number and a greater life") {
  const RunningAgent agent({"--nproc-per-node=2", "--rdzv-id=evicted"});
  const std::shared_ptr<Store> store = connect_job_store(agent.rank(0));
  Child first = start_rank(agent.rank(0), false);
  const RankRecord running = wait_for_state(*store, 0, RankState::Running);
  store->set(evict_key(0), encode(EvictOrder{running.instance, "the test wants it"}));
  CHECK(end_of(first) == -SIGKILL);
  wait_for_state(*store, 0, RankState::Dead);
  Child second = start_rank(agent.rank(0), false);
  RankRecord again = wait_for_state(*store, 0, RankState::Running);
  CHECK(again.life == 1);
  CHECK(again.process == second.process());
  kill(agent.process(), SIGTERM);
  CHECK(end_of(second) == -SIGTERM);
}

TEST_CASE("an agent to which nobody comes ends, and leaves nothing") {
  RunningAgent agent({"--nproc-per-node=2", "--rdzv-id=lonely", "--rdzv-conf=join_timeout=0.5"});
  const std::string secret_file = agent.variable("RESILIN_SECRET_FILE");
  CHECK(agent.wait() == 1);
  CHECK(agent.log().find("no rank was there for 500 ms") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(secret_file));
}

TEST_CASE("an agent takes its own flags only") {
  CHECK_THROWS_WITH_AS(watch_job({"--max-restarts=2"}), "agent: unknown flag: --max-restarts; did you mean --nnodes?", ArgumentError);
  CHECK_THROWS_WITH_AS(watch_job({"train"}), "agent: it starts no program: [train]; resilin run does", ArgumentError);
  CHECK_THROWS_AS(watch_job({"--rdzv-endpoint=127.0.0.1:1", "--nnodes=2"}), ArgumentError);
}

TEST_CASE("a rank that beats" * doctest::skip()) {
  alarm(60 * testing::kSlowness);
  signal(SIGTERM, SIG_DFL);
  const std::optional<RankInfo> info = rank_info();
  REQUIRE(info.has_value());
  Heartbeat heartbeat(*info, milliseconds(50));
  heartbeat.report(1);
  if (std::string(std::getenv("RESILIN_TEST_RANK")) == "leaves") {
    heartbeat.leave();
    usleep(100'000);
    return;
  }
  while (true) pause();
}

}  // namespace
}  // namespace resilin::dist
