// tests/dist/transport/conformance.cpp -- messages find their receives, whole and in order.
#include "tests/dist/transport/conformance.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "tests/dist/transport/mesh.h"

namespace resilin::dist::testing {
namespace {

using Bytes = std::vector<std::byte>;

void equal_tags_keep_their_order(const Subject& subject) {
  Mesh mesh(subject.make, 2);
  constexpr std::size_t kCount = 200;
  std::vector<Bytes> sent, received(kCount);
  Pending pending;
  // Short and long ones in turn, which an engine carries in different ways.
  for (std::size_t i = 0; i < kCount; ++i) sent.push_back(pattern(i % 3 == 0 ? 8 : i % 3 == 1 ? 5000 : 300'000, i));
  for (const Bytes& bytes : sent) mesh.send(0, 1, numbered(7), bytes, pending);
  for (std::size_t i = 0; i < kCount; ++i) {
    received[i].resize(300'000);
    mesh.receive(1, 0, numbered(7), received[i], pending);
  }
  REQUIRE(mesh.finish(pending));
  CHECK(pending.fault == TransferFault::None);
  for (std::size_t i = 0; i < kCount; ++i) {
    received[i].resize(sent[i].size());
    CHECK(received[i] == sent[i]);
  }
}

void a_message_waits_for_its_tag(const Subject& subject) {
  Mesh mesh(subject.make, 3);
  const Tag tag{Tag::Traffic::Payload, kMostTagGroup, kMostTagNumber};
  const Tag others[] = {{Tag::Traffic::Frame, tag.group, tag.number},
                        {Tag::Traffic::PointToPoint, tag.group, tag.number},
                        {tag.traffic, static_cast<std::uint16_t>(tag.group - 1), tag.number},
                        {tag.traffic, 0, tag.number},
                        {tag.traffic, tag.group, tag.number - 1},
                        {tag.traffic, tag.group, 0}};
  const Bytes right = pattern(100, 1);
  const Bytes wrong = pattern(100, 2);
  Bytes received(100);
  Pending early, sends, late;
  mesh.receive(1, 0, tag, received, early);
  for (const Tag& other : others) mesh.send(0, 1, other, wrong, sends);
  mesh.send(2, 1, tag, wrong, sends);
  mesh.settle();
  CHECK_FALSE(early.is_done());
  mesh.send(0, 1, tag, right, sends);
  REQUIRE(mesh.finish(early));
  CHECK(received == right);
  // What has waited is found, in any order.
  std::vector<Bytes> waited(std::size(others), Bytes(100));
  for (std::size_t i = std::size(others); i-- > 0;) mesh.receive(1, 0, others[i], waited[i], late);
  Bytes of_other(100);
  mesh.receive(1, 2, tag, of_other, late);
  REQUIRE(mesh.finish(late));
  REQUIRE(mesh.finish(sends));
  CHECK(late.fault == TransferFault::None);
  CHECK(of_other == wrong);
  CHECK(std::all_of(waited.begin(), waited.end(), [&](const Bytes& bytes) { return bytes == wrong; }));
}

void all_sizes_both_ways(const Subject& subject) {
  Mesh mesh(subject.make, 2);
  const std::size_t sizes[] = {0, 1, 8, 4096, 8191, 8193, std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{64} << 20};
  for (const std::size_t size : sizes) {
    if (size > subject.most_bytes) continue;
    CAPTURE(size);
    const Bytes sent[] = {pattern(size, 1), pattern(size, 2)};
    Bytes received[] = {Bytes(size), Bytes(size)};
    Pending pending;
    mesh.receive(0, 1, numbered(size), received[0], pending);
    mesh.send(0, 1, numbered(size), sent[0], pending);
    mesh.send(1, 0, numbered(size), sent[1], pending);
    mesh.receive(1, 0, numbered(size), received[1], pending);
    REQUIRE(mesh.finish(pending));
    CHECK(pending.fault == TransferFault::None);
    CHECK(pending.received_bytes == 2 * size);
    const bool right = received[0] == sent[1] && received[1] == sent[0];
    CHECK(right);
  }
}

void a_rank_sends_to_itself(const Subject& subject) {
  Mesh mesh(subject.make, 2);
  for (const std::size_t size : {std::size_t{16}, std::size_t{1} << 20}) {
    const Bytes sent = pattern(size, size);
    Bytes received(size);
    Pending pending;
    mesh.send(1, 1, numbered(3), sent, pending);
    mesh.receive(1, 1, numbered(3), received, pending);
    mesh[1].send_note(1, "to myself");
    REQUIRE(mesh.finish(pending));
    CHECK(received == sent);
  }
  REQUIRE(mesh.run_until([&] { return mesh.rank(1).notes.size() == 2; }));
  CHECK(mesh.rank(1).notes[0] == std::pair<int, std::string>(1, "to myself"));
}

void a_long_message_is_too_long(const Subject& subject) {
  Mesh mesh(subject.make, 2);
  for (const std::size_t size : {std::size_t{64}, std::size_t{20'000}, std::size_t{1} << 20}) {
    for (const bool receive_first : {true, false}) {
      CAPTURE(size);
      CAPTURE(receive_first);
      const Bytes sent = pattern(size, 1);
      const Bytes second = pattern(size - 1, 2);
      Bytes received(size, std::byte{0x5a});
      Bytes whole(size);
      Pending sends, cut, good;
      const auto send = [&] {
        mesh.send(0, 1, numbered(1), sent, sends);
        mesh.send(0, 1, numbered(1), second, sends);
        mesh.settle();
      };
      if (!receive_first) send();
      mesh[1].receive(0, numbered(1), std::span(received).first(size - 1), cut);
      mesh.receive(1, 0, numbered(1), whole, good);
      if (receive_first) send();
      REQUIRE(mesh.finish(cut));
      REQUIRE(mesh.finish(good));
      REQUIRE(mesh.finish(sends));
      CHECK(cut.fault == TransferFault::TooLong);
      CHECK(cut.faulty_peer == 0);
      CHECK(cut.received_bytes == 0);
      CHECK(received.back() == std::byte{0x5a});
      // A shorter one is fine, and says how long it was.
      CHECK(good.fault == TransferFault::None);
      CHECK(good.received_bytes == size - 1);
      CHECK(std::equal(second.begin(), second.end(), whole.begin()));
    }
  }
}

void many_messages_wait(const Subject& subject) {
  Mesh mesh(subject.make, 2);
  constexpr std::uint64_t kCount = 5000;
  std::vector<std::uint64_t> sent(kCount), received(kCount);
  Pending sends, receives;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    sent[i] = i * 31;
    mesh[0].send(1, numbered(i), std::as_bytes(std::span(&sent[i], 1)), sends);
  }
  mesh.settle();
  for (std::uint64_t i = kCount; i-- > 0;) mesh[1].receive(0, numbered(i), std::as_writable_bytes(std::span(&received[i], 1)), receives);
  REQUIRE(mesh.finish(receives));
  REQUIRE(mesh.finish(sends));
  CHECK(received == sent);
}

void notes_come_in_order(const Subject& subject) {
  Mesh mesh(subject.make, 3);
  std::vector<std::pair<int, std::string>> sent;
  for (std::size_t i = 0; i < 300; ++i) {
    const std::size_t size = i == 0 ? 0 : i % 5 == 0 ? kMostNoteBytes : i * 13 % 200;
    const Bytes bytes = pattern(size, i);
    std::string note(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    sent.emplace_back(0, note);
    mesh[0].send_note(2, note);
    note.assign(note.size(), '?');  // it was copied
    if (i % 10 == 0) mesh[1].send_note(2, "between");
  }
  REQUIRE(mesh.run_until([&] { return mesh.rank(2).notes.size() == 330; }));
  std::vector<std::pair<int, std::string>>& notes = mesh.rank(2).notes;
  const auto end = std::remove_if(notes.begin(), notes.end(), [](const auto& note) { return note.first == 1; });
  CHECK(std::equal(sent.begin(), sent.end(), notes.begin(), end));
  CHECK(mesh.rank(0).notes.empty());
}

void generations_do_not_mix(const Subject& subject) {
  Mesh old_mesh(subject.make, 2);
  const Bytes old_bytes = pattern(1000, 1);
  Bytes received(1000);
  Pending old_sends, old_receives, pending;
  old_mesh.send(0, 1, numbered(1), old_bytes, old_sends);
  old_mesh[0].send_note(1, "old");
  Mesh mesh(subject.make, 2);
  mesh.receive(1, 0, numbered(1), received, pending);
  for (int i = 0; i < 20; ++i) {
    old_mesh.settle();
    mesh.settle();
  }
  CHECK_FALSE(pending.is_done());
  const Bytes bytes = pattern(1000, 2);
  mesh.send(0, 1, numbered(1), bytes, pending);
  mesh[0].send_note(1, "new");
  REQUIRE(mesh.finish(pending));
  CHECK(received == bytes);
  REQUIRE(mesh.run_until([&] { return !mesh.rank(1).notes.empty(); }));
  CHECK(mesh.rank(1).notes == std::vector<std::pair<int, std::string>>{{0, "new"}});
  // The old generation works on.
  old_mesh.receive(1, 0, numbered(1), received, old_receives);
  REQUIRE(old_mesh.finish(old_receives));
  CHECK(received == old_bytes);
  CHECK(old_mesh.rank(1).notes == std::vector<std::pair<int, std::string>>{{0, "old"}});
}

void threads_exchange_with_all(const Subject& subject) {
  constexpr int kRanks = 4;
  constexpr std::size_t kRounds = 30;
  Mesh mesh(subject.make, kRanks);
  std::array<bool, kRanks> right{};
  std::atomic<int> ended{0};
  const auto size_of = [](std::size_t round) { return round * round * 97 % 40'000 + 1; };
  const auto exchange = [&](int me) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      std::vector<Bytes> sent, received(kRanks, Bytes(size_of(round)));
      Pending pending;
      for (int peer = 0; peer < kRanks; ++peer) {
        sent.push_back(pattern(size_of(round), static_cast<std::uint64_t>(me * 100 + peer) * kRounds + round));
        mesh[me].receive(peer, numbered(round), received[static_cast<std::size_t>(peer)], pending);
      }
      for (int peer = 0; peer < kRanks; ++peer) mesh[me].send(peer, numbered(round), sent[static_cast<std::size_t>(peer)], pending);
      const bool done = holds_within(kPatience, [&] {
        mesh[me].progress();
        return pending.is_done();
      });
      if (!done || pending.fault != TransferFault::None) return false;
      for (int peer = 0; peer < kRanks; ++peer) {
        const Bytes wanted = pattern(size_of(round), static_cast<std::uint64_t>(peer * 100 + me) * kRounds + round);
        if (received[static_cast<std::size_t>(peer)] != wanted) return false;
      }
    }
    return true;
  };
  const auto drive = [&](int me) {
    right[static_cast<std::size_t>(me)] = exchange(me);
    ++ended;
    // What has been sent may still wait for room on its way.
    holds_within(kPatience, [&] {
      mesh[me].progress();
      return ended == kRanks;
    });
  };
  std::vector<std::thread> threads;
  for (int me = 0; me < kRanks; ++me) threads.emplace_back(drive, me);
  for (std::thread& thread : threads) thread.join();
  for (const bool fine : right) CHECK(fine);
}

constexpr ConformanceCheck kMessageChecks[] = {
    {"messages of equal tags keep their order", equal_tags_keep_their_order},
    {"a message waits for a receive of its own tag and sender", a_message_waits_for_its_tag},
    {"messages of all sizes pass both ways at once", all_sizes_both_ways},
    {"a rank sends to itself", a_rank_sends_to_itself},
    {"a message that is longer than its receive is too long", a_long_message_is_too_long},
    {"many messages wait at once", many_messages_wait},
    {"notes come in the order of sending, up to the greatest size", notes_come_in_order},
    {"two generations at once do not mix", generations_do_not_mix},
    {"ranks with a thread each exchange with all", threads_exchange_with_all, true},
};

}  // namespace

std::span<const ConformanceCheck> message_checks() { return kMessageChecks; }

void run_conformance(const Subject& subject) {
  for (const std::span<const ConformanceCheck> checks : {message_checks(), ending_checks()}) {
    for (const ConformanceCheck& check : checks) {
      if ((check.needs_threads && !subject.threads) || (check.needs_machine && !subject.machine)) continue;
      SUBCASE(check.name) { check.run(subject); }
    }
  }
}

}  // namespace resilin::dist::testing
