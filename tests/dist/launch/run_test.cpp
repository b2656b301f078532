// tests/dist/launch/run_test.cpp -- `resilin run` with real processes: deaths, signals, faults, several hosts, and that nothing is left.
#include "resilin/dist/launch/run.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/text.h"
#include "resilin/dist/agent/heartbeat.h"
#include "resilin/dist/agent/rank_record.h"
#include "resilin/dist/launch/job_store.h"
#include "resilin/dist/launch/processors.h"
#include "resilin/dist/launch/run_folder.h"
#include "resilin/dist/os/socket.h"
#include "resilin/dist/security/secret.h"
#include "resilin/dist/wire/codec.h"

#include "tests/support/launcher.h"
#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

using launch::comes_true;
using launch::Launcher;
using launch::lines_of;
using launch::read_or_empty;
using launch::with_test_case;
using std::chrono::milliseconds;

bool lives(pid_t process) {
  std::ifstream stat(cat("/proc/", process, "/stat"));
  std::string text;
  return std::getline(stat, text) && text.substr(text.rfind(')') + 2, 1) != "Z";
}

int run_shell(const testing::TemporaryFolder& out, std::vector<std::string> flags, const std::string& script) {
  for (const char* argument : {"sh", "-c"}) flags.emplace_back(argument);
  flags.push_back(script);
  return Launcher(out, flags).wait();
}

/// The flags, then this program as the rank, doing what `mode` says (see the last test of this file).
std::vector<std::string> with_rank(std::vector<std::string> flags, const std::string& mode) {
  return with_test_case(std::move(flags), mode, "a rank of a test");
}

std::size_t run_folders() {
  std::size_t count = 0;
  std::error_code failed;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(run_base(), failed))
    count += entry.exists() ? 1 : 0;
  return count;
}

TEST_CASE("ranks get torchrun's variables and the job ends with 0, leaving nothing") {
  const testing::TemporaryFolder out;
  const std::size_t folders = run_folders();
  CHECK(run_shell(out, {"--standalone", "--nproc-per-node=3", "--rdzv-id=seven"},
                  "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR $TORCHELASTIC_RUN_ID "
                  "$TORCHELASTIC_RESTART_COUNT ${MASTER_PORT:+port} ${RESILIN_STORE:+store} $OMP_NUM_THREADS >> $OUT/all") == 0);
  std::vector<std::string> lines = lines_of(out.path() + "/all");
  std::ranges::sort(lines);
  const i64 threads = threads_of_rank(static_cast<i64>(usable_processors().size()), 3);
  REQUIRE(lines.size() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(lines[static_cast<std::size_t>(rank)] == cat(rank, " ", rank, " 3 3 0 127.0.0.1 seven 0 port store ", threads));
  }
  CHECK(run_folders() == folders);
}

TEST_CASE("ranks have processors of their own where there are enough") {
  const std::size_t processors = usable_processors().size();
  if (processors < 2) return;
  const testing::TemporaryFolder out;
  CHECK(run_shell(out, {"--standalone", "--nproc-per-node=2"}, "grep Cpus_allowed_list /proc/self/status > $OUT/$RANK") == 0);
  CHECK(lines_of(out.path() + "/0") != lines_of(out.path() + "/1"));
}

TEST_CASE("the first rank that fails ends the job with its code and its reason") {
  const testing::TemporaryFolder out;
  Launcher launcher(
      out, {"--standalone", "--nproc-per-node=3", "sh", "-c",
            "echo $$ > $OUT/$RANK; [ $RANK = 1 ] && { sleep 0.2; exit 3; }; trap 'touch $OUT/told$RANK; exit 1' TERM; sleep 60 & wait"});
  CHECK(launcher.wait() == 3);
  CHECK(launcher.log().find("incident 1: rank 1 exited with code 3") != std::string::npos);
  CHECK(std::filesystem::exists(out.path() + "/told0"));
  CHECK(std::filesystem::exists(out.path() + "/told2"));
  for (int rank = 0; rank < 3; ++rank) CHECK_FALSE(lives(std::atoi(read_or_empty(cat(out.path(), "/", rank)).c_str())));
}

TEST_CASE("a signal that killed a rank is told in words and as 128 + its number") {
  const testing::TemporaryFolder out;
  Launcher launcher(out, {"--standalone", "--nproc-per-node=2", "sh", "-c", "[ $RANK = 0 ] && kill -SEGV $$; sleep 60"});
  CHECK(launcher.wait() == 139);
  CHECK(launcher.log().find("rank 0 was killed by SIGSEGV (Segmentation fault)") != std::string::npos);
}

TEST_CASE("the cause is said, not the consequence that came first") {
  const testing::TemporaryFolder out;
  Launcher launcher(
      out, {"--standalone", "--nproc-per-node=2", "sh", "-c",
            "if [ $RANK = 0 ]; then echo '{\"message\": {\"message\": \"peer 1 is gone\", \"extraInfo\": {\"kind\": \"PeerError\"}}}' > "
            "$TORCHELASTIC_ERROR_FILE; touch $OUT/gone; exit 1; fi; while [ ! -e $OUT/gone ]; do sleep 0.005; done; kill -ABRT $$"});
  CHECK(launcher.wait() == 134);
  CHECK(launcher.log().find("incident 1: rank 1 was killed by SIGABRT (Aborted)") != std::string::npos);
  CHECK(launcher.log().find("rank 0 exited with code 1; it says: peer 1 is gone") != std::string::npos);
}

TEST_CASE("only the dead rank is started again, with its number and a greater life") {
  const testing::TemporaryFolder out;
  CHECK(run_shell(
            out, {"--standalone", "--nproc-per-node=3", "--max-restarts=2"},
            "echo $RANK $TORCHELASTIC_RESTART_COUNT >> $OUT/starts; [ $RANK = 1 -a $TORCHELASTIC_RESTART_COUNT -lt 2 ] && kill -KILL $$; "
            "sleep 0.5") == 0);
  std::vector<std::string> starts = lines_of(out.path() + "/starts");
  std::ranges::sort(starts);
  CHECK(starts == std::vector<std::string>{"0 0", "1 0", "1 1", "1 2", "2 0"});
}

TEST_CASE("a shrinking job goes on without the dead and fails below its least size") {
  const testing::TemporaryFolder out;
  CHECK(run_shell(out, {"--standalone", "--nproc-per-node=3", "--policy=shrink", "--min-ranks=2"},
                  "[ $RANK = 2 ] && kill -KILL $$; sleep 0.3; touch $OUT/done$RANK") == 0);
  CHECK(std::filesystem::exists(out.path() + "/done0"));
  CHECK(std::filesystem::exists(out.path() + "/done1"));
  CHECK(run_shell(out, {"--standalone", "--nproc-per-node=3", "--policy=shrink", "--min-ranks=3"},
                  "[ $RANK = 2 ] && kill -KILL $$; sleep 60") == 137);
}

TEST_CASE("a program that does not exist is said, with 127") {
  const testing::TemporaryFolder out;
  Launcher launcher(out, {"--standalone", "/no/such/program"});
  CHECK(launcher.wait() == 127);
  CHECK(launcher.log().find("No such file or directory: /no/such/program") != std::string::npos);
}

TEST_CASE("SIGTERM to the launcher reaches the ranks and ends the job with 143; who ignores it is killed after the grace") {
  const testing::TemporaryFolder out;
  Launcher launcher(out, {"--standalone", "--nproc-per-node=2", "--stop-grace=0.5", "sh", "-c",
                          "[ $RANK = 0 ] && trap '' TERM; [ $RANK = 1 ] && trap 'touch $OUT/told; exit 0' TERM; touch $OUT/up$RANK; "
                          "while true; do sleep 0.05; done"});
  REQUIRE(comes_true([&] { return std::filesystem::exists(out.path() + "/up0") && std::filesystem::exists(out.path() + "/up1"); }));
  launcher.send(SIGTERM);
  CHECK(launcher.wait() == 143);
  CHECK(std::filesystem::exists(out.path() + "/told"));
}

TEST_CASE("no rank of a standalone job outlives a killed launcher, and the next job removes its folder") {
  const testing::TemporaryFolder out;
  const std::size_t folders = run_folders();
  Launcher launcher(out,
                    {"--standalone", "--nproc-per-node=2", "sh", "-c", "echo $$ > $OUT/new$RANK; mv $OUT/new$RANK $OUT/$RANK; sleep 60"});
  REQUIRE(comes_true([&] { return std::filesystem::exists(out.path() + "/0") && std::filesystem::exists(out.path() + "/1"); }));
  launcher.send(SIGKILL);
  CHECK(launcher.wait() == -SIGKILL);
  for (int rank = 0; rank < 2; ++rank) {
    const pid_t process = std::atoi(read_file(cat(out.path(), "/", rank)).c_str());
    CHECK(comes_true([process] { return !lives(process); }));
  }
  CHECK(run_folders() == folders + 1);
  CHECK(run_shell(out, {"--standalone"}, "exit 0") == 0);
  CHECK(run_folders() == folders);
}

TEST_CASE("output is kept for each rank and life, and shown with the rank in front") {
  const testing::TemporaryFolder out;
  Launcher launcher(
      out, {"--standalone", "--nproc-per-node=2", "--max-restarts=1", "--rdzv-id=job", "--log-dir=" + out.path() + "/logs", "--redirects=2",
            "--tee=1", "sh", "-c",
            "echo out $RANK $TORCHELASTIC_RESTART_COUNT; echo err $RANK >&2; printf end; [ $RANK$TORCHELASTIC_RESTART_COUNT = 10 ] "
            "&& exit 1; exit 0"});
  CHECK(launcher.wait() == 0);
  CHECK(lines_of(out.path() + "/logs/job/0/0/stdout.log") == std::vector<std::string>{"out 0 0", "end"});
  CHECK(lines_of(out.path() + "/logs/job/1/0/stdout.log") == std::vector<std::string>{"out 1 0", "end"});
  CHECK(lines_of(out.path() + "/logs/job/1/1/stdout.log") == std::vector<std::string>{"out 1 1", "end"});
  CHECK(lines_of(out.path() + "/logs/job/1/1/stderr.log") == std::vector<std::string>{"err 1"});
  const std::string log = launcher.log();
  const auto shown_of = [&](const std::string& rank) {
    std::vector<std::string> shown;
    std::istringstream text(log);
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with(rank)) shown.push_back(line.substr(rank.size()));
    }
    return shown;
  };
  CHECK(shown_of("[rank 0] ") == std::vector<std::string>{"out 0 0", "end"});
  CHECK(shown_of("[rank 1] ") == std::vector<std::string>{"out 1 0", "end", "out 1 1", "end"});
  CHECK(log.find("err 1") == std::string::npos);
}

TEST_CASE("a fault kills its rank in its step, and the step after the restart is left alone") {
  const testing::TemporaryFolder out;
  Launcher launcher(out, with_rank({"--standalone", "--nproc-per-node=2", "--max-restarts=3", "--chaos=kill:1@20;seed=5"}, "steps 80"));
  CHECK(launcher.wait() == 0);
  CHECK(launcher.log().find("incident 1: rank 1 was killed by SIGKILL (Killed), injected by kill:1@20") != std::string::npos);
  CHECK(lines_of(out.path() + "/step-0-0").back() == "80");
  CHECK(lines_of(out.path() + "/step-1-1").back() == "80");
  const int last = std::atoi(lines_of(out.path() + "/step-1-0").back().c_str());
  CHECK(last >= 20);
  CHECK(last < 80);  // in step 20 when nobody holds the agent up
}

TEST_CASE("a stopped rank is suspected and trusted again; others see both in the store") {
  const testing::TemporaryFolder out;
  Launcher launcher(out, with_rank({"--standalone", "--nproc-per-node=2", "--heartbeat-timeout=1", "--chaos=stop:1@5,3s"}, "watch 1"));
  CHECK(launcher.wait() == 0);
  // On a machine that starves it a rank may be suspected once more.
  const std::vector<std::string> seen = lines_of(out.path() + "/seen");
  REQUIRE(seen.size() >= 4);
  CHECK(std::vector<std::string>(seen.begin(), seen.begin() + 3) == std::vector<std::string>{"running", "suspected", "running"});
  CHECK(seen.back() == "left");
}

TEST_CASE("a rank that another one evicts is killed, reaped and replaced") {
  const testing::TemporaryFolder out;
  Launcher launcher(out, with_rank({"--standalone", "--nproc-per-node=2", "--max-restarts=1"}, "evict 1"));
  CHECK(launcher.wait() == 0);
  CHECK(launcher.log().find("incident 1: rank 1 was evicted: the test wants it") != std::string::npos);
  const std::vector<std::string> seen = lines_of(out.path() + "/seen");
  REQUIRE(seen.size() >= 2);
  CHECK(seen.front() == "running");
  CHECK(seen.back() == "left");
}

TEST_CASE("a rank that leaves in good order is not started again") {
  const testing::TemporaryFolder out;
  CHECK(Launcher(out, with_rank({"--standalone", "--nproc-per-node=2", "--max-restarts=5"}, "leave")).wait() == 0);
  CHECK(lines_of(out.path() + "/starts").size() == 2);
}

i64 some_port() { return listen_on({Address::Kind::Tcp, "127.0.0.1", 0}).address.port; }

struct TwoHosts {
  TwoHosts() { atomic_write(out.path() + "/secret", JobSecret::make().bytes()); }
  std::vector<std::string> flags(std::vector<std::string> more) const {
    std::vector<std::string> all = {"--nnodes=2", "--nproc-per-node=2", cat("--rdzv-endpoint=127.0.0.1:", port),
                                    "--secret-file=" + out.path() + "/secret"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  const testing::TemporaryFolder out;
  const i64 port = some_port();
};

TEST_CASE("two hosts number their ranks through the store of the first") {
  for (const bool by_number : {true, false}) {
    CAPTURE(by_number);
    const TwoHosts hosts;
    const std::string script = "echo $RANK $LOCAL_RANK $GROUP_RANK $WORLD_SIZE $MASTER_ADDR:$MASTER_PORT >> $OUT/all; sleep 0.3";
    const auto flags = [&](const char* number) {
      const std::string how = by_number ? cat("--node-rank=", number) : "--rdzv-backend=c10d";
      return hosts.flags({how, "sh", "-c", script});
    };
    Launcher second(hosts.out, flags("1"), "second"), first(hosts.out, flags("0"), "first");
    CHECK(first.wait() == 0);
    CHECK(second.wait() == 0);
    std::vector<std::string> lines = lines_of(hosts.out.path() + "/all");
    std::ranges::sort(lines);
    REQUIRE(lines.size() == 4);
    const std::string master = lines[0].substr(8);
    for (int rank = 0; rank < 4; ++rank) {
      CHECK(lines[static_cast<std::size_t>(rank)] == cat(rank, " ", rank % 2, " ", rank / 2, " 4 ", master));
    }
  }
}

TEST_CASE("a job that failed on one host ends on the other") {
  const TwoHosts hosts;
  const std::string script = "[ $RANK = 3 ] && { sleep 0.3; exit 5; }; sleep 60";
  Launcher first(hosts.out, hosts.flags({"--node-rank=0", "sh", "-c", script}), "first");
  Launcher second(hosts.out, hosts.flags({"--node-rank=1", "sh", "-c", script}), "second");
  CHECK(second.wait() == 5);
  CHECK(first.wait() == 1);
  CHECK(first.log().find("it failed on host 1: rank 3 exited with code 5") != std::string::npos);
}

TEST_CASE("hosts that do not come are named") {
  const TwoHosts hosts;
  Launcher first(hosts.out, hosts.flags({"--node-rank=0", "--rdzv-conf=join_timeout=0.5", "true"}), "first");
  CHECK(first.wait() == 98);
  CHECK(first.log().find("run: the job lacks hosts: host 1 did not come in 500 ms; at least 2 must") != std::string::npos);
}

TEST_CASE("a host with another secret does not get in") {
  const TwoHosts hosts;
  atomic_write(hosts.out.path() + "/other", JobSecret::make().bytes());
  Launcher first(hosts.out, hosts.flags({"--node-rank=0", "--rdzv-conf=join_timeout=2", "true"}), "first");
  Launcher thief(hosts.out, hosts.flags({"--node-rank=1", "--secret-file=" + hosts.out.path() + "/other", "true"}), "thief");
  CHECK(thief.wait() == 98);
  CHECK(thief.log().find("does not know the job's secret") != std::string::npos);
  CHECK(first.wait() == 98);
}

TEST_CASE("ranks go on stepping when their agent is lost") {
  const testing::TemporaryFolder out;
  atomic_write(out.path() + "/secret", JobSecret::make().bytes());
  Launcher launcher(out, with_rank({"--nnodes=1", "--nproc-per-node=2", cat("--rdzv-endpoint=127.0.0.1:", some_port()),
                                    "--secret-file=" + out.path() + "/secret"},
                                   "outlive"));
  REQUIRE(comes_true([&] { return std::filesystem::exists(out.path() + "/up0") && std::filesystem::exists(out.path() + "/up1"); }));
  launcher.send(SIGKILL);
  launcher.wait();
  CHECK(comes_true([&] { return std::filesystem::exists(out.path() + "/went-on0") && std::filesystem::exists(out.path() + "/went-on1"); }));
  CHECK(comes_true([&] { return remove_abandoned(run_base()) > 0; }));
}

TEST_CASE("the secret is neither an argument nor a variable of a rank") {
  const testing::TemporaryFolder out;
  const std::string bytes(32, 'S');
  atomic_write(out.path() + "/secret", bytes);
  Launcher launcher(out, {"--standalone", "--secret-file=" + out.path() + "/secret", "sh", "-c",
                          "cat /proc/self/environ /proc/$PPID/cmdline > $OUT/shown; cat /proc/self/fd/$RESILIN_SECRET_FD > $OUT/read"});
  CHECK(launcher.wait() == 0);
  CHECK(read_file(out.path() + "/read") == bytes);
  CHECK(read_file(out.path() + "/shown").find(bytes) == std::string::npos);
  CHECK(launcher.log().find(bytes) == std::string::npos);
}

// What follows runs in ranks.

void append_line(const std::string& path, const std::string& line) { std::ofstream(path, std::ios::app) << line << "\n" << std::flush; }

std::string out_folder() { return std::getenv("OUT"); }

void take_steps(const RankInfo& rank, Heartbeat& heartbeat, int steps) {
  for (int step = 1; step <= steps; ++step) {
    append_line(cat(out_folder(), "/step-", rank.rank, "-", rank.restart_count), cat(step));
    heartbeat.report(step);
    usleep(20'000);
  }
}

/// Writes down the states of a rank as they change, until it has left.
void watch_rank(const RankInfo& rank, i64 watched, const std::function<void(Store&, const RankRecord&)>& act) {
  const std::shared_ptr<Store> store = connect_job_store(rank);
  std::uint64_t version = 0;
  std::string last;
  while (last != "left") {
    const StoreValue value = store->watch(rank_key(watched), version, milliseconds(20'000));
    version = value.version;
    const RankRecord record = decode<RankRecord>(value.bytes);
    if (last != enum_name(record.state)) append_line(out_folder() + "/seen", std::string(enum_name(record.state)));
    last = enum_name(record.state);
    act(*store, record);
  }
}

void be_rank(const std::string& mode) {
  const std::optional<RankInfo> rank = rank_info();
  REQUIRE(rank.has_value());
  std::istringstream words(mode);
  std::string verb;
  int number = 0;
  words >> verb >> number;
  Heartbeat heartbeat(*rank, milliseconds(50));
  if (verb == "steps") take_steps(*rank, heartbeat, number);
  if (verb == "leave") {
    append_line(out_folder() + "/starts", cat(rank->rank));
    if (rank->rank == 1) {
      heartbeat.leave();
      usleep(50'000);
      kill(getpid(), SIGTERM);
    }
  }
  if (verb == "watch" && rank->rank == 0) watch_rank(*rank, number, [](Store&, const RankRecord&) {});
  if (verb == "watch" && rank->rank == 1) {
    take_steps(*rank, heartbeat, 100);
    heartbeat.leave();
  }
  if (verb == "evict" && rank->rank == 0) {
    watch_rank(*rank, number, [number](Store& store, const RankRecord& record) {
      if (record.state == RankState::Running && record.life == 0)
        store.set(evict_key(number), encode(EvictOrder{record.instance, "the test wants it"}));
    });
  }
  if (verb == "evict" && rank->rank == 1) {
    if (rank->restart_count == 0) sleep(60);
    heartbeat.leave();
  }
  if (verb == "outlive") {
    append_line(cat(out_folder(), "/up", rank->rank), "");
    for (int i = 0; i < 2000 && !heartbeat.agent_lost(); ++i) {
      heartbeat.report(i);
      usleep(10'000);
    }
    if (heartbeat.agent_lost()) append_line(cat(out_folder(), "/went-on", rank->rank), "");
  }
}

TEST_CASE("a rank of a test" * doctest::skip()) {
  alarm(90);
  const char* mode = std::getenv("RESILIN_TEST_RANK");
  REQUIRE(mode != nullptr);
  be_rank(mode);
}

}  // namespace
}  // namespace resilin::dist
