// tests/dist/membership/process_test.cpp -- ranks in processes of their own that follow a lineage, and what a kill and a stop do to it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/overloaded.h"
#include "resilin/dist/agent/heartbeat.h"
#include "resilin/dist/launch/job_store.h"
#include "resilin/dist/membership/member_driver.h"
#include "resilin/dist/os/descriptor.h"
#include "resilin/dist/wire/codec.h"

#include "tests/support/launcher.h"

namespace resilin::dist {
namespace {

using launch::comes_true;
using launch::Launcher;
using launch::lines_of;
using launch::now_ms;
using std::chrono::milliseconds;

/// What a rank wrote down: it has installed a generation of so many, or saw it revoked.
struct Note {
  std::string what;
  std::uint64_t instance = 0, generation = 0;
  std::size_t size = 0;
  double at_ms = 0;
  pid_t process = 0;
};

std::vector<Note> notes_in(const std::string& folder) {
  std::vector<Note> notes;
  for (const std::string& line : lines_of(folder + "/notes")) {
    Note note;
    std::istringstream text(line);
    if (text >> note.what >> note.instance >> note.generation >> note.size >> note.at_ms >> note.process) notes.push_back(note);
  }
  return notes;
}

/// A job of ranks that follow a lineage.
struct Job {
  explicit Job(std::vector<std::string> flags)
      : launcher(out, launch::with_test_case(std::move(flags), "follow", "a rank that follows a lineage")) {}

  /// The members of the newest generation once all have installed it and it has this size.
  std::vector<Note> members(std::size_t size) const {
    std::vector<Note> members;
    comes_true([&] {
      members.clear();
      std::uint64_t newest = 0;
      const std::vector<Note> notes = notes_in(out.path());
      for (const Note& note : notes) newest = std::max(newest, note.generation);
      for (const Note& note : notes) {
        if (note.what == "install" && note.generation == newest && note.size == size) members.push_back(note);
      }
      return members.size() == size;
    });
    return members;
  }
  /// When the last of them noted that.
  double last_ms(const std::string& what, std::uint64_t generation) const {
    double last = 0;
    for (const Note& note : notes_in(out.path())) {
      if (note.what == what && note.generation == generation) last = std::max(last, note.at_ms);
    }
    return last;
  }
  int end() {
    std::ofstream(out.path() + "/stop") << "now";
    return launcher.wait();
  }

  const testing::TemporaryFolder out;
  Launcher launcher;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

TEST_CASE("the others install the next generation milliseconds after a kill, and the killed rank's next life joins them") {
  constexpr std::size_t kKills = 20;
  Job job({"--standalone", "--nproc-per-node=3", cat("--max-restarts=", kKills)});
  std::vector<double> revoked_ms, installed_ms;
  std::uint64_t youngest = 3;
  for (std::size_t i = 0; i < kKills; ++i) {
    const std::vector<Note> whole = job.members(3);
    REQUIRE(whole.size() == 3);
    const Note& victim = whole[i % 3];
    for (const Note& member : whole) youngest = std::max(youngest, member.instance);
    CHECK(youngest == 3 + i);  // one number for each life, in their order
    const double begin_ms = now_ms();
    REQUIRE(kill(victim.process, SIGKILL) == 0);
    std::vector<Note> rest;
    // The next life may be so quick that all of them are members when this looks.
    REQUIRE(comes_true([&] {
      rest.clear();
      for (const Note& note : notes_in(job.out.path())) {
        if (note.what == "install" && note.generation > victim.generation && note.size == 2) rest.push_back(note);
      }
      return rest.size() == 2;
    }));
    CHECK(rest[0].instance != victim.instance);
    CHECK(rest[1].instance != victim.instance);
    revoked_ms.push_back(job.last_ms("revoke", victim.generation) - begin_ms);
    installed_ms.push_back(std::max(rest[0].at_ms, rest[1].at_ms) - begin_ms);
  }
  CHECK(job.members(3).size() == 3);
  CHECK(job.end() == 0);
  std::printf("from a kill to both survivors: revoked p50 %.1f ms, most %.1f ms; the next generation installed p50 %.1f ms, most %.1f ms\n",
              median(revoked_ms), std::ranges::max(revoked_ms), median(installed_ms), std::ranges::max(installed_ms));
  CHECK(*std::ranges::min_element(revoked_ms) > 0);
  CHECK(median(installed_ms) < 1000);
}

TEST_CASE("a rank that is stopped is left behind, killed and replaced") {
  Job job({"--standalone", "--nproc-per-node=3", "--max-restarts=2", "--heartbeat-timeout=1"});
  const std::vector<Note> whole = job.members(3);
  REQUIRE(whole.size() == 3);
  REQUIRE(kill(whole[1].process, SIGSTOP) == 0);
  REQUIRE(comes_true([&] { return job.launcher.log().find("was evicted: generation ") != std::string::npos; }));
  const std::vector<Note> again = job.members(3);
  REQUIRE(again.size() == 3);
  for (const Note& member : again) CHECK(member.instance != whole[1].instance);
  CHECK(job.end() == 0);
}

TEST_CASE("a job that shrinks goes on without a killed rank, and nobody comes back") {
  Job job({"--standalone", "--nproc-per-node=3", "--policy=shrink"});
  const std::vector<Note> whole = job.members(3);
  REQUIRE(whole.size() == 3);
  REQUIRE(kill(whole[0].process, SIGKILL) == 0);
  const std::vector<Note> rest = job.members(2);
  CHECK(rest.size() == 2);
  CHECK(job.end() == 0);
}

// What follows runs in ranks.

namespace {

/// Hellos are datagrams.
struct Hello {
  std::uint64_t peer = 0, uuid = 0, generation = 0, digest = 0;
  static constexpr auto fields() {
    return std::tuple{field("peer", &Hello::peer), field("uuid", &Hello::uuid), field("generation", &Hello::generation),
                      field("digest", &Hello::digest)};
  }
};

sockaddr_un address_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

class FollowingRank {
 public:
  FollowingRank(const RankInfo& rank, std::string folder)
      : instance_(rank.instance),
        folder_(std::move(folder)),
        socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)),
        driver_({.instance = rank.instance}, connect_job_store(rank, milliseconds(2000)),
                [this](const MemberAction& action) { act(action); }) {
    const sockaddr_un address = address_at(path());
    REQUIRE(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    driver_.post(member_event::Started{});
  }

  /// Until the job's end.
  void follow() {
    pollfd waited{socket_.get(), POLLIN, 0};
    char bytes[256];
    while (access((folder_ + "/stop").c_str(), F_OK) != 0) {
      if (poll(&waited, 1, 20) != 1) continue;
      const ssize_t count = recv(socket_.get(), bytes, sizeof bytes, 0);
      if (count <= 0) continue;
      const Hello hello = decode<Hello>(std::string_view(bytes, static_cast<std::size_t>(count)));
      driver_.post(member_event::HelloHeard{hello.peer, hello.uuid, hello.generation, hello.digest});
    }
    driver_.close();
  }

 private:
  std::string path() const { return cat(folder_, "/", instance_); }

  void note(const std::string& what, std::uint64_t generation, std::size_t size) const {
    std::ofstream(folder_ + "/notes", std::ios::app)
        << cat(what, " ", instance_, " ", generation, " ", size, " ") << std::to_string(now_ms()) << " " << getpid() << "\n";
  }

  void greet(const member_action::Connect& order) {
    const std::string bytes = encode(Hello{instance_, order.uuid, order.generation, order.digest});
    const sockaddr_un address = address_at(order.address);
    const ssize_t sent = sendto(socket_.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (sent < 0) driver_.post(member_event::PeerUnreachable{order.uuid, order.peer.instance});
  }

  void act(const MemberAction& action) {
    std::visit(
        Overloaded{[this](const member_action::PrepareMesh& order) {
                     driver_.post(member_event::MeshPrepared{order.attempt.uuid, path()});
                   },
                   [this](const member_action::Connect& order) { greet(order); },
                   [this](const member_action::CloseAdmission& order) {
                     driver_.post(member_event::AdmissionClosed{order.uuid, ""});
                   },
                   [this](const member_action::Install& order) { note("install", order.attempt.generation, order.attempt.handles.size()); },
                   [this](const member_action::Revoke& order) { note("revoke", order.generation, 0); },
                   [](const member_action::Leave& order) {
                     std::fprintf(stderr, "%s\n", order.text.c_str());
                     _exit(order.store_is_gone ? kStoreGoneExitCode : 1);
                   },
                   [](const auto&) {}},
        action);
  }

  const std::uint64_t instance_;
  const std::string folder_;
  const Descriptor socket_;
  MemberDriver driver_;
};

}  // namespace

TEST_CASE("a rank that follows a lineage" * doctest::skip()) {
  alarm(90);
  const std::optional<RankInfo> rank = rank_info();
  REQUIRE(rank.has_value());
  Heartbeat heartbeat(*rank, milliseconds(50));
  FollowingRank(*rank, std::getenv("OUT")).follow();
  heartbeat.leave();
}

}  // namespace resilin::dist
