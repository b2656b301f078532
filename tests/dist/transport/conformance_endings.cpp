// tests/dist/transport/conformance_endings.cpp -- lost peers, ends, sleep, and what is left behind.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include <poll.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/hash.h"

#include "tests/dist/transport/conformance.h"
#include "tests/dist/transport/mesh.h"

namespace resilin::dist::testing {
namespace {

using Bytes = std::vector<std::byte>;

void giving_up_ends_the_requests_of_a_peer(const Subject& subject) {
  Mesh mesh(subject.make, 3);
  const Bytes big = pattern(subject.most_bytes, 1);
  const Bytes small = pattern(100, 2);
  Bytes received(100), others(100), from_lost(subject.most_bytes);
  Pending sends, receives, of_other, later;
  mesh.send(0, 1, numbered(1), big, sends);  // waits for a receive
  mesh.receive(0, 1, numbered(2), received, receives);
  mesh.receive(0, 1, numbered(3), from_lost, receives);  // has begun when rank 1 is given up
  mesh.receive(0, 2, numbered(2), others, of_other);
  Pending ignored;
  mesh.send(1, 0, numbered(3), big, ignored);
  for (int i = 0; i < 20; ++i) mesh.progress();
  mesh[0].give_up(1, "it does not answer");
  // Rank 1 is as good as dead from here on.
  const bool ended = holds_within(kPatience, [&] {
    mesh[0].progress();
    mesh[2].progress();
    return sends.is_done() && receives.is_done();
  });
  REQUIRE(ended);
  CHECK(sends.fault == TransferFault::PeerLost);
  CHECK(sends.faulty_peer == 1);
  CHECK(receives.fault == TransferFault::PeerLost);
  CHECK(receives.faulty_peer == 1);
  CHECK(mesh.rank(0).losses == std::vector<std::pair<int, std::string>>{{1, "it does not answer"}});
  // It may try to write what it was not told that nobody reads any more.
  std::fill(from_lost.begin(), from_lost.end(), std::byte{0x11});
  mesh.settle();
  CHECK(std::all_of(from_lost.begin(), from_lost.end(), [](std::byte byte) { return byte == std::byte{0x11}; }));
  mesh[0].give_up(1, "again");
  mesh.send(0, 1, numbered(9), small, later);
  mesh.receive(0, 1, numbered(9), received, later);
  CHECK(later.is_done());
  CHECK(later.fault == TransferFault::PeerLost);
  mesh[0].send_note(1, "nobody hears it");
  // Others are not touched.
  CHECK_FALSE(of_other.is_done());
  mesh.send(2, 0, numbered(2), small, of_other);
  REQUIRE(mesh.finish(of_other));
  CHECK(of_other.fault == TransferFault::None);
  CHECK(others == small);
  CHECK(mesh.rank(0).losses.size() == 1);
  mesh[1].close();
  CHECK(ignored.is_done());
}

void closing_ends_everything(const Subject& subject) {
  for (const int steps : {0, 3, 30, 300}) {
    CAPTURE(steps);
    Mesh mesh(subject.make, 2);
    const Bytes big = pattern(subject.most_bytes, 1);
    const Bytes middle = pattern(50'000, 2);
    Bytes unmatched(100), begun(subject.most_bytes), partial(50'000);
    Pending ended, of_peer;
    mesh.receive(0, 1, numbered(1), unmatched, ended);
    mesh.receive(0, 1, numbered(2), begun, ended);
    mesh.receive(0, 1, numbered(4), partial, ended);
    mesh.send(0, 1, numbered(3), big, ended);
    mesh.send(1, 0, numbered(2), big, of_peer);
    mesh.send(1, 0, numbered(4), middle, of_peer);
    for (int i = 0; i < steps; ++i) mesh.progress();
    mesh[0].close();
    CHECK(ended.is_done());
    CHECK(ended.open == 0);
    // A peer that was in the middle of it goes on and writes nothing that rank 0 uses again.
    std::fill(begun.begin(), begun.end(), std::byte{0x22});
    std::fill(partial.begin(), partial.end(), std::byte{0x22});
    mesh.rank(0).transport.reset();
    for (int i = 0; i < 2000; ++i) mesh[1].progress();
    const auto untouched = [](std::byte byte) { return byte == std::byte{0x22}; };
    CHECK(std::all_of(begun.begin(), begun.end(), untouched));
    CHECK(std::all_of(partial.begin(), partial.end(), untouched));
    mesh[1].close();
    CHECK(of_peer.is_done());
  }
}

void closing_cancels(const Subject& subject) {
  Mesh mesh(subject.make, 2);
  Bytes received(100);
  Pending pending;
  mesh.receive(0, 1, numbered(1), received, pending);
  mesh[1].send_note(0, "not heard");
  mesh[0].close();
  CHECK(pending.is_done());
  CHECK(pending.fault == TransferFault::Cancelled);
  CHECK(mesh.rank(0).notes.empty());
  CHECK(mesh.rank(0).losses.empty());
}

void a_transport_ends_before_it_is_connected(const Subject& subject) {
  subject.make({});
  const std::unique_ptr<Transport> joined = subject.make({});
  joined->join(0, 2);
  joined->close();
}

/// One rank of a generation that ends at once: everybody sends to everybody and closes at a moment of its own.
struct Leaver {
  std::unique_ptr<Transport> transport;
  std::vector<Bytes> sent, received;
  bool ended = false;

  void live(int me, int ranks, std::uint64_t seed) {
    const auto drawn = [&](std::uint64_t of, std::uint64_t below) {
      return hash_mix(seed * 64 + static_cast<std::uint64_t>(me), of) % below;
    };
    sent.assign(static_cast<std::size_t>(ranks), Bytes(drawn(1, 3) == 0 ? std::size_t{1} << 20 : drawn(2, 20'000)));
    received.assign(static_cast<std::size_t>(ranks), Bytes(std::size_t{1} << 20));
    Pending pending;
    for (int peer = 0; peer < ranks; ++peer) {
      transport->receive(peer, numbered(1), received[static_cast<std::size_t>(peer)], pending);
      transport->send(peer, numbered(1), sent[static_cast<std::size_t>(peer)], pending);
      transport->send_note(peer, "leaving");
    }
    const std::uint64_t steps = drawn(3, 4) == 0 ? 0 : drawn(4, 3000);
    for (std::uint64_t i = 0; i < steps; ++i) transport->progress();
    if (ranks > 2 && drawn(5, 4) == 0) {
      transport->give_up((me + 1) % ranks, "left behind");
      for (std::uint64_t i = 0; i < steps; ++i) transport->progress();
    }
    transport->close();
    ended = pending.is_done();
  }
};

/// A generation of leavers, each in a thread of its own.
class LeavingGeneration {
 public:
  LeavingGeneration(const Subject& subject, std::uint64_t number) : number_(number), leavers_(kRanks) {
    std::vector<std::string> addresses;
    for (Leaver& leaver : leavers_) {
      leaver.transport = subject.make({});
      addresses.push_back(leaver.transport->address());
    }
    for (int me = 0; me < kRanks; ++me) threads_.emplace_back([this, me, addresses] { run(me, addresses); });
  }
  /// Waits for it.
  bool has_ended() {
    threads_.clear();
    return std::all_of(leavers_.begin(), leavers_.end(), [](const Leaver& leaver) { return leaver.ended; });
  }

 private:
  static constexpr int kRanks = 4;

  void run(int me, const std::vector<std::string>& addresses) {
    Leaver& leaver = leavers_[static_cast<std::size_t>(me)];
    leaver.transport->join(me, kRanks);
    try {
      for (int peer = 0; peer < kRanks; ++peer) leaver.transport->connect(peer, addresses[static_cast<std::size_t>(peer)]);
      leaver.live(me, kRanks, number_);
    } catch (const StoreError&) {
      leaver.transport->close();  // of one that has left already
      leaver.ended = true;
    }
  }

  const std::uint64_t number_;
  std::vector<Leaver> leavers_;
  std::vector<std::jthread> threads_;
};

void ranks_close_at_any_moment(const Subject& subject) {
  for (std::uint64_t number = 0; number < 40; ++number) {
    CAPTURE(number);
    CHECK(LeavingGeneration(subject, number).has_ended());
  }
}

/// Sleeps until the descriptor is readable; whether it became so in time.
bool sleep_on(const Transport& transport, int milliseconds) {
  pollfd waited{transport.wake_descriptor(), POLLIN, 0};
  return poll(&waited, 1, milliseconds) == 1;
}

void waking_ends_a_sleep(const Subject& subject) {
  Mesh mesh(subject.make, 2);
  mesh.settle();
  for (int round = 0; round < 20; ++round) {
    while (mesh[0].progress() || !mesh[0].arm()) continue;
    mesh[0].wake();
    CHECK(sleep_on(mesh[0], 0));
  }
  for (int round = 0; round < 20; ++round) {
    // Connections have things of their own to do; what wakes then is not ours.
    std::atomic<bool> said{false};
    bool woken = false;
    std::thread sleeper([&] {
      woken = holds_within(kPatience, [&] {
        while (mesh[0].progress()) continue;
        if (mesh[0].arm() && !sleep_on(mesh[0], 20'000)) return false;
        return said.load();
      });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
    said = true;
    const std::chrono::steady_clock::time_point before = std::chrono::steady_clock::now();
    mesh[0].wake();
    sleeper.join();
    CHECK(woken);
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(5));
  }
}

struct Sleeper {
  int steps = 0;
  int sleeps = 0;
  bool in_time = true;

  void wait(Transport& transport, const Pending& pending) {
    const std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now() + kPatience;
    while (!pending.is_done() && in_time) {
      ++steps;
      if (!transport.progress() && !pending.is_done() && transport.arm()) {
        ++sleeps;
        in_time = sleep_on(transport, 20'000);
      }
      in_time = in_time && std::chrono::steady_clock::now() < last;
    }
  }
};

void sleepers_miss_nothing(const Subject& subject) {
  constexpr std::uint64_t kRounds = 200;
  Mesh mesh(subject.make, 2);
  Sleeper sleepers[2];
  std::atomic<int> ended{0};
  const auto size_of = [](std::uint64_t round) { return round % 20 == 19 ? std::size_t{1} << 20 : round % 7 * 3000 + 1; };
  const auto play = [&](int me) {
    Sleeper& sleeper = sleepers[me];
    Transport& transport = mesh[me];
    for (std::uint64_t round = 0; round < kRounds && sleeper.in_time; ++round) {
      const Bytes sent = pattern(size_of(round), round);
      Bytes received(sent.size());
      for (const bool sends : {me == 0, me == 1}) {
        Pending pending;
        if (sends) {
          transport.send(1 - me, numbered(round), sent, pending);
        } else {
          transport.receive(1 - me, numbered(round), received, pending);
        }
        sleeper.wait(transport, pending);
      }
      sleeper.in_time = sleeper.in_time && received == sent;
    }
    ++ended;
    holds_within(kPatience, [&] {
      transport.progress();
      return ended == 2;
    });
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  for (const Sleeper& sleeper : sleepers) {
    CHECK(sleeper.in_time);
    CHECK(sleeper.sleeps > 0);
    CHECK(sleeper.steps < 100'000);
  }
}

void an_idle_transport_sleeps(const Subject& subject) {
  Mesh mesh(subject.make, 2);
  Pending pending;
  Bytes sent = pattern(8, 1), received(8);
  mesh.send(0, 1, numbered(1), sent, pending);
  mesh.receive(1, 0, numbered(1), received, pending);
  REQUIRE(mesh.finish(pending));
  // While threads of the engine still build the connection, which a busy machine delays, there is something to do. Then there is not.
  const auto sleeps_for_a_while = [&] {
    mesh.settle();
    int wakes = 0;
    const std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (std::chrono::steady_clock::now() < end && wakes < 30) {
      while (mesh[1].progress()) continue;
      if (!mesh[1].arm() || sleep_on(mesh[1], 100)) ++wakes;
    }
    return wakes < 30;
  };
  CHECK(holds_within(kPatience, sleeps_for_a_while));
}

std::ptrdiff_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

/// Parts of this process's memory that are shared by a file.
std::size_t shared_mappings() {
  const std::string maps = read_file("/proc/self/maps");
  std::size_t count = 0;
  for (std::size_t at = maps.find("/dev/shm/"); at != std::string::npos; at = maps.find("/dev/shm/", at + 1)) ++count;
  return count;
}

void generations_leave_nothing_behind(const Subject& subject) {
  const auto live = [&](std::uint64_t generation) {
    Mesh mesh(subject.make, 2);
    const Bytes sent = pattern(20'000, generation);
    Bytes received(20'000);
    Pending pending;
    mesh.send(0, 1, numbered(1), sent, pending);
    mesh.receive(1, 0, numbered(1), received, pending);
    const bool right = mesh.finish(pending) && received == sent;
    if (generation % 2 == 0) mesh[0].close();
    return right;
  };
  for (std::uint64_t generation = 0; generation < 3; ++generation) REQUIRE(live(generation));
  const std::ptrdiff_t descriptors = entries("/proc/self/fd");
  const std::ptrdiff_t threads = entries("/proc/self/task");
  const std::size_t mapped = shared_mappings();
  for (std::uint64_t generation = 0; generation < 80; ++generation) REQUIRE(live(generation));
  CHECK(entries("/proc/self/fd") <= descriptors);
  CHECK(entries("/proc/self/task") <= threads);
  CHECK(shared_mappings() <= mapped);
}

constexpr ConformanceCheck kEndingChecks[] = {
    {"giving a peer up ends its requests and no others", giving_up_ends_the_requests_of_a_peer},
    {"closing ends every request, and memory stays as it is", closing_ends_everything},
    {"closing cancels, and nothing is told any more", closing_cancels},
    {"a transport may end before it is connected", a_transport_ends_before_it_is_connected},
    {"ranks close at any moment", ranks_close_at_any_moment, true},
    {"waking ends a sleep", waking_ends_a_sleep, true},
    {"sleepers miss nothing", sleepers_miss_nothing, true},
    {"an idle transport sleeps", an_idle_transport_sleeps, true},
    {"80 generations leave no descriptors, threads or memory behind", generations_leave_nothing_behind, false, true},
};

}  // namespace

std::span<const ConformanceCheck> ending_checks() { return kEndingChecks; }

}  // namespace resilin::dist::testing
