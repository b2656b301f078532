// tests/dist/launch/partition_test.cpp -- two hosts, made of network namespaces, whose link is cut: one side goes on, the other ends in time.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/file.h"
#include "resilin/base/text.h"
#include "resilin/dist/agent/spawn.h"
#include "resilin/dist/launch/rank_info.h"
#include "resilin/dist/launch/run_folder.h"
#include "resilin/dist/security/secret.h"

#include "tests/dist/group/summing.h"
#include "tests/support/launcher.h"

namespace resilin::dist {
namespace {

using launch::comes_true;
using launch::read_or_empty;
using summing::Note;

constexpr const char* kNamespaces = "/run/netns";
constexpr const char* kInterface = "rs0";

/// Why this machine cannot have two hosts; empty when it can.
std::string obstacle() {
  if (geteuid() != 0) return "network namespaces need root";
  if (std::system("ip -V >/dev/null 2>&1") != 0) return "the program `ip` (iproute2) is not installed";
  const std::string probe = cat("resilin-probe-", getpid());
  const std::string tries = cat("ip netns add ", probe, " && ip -n ", probe, " link set lo up");
  const bool named = std::system(cat("(", tries, ") >/dev/null 2>&1").c_str()) == 0;
  static_cast<void>(std::system(cat("ip netns delete ", probe, " >/dev/null 2>&1").c_str()));
  if (!named) return "`ip netns` cannot make a namespace here";
  const pid_t child = fork();
  if (child == 0) _exit(unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC) == 0 ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0 ? "" : "the system gives no network, mount and IPC namespaces";
}

/// Two namespaces, "a" and "b", each with the interface rs0, and a third with a bridge between them.
class TwoHosts {
 public:
  TwoHosts() {
    remove_left();
    for (const char* host : {"m", "a", "b"}) must(cat("ip netns add ", name(host)));
    must(cat("ip -n ", name("m"), " link add br0 type bridge"));
    must(cat("ip -n ", name("m"), " link set br0 up"));
    attach("a", 1);
    attach("b", 2);
  }
  ~TwoHosts() {
    for (const char* host : {"a", "b", "m"}) remove(name(host));
    remove_abandoned(run_base());
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  static std::string name(const std::string& host) { return cat("resilin-", getpid(), "-", host); }
  /// Frames are lost from now on, and nobody is told.
  void cut() const { must(cat("ip -n ", name("m"), " link set vb nomaster")); }
  void mend() const { must(cat("ip -n ", name("m"), " link set vb master br0")); }

 private:
  static void must(const std::string& command) {
    CAPTURE(command);
    REQUIRE(std::system(command.c_str()) == 0);
  }
  static void attach(const std::string& host, int number) {
    must(cat("ip link add ", kInterface, " netns ", name(host), " type veth peer name v", host, " netns ", name("m")));
    must(cat("ip -n ", name("m"), " link set v", host, " master br0 up"));
    must(cat("ip -n ", name(host), " addr add 10.77.0.", number, "/24 dev ", kInterface));
    must(cat("ip -n ", name(host), " link set ", kInterface, " up"));
    must(cat("ip -n ", name(host), " link set lo up"));
  }
  static void remove(const std::string& space) {
    const std::string list =
        cat("for p in $(ip netns pids ", space, " 2>/dev/null); do kill -9 $p 2>/dev/null; done; ip netns delete ", space);
    if (std::system(list.c_str()) != 0) std::fprintf(stderr, "the network namespace %s is left\n", space.c_str());
  }
  /// Of test programs that crashed.
  static void remove_left() {
    std::vector<std::string> left;
    std::error_code none;
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(kNamespaces, none)) {
      const std::string space = entry.path().filename().string();
      int process = 0;
      if (std::sscanf(space.c_str(), "resilin-%d-", &process) == 1 && !start_time_of(process)) left.push_back(space);
    }
    for (const std::string& space : left) remove(space);
  }
};

/// `resilin run` on one of the hosts.
class Host {
 public:
  Host(const testing::TemporaryFolder& out, const std::string& host, int number, const std::string& mode)
      : log_(cat(out.path(), "/log-", host)) {
    Program program;
    const std::vector<std::string> flags = launch::with_test_case(
        {"ip", "netns", "exec", TwoHosts::name(host), "unshare", "--ipc", plugin_path("resilin"), "run", "--nnodes=2", "--nproc-per-node=2",
         cat("--node-rank=", number), "--rdzv-endpoint=10.77.0.1:29500", "--secret-file=" + out.path() + "/secret", "--policy=shrink"},
        mode, summing::kTestCase);
    program.arguments = flags;
    for (char** variable = environ; *variable != nullptr; ++variable) program.environment.emplace_back(*variable);
    for (const std::string& variable :
         {"OUT=" + out.path(), "RESILIN_RECORDER_DIR=" + out.path() + "/" + host, std::string("RESILIN_DIST_INTERFACE=") + kInterface}) {
      program.environment.push_back(variable);
    }
    const Descriptor log(open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    program.out = program.err = log.get();
    child_ = std::make_unique<Child>(program);
  }
  /// The exit code, or minus the signal that ended it; nothing when it goes on for so long.
  std::optional<int> wait(int within_s) {
    pollfd waited{child_->descriptor(), POLLIN, 0};
    if (poll(&waited, 1, within_s * 1000) != 1) return std::nullopt;
    const std::optional<ProcessEnd> end = child_->reap();
    REQUIRE(end.has_value());
    return end->kind == ProcessEnd::Kind::Signalled ? -end->signal : end->code;
  }
  bool started(pid_t process) const {
    const std::string text = read_or_empty(cat("/proc/", process, "/stat"));
    std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
    std::string state;
    pid_t parent = 0;
    return (fields >> state >> parent) && parent == child_->process();
  }
  std::string log() const { return read_or_empty(log_); }

 private:
  const std::string log_;
  std::unique_ptr<Child> child_;
};

/// When notes of a kind were written by these processes, since a time.
std::vector<double> times_of(const std::string& folder, const std::string& what, const std::vector<pid_t>& processes, double since_ms) {
  std::vector<double> times;
  for (const Note& note : summing::notes_in(folder)) {
    const bool is_of_them = std::ranges::find(processes, note.process) != processes.end();
    if (is_of_them && note.what == what && note.at_ms > since_ms) times.push_back(note.at_ms - since_ms);
  }
  return times;
}

/// Four ranks on two hosts that sum.
struct Job {
  explicit Job(const std::string& mode) : out(with_secret()), a(*out, "a", 0, mode), b(*out, "b", 1, mode) {
    whole = summing::members_in(out->path(), 4, 0);
    CAPTURE(a.log());
    CAPTURE(b.log());
    REQUIRE(whole.size() == 4);
    for (const Note& note : whole) (a.started(note.process) ? with_store : without).push_back(note.process);
    REQUIRE(with_store.size() == 2);
    REQUIRE(without.size() == 2);
  }
  static std::unique_ptr<testing::TemporaryFolder> with_secret() {
    std::unique_ptr<testing::TemporaryFolder> folder = std::make_unique<testing::TemporaryFolder>();
    atomic_write(folder->path() + "/secret", JobSecret::make().bytes());
    return folder;
  }
  /// The first members without the other side.
  std::vector<Note> rest() const {
    const std::vector<Note> rest = summing::members_in(out->path(), 2, whole[0].generation);
    REQUIRE(rest.size() == 2);
    for (const Note& note : rest) CHECK(std::ranges::find(with_store, note.process) != with_store.end());
    return rest;
  }
  void end() {
    summing::tell_to_stop(out->path());
    CHECK(a.wait(30) == 0);
    for (const Note& note : summing::notes_in(out->path())) CHECK_MESSAGE(!note.what.starts_with("wrong"), note.what);
  }
  const std::unique_ptr<testing::TemporaryFolder> out;
  const TwoHosts hosts;
  Host a, b;
  std::vector<Note> whole;
  std::vector<pid_t> with_store, without;
};

void check_cut() {
  Job job("deadline=2000,grace=1000");
  CAPTURE(job.a.log());
  CAPTURE(job.b.log());
  job.hosts.cut();
  const double cut_ms = launch::now_ms();
  const std::vector<Note> rest = job.rest();
  CHECK(job.b.wait(30) == kExitStoreLost);
  const double b_ended_ms = launch::now_ms() - cut_ms;
  const std::vector<double> failed = times_of(job.out->path(), "failed", job.without, cut_ms);
  const std::vector<double> ended = times_of(job.out->path(), "store-lost", job.without, cut_ms);
  REQUIRE(failed.size() == 2);
  REQUIRE(ended.size() == 2);
  for (const double time_ms : failed) CHECK(time_ms < 2'000 + 1'000);
  for (const double time_ms : ended) CHECK(time_ms < 2'000 + 1'000 + 1'000 + 2'000);
  CHECK(b_ended_ms < 10'000);
  CHECK(job.a.log().find("host 1 is silent") != std::string::npos);
  job.end();
  std::printf(
      "cut link: the side with the store sums again after %.0f ms; works of the other fail after %.0f and %.0f ms, its ranks end after "
      "%.0f, "
      "its launcher after %.0f\n",
      std::max(rest[0].at_ms, rest[1].at_ms) - cut_ms, failed[0], failed[1], std::max(ended[0], ended[1]), b_ended_ms);
}

void check_mended() {
  Job job("deadline=1000,grace=60000");
  CAPTURE(job.a.log());
  CAPTURE(job.b.log());
  job.hosts.cut();
  const std::vector<Note> rest = job.rest();
  job.hosts.mend();
  const double mended_ms = launch::now_ms();
  const std::optional<int> code = job.b.wait(40);
  REQUIRE(code.has_value());
  CHECK(*code != 0);
  const double ended_ms = launch::now_ms();
  CHECK(job.b.log().find(cat("generation ", rest[0].generation, " goes on without")) != std::string::npos);
  CHECK(comes_true([&] { return job.a.log().find("host 1, without which the job went on, has failed") != std::string::npos; }));
  CHECK(comes_true([&] { return times_of(job.out->path(), "on", job.with_store, ended_ms + 1'000).size() >= 2; }));
  for (const Note& note : summing::notes_in(job.out->path())) {
    if (note.generation > rest[0].generation) CHECK_MESSAGE(false, "another generation: ", note.generation);
  }
  job.end();
  std::printf("mended link: the side that was left behind ends after %.0f ms with %d\n", ended_ms - mended_ms, *code);
}

void check_on_two_hosts(void (*check)()) {
  if (const std::string why = obstacle(); !why.empty()) {
    MESSAGE("skipped: two hosts: " << why);
    return;
  }
  check();
  std::error_code none;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(kNamespaces, none)) {
    CHECK_FALSE(entry.path().filename().string().starts_with(TwoHosts::name("")));
  }
}

TEST_CASE("two hosts whose link is cut: the side with the store goes on, the other one's works fail in time and it ends with 75") {
  check_on_two_hosts(check_cut);
}

TEST_CASE("two hosts whose link is mended: the side that was left behind is told so and ends, the other one goes on") {
  check_on_two_hosts(check_mended);
}

}  // namespace
}  // namespace resilin::dist
