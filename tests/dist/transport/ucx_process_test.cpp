// tests/dist/transport/ucx_process_test.cpp -- the death of a process in the middle of a transfer, seen by the one at the other end.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/text.h"
#include "resilin/dist/agent/spawn.h"
#include "resilin/dist/transport/ucx.h"

#include "tests/dist/transport/mesh.h"

namespace resilin::dist {
namespace {

constexpr char kVariable[] = "RESILIN_TEST_UCX_RANK";

void put(int socket, const std::string& text) {
  const std::size_t size = text.size();
  REQUIRE(write(socket, &size, sizeof size) == static_cast<ssize_t>(sizeof size));
  REQUIRE(write(socket, text.data(), size) == static_cast<ssize_t>(size));
}

std::string take(int socket) {
  std::size_t size = 0;
  REQUIRE(recv(socket, &size, sizeof size, MSG_WAITALL) == static_cast<ssize_t>(sizeof size));
  REQUIRE(size < 100'000);
  std::string text(size, '\0');
  REQUIRE(recv(socket, text.data(), size, MSG_WAITALL) == static_cast<ssize_t>(size));
  return text;
}

std::unique_ptr<Transport> join_pair(bool shared_memory, int rank, int socket, TransportEvents events) {
  std::unique_ptr<Transport> transport = ucx_transport({.shared_memory = shared_memory})(std::move(events));
  put(socket, transport->address());
  transport->join(rank, 2);
  transport->connect(1 - rank, take(socket));
  return transport;
}

/// Rank 1 in a process of its own, which sends messages of `bytes` without end until it is killed.
class Victim {
 public:
  Victim(bool shared_memory, std::size_t bytes) {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    socket = Descriptor(ends[0]);
    const Descriptor other(ends[1]);
    const timeval patience{20, 0};
    for (const int end : ends) setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    Program program;
    program.arguments = {std::filesystem::read_symlink("/proc/self/exe").string(), "--test-case=a rank that is killed", "--no-skip"};
    program.environment = {cat(kVariable, "=", other.get(), shared_memory ? " shared " : " tcp ", bytes)};
    program.kept = {other.get()};
    program.dies_with_parent = true;
    child = std::make_unique<Child>(program);
  }
  void kill_and_reap() {
    child->send_signal(SIGKILL);
    pollfd ended{child->descriptor(), POLLIN, 0};
    REQUIRE(poll(&ended, 1, 20'000) == 1);
    REQUIRE(child->reap().has_value());
  }

  Descriptor socket;
  std::unique_ptr<Child> child;
};

void kill_in_the_middle(bool shared_memory, std::size_t bytes, std::chrono::microseconds delay) {
  CAPTURE(shared_memory);
  CAPTURE(bytes);
  CAPTURE(delay.count());
  Victim victim(shared_memory, bytes);
  std::vector<std::string> losses;
  const std::unique_ptr<Transport> transport =
      join_pair(shared_memory, 0, victim.socket.get(), {.note = {}, .lost = [&](int peer, const std::string& why) {
                                                          CHECK(peer == 1);
                                                          losses.push_back(why);
                                                        }});
  std::vector<std::byte> received(bytes), sent(std::size_t{64} << 20);
  Pending first, sends;
  transport->send(1, testing::numbered(1), sent, sends);  // which the victim does not receive
  const auto progress_until = [&](std::chrono::milliseconds time, const std::function<bool()>& holds) {
    return testing::holds_within(time, [&] {
      transport->progress();
      return holds();
    });
  };
  transport->receive(1, testing::numbered(0), received, first);
  REQUIRE(progress_until(testing::kPatience, [&] { return first.is_done(); }));
  REQUIRE(first.fault == TransferFault::None);
  Pending later;
  const std::chrono::steady_clock::time_point kill_at = std::chrono::steady_clock::now() + delay;
  const auto receive_on = [&] {
    if (later.is_done()) transport->receive(1, testing::numbered(0), received, later);
    return std::chrono::steady_clock::now() >= kill_at || later.fault != TransferFault::None;
  };
  REQUIRE(progress_until(testing::kPatience, receive_on));
  REQUIRE(later.fault == TransferFault::None);
  victim.kill_and_reap();
  // What was on its way may still come; the one after that never does.
  CHECK(progress_until(std::chrono::seconds(2), [&] {
    if (later.is_done() && later.fault == TransferFault::None) transport->receive(1, testing::numbered(0), received, later);
    return later.is_done() && sends.is_done();
  }));
  CHECK(later.fault == TransferFault::PeerLost);
  CHECK(sends.fault == TransferFault::PeerLost);
  REQUIRE(losses.size() == 1);
  CHECK_FALSE(losses[0].empty());
  transport->close();
  CHECK(later.is_done());
  CHECK(sends.is_done());
}

void kill_at_all_points(bool shared_memory) {
  for (const int delay_us : {0, 300, 1000, 3000, 7000}) {
    kill_in_the_middle(shared_memory, std::size_t{64} << 20, std::chrono::microseconds(delay_us));
    kill_in_the_middle(shared_memory, 40'000, std::chrono::microseconds(delay_us));
  }
}

TEST_CASE("ucx by shared memory: what a killed process leaves open ends within 2 seconds") { kill_at_all_points(true); }

TEST_CASE("ucx by TCP: what a killed process leaves open ends within 2 seconds") { kill_at_all_points(false); }

TEST_CASE("a rank that is killed" * doctest::skip()) {
  alarm(20);
  const char* const words = std::getenv(kVariable);
  REQUIRE(words != nullptr);
  int socket = -1;
  char lanes[16];
  std::size_t bytes = 0;
  REQUIRE(std::sscanf(words, "%d %15s %zu", &socket, lanes, &bytes) == 3);
  const std::unique_ptr<Transport> transport = join_pair(std::string(lanes) == "shared", 1, socket, {});
  const std::vector<std::byte> sent(bytes);
  while (true) {
    Pending pending;
    transport->send(0, testing::numbered(0), sent, pending);
    while (!pending.is_done()) transport->progress();
    if (pending.fault != TransferFault::None) pause();
  }
}

}  // namespace
}  // namespace resilin::dist
