// tests/dist/security/channel_test.cpp -- the mutual challenge and sealed frames, honest and attacked.
#include "resilin/dist/security/channel.h"

#include <random>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

const JobSecret kSecret = JobSecret::of_bytes(std::string(32, 's'));

/// Both ends, and whoever carries the bytes between them.
struct Pair {
  Channel client{Channel::Side::Client, kSecret};
  Channel server{Channel::Side::Server, kSecret};

  /// Carries all bytes until there are none.
  void carry() {
    while (true) {
      const std::string up = client.take_output();
      server.receive(up);
      CHECK_FALSE(server.next().has_value());
      const std::string down = server.take_output();
      client.receive(down);
      CHECK_FALSE(client.next().has_value());
      if (up.empty() && down.empty()) return;
    }
  }
};

std::string error_of(Channel& channel, std::string_view bytes) {
  try {
    channel.receive(bytes);
    channel.next();
  } catch (const DistError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("two ends with the same secret open and carry frames both ways") {
  Pair pair;
  pair.carry();
  REQUIRE(pair.client.established());
  REQUIRE(pair.server.established());
  for (int i = 0; i < 3; ++i) {
    pair.client.send({.kind = FrameKind::Request, .sequence = 7}, cat("question ", i));
    pair.server.receive(pair.client.take_output());
    const std::optional<Frame> asked = pair.server.next();
    REQUIRE(asked.has_value());
    CHECK(asked->payload == cat("question ", i));
    CHECK(asked->header.sequence == 7);
    pair.server.send({.kind = FrameKind::Reply}, std::string(100'000, 'r'));
    pair.client.receive(pair.server.take_output());
    CHECK(pair.client.next()->payload.size() == 100'000);
  }
}

TEST_CASE("a client without the secret is refused before it has any effect") {
  Channel client(Channel::Side::Client, JobSecret::of_bytes(std::string(32, 'x')));
  Channel server(Channel::Side::Server, kSecret);
  server.receive(client.take_output());
  server.next();
  CHECK(error_of(client, server.take_output()) == "connect: the server does not know the job's secret; it must be of the same job");
  // One that goes on all the same proves nothing.
  const std::string proof = encode_frame({.kind = FrameKind::Proof}, std::string(32, 'p'));
  CHECK(error_of(server, proof) == "connect: the client does not know the job's secret; it must be of the same job");
  CHECK_FALSE(server.established());
}

TEST_CASE("a server's proof is no client's: nothing is gained by sending it back") {
  Channel first(Channel::Side::Server, kSecret);
  Channel asked(Channel::Side::Client, kSecret);
  first.receive(asked.take_output());
  first.next();
  const std::string challenge = first.take_output();
  const std::string proof = challenge.substr(challenge.size() - 32);
  CHECK(error_of(first, encode_frame({.kind = FrameKind::Proof}, proof)).starts_with("connect: the client does not know"));
}

TEST_CASE("a recorded opening does not open another connection") {
  Pair pair;
  const std::string hello = pair.client.take_output();
  pair.server.receive(hello);
  pair.server.next();
  pair.client.receive(pair.server.take_output());
  pair.client.next();
  const std::string proof = pair.client.take_output();
  pair.server.receive(proof);
  pair.server.next();
  REQUIRE(pair.server.established());
  Channel again(Channel::Side::Server, kSecret);
  again.receive(hello);
  again.next();
  CHECK(error_of(again, proof).starts_with("connect: the client does not know"));
}

TEST_CASE("a frame that comes twice, out of order, changed, or from the other direction is refused") {
  const auto opened = [] {
    Pair pair;
    pair.carry();
    return pair;
  };
  const auto sealed = [](Channel& channel, std::string_view payload) {
    channel.send({.kind = FrameKind::Request}, payload);
    return channel.take_output();
  };
  SUBCASE("twice") {
    Pair pair = opened();
    const std::string frame = sealed(pair.client, "pay");
    pair.server.receive(frame);
    CHECK(pair.server.next()->payload == "pay");
    CHECK(error_of(pair.server, frame).starts_with("connection: the seal of frame 1 does not fit"));
  }
  SUBCASE("out of order") {
    Pair pair = opened();
    sealed(pair.client, "first");
    CHECK(error_of(pair.server, sealed(pair.client, "second")).starts_with("connection: the seal of frame 0 does not fit"));
  }
  SUBCASE("changed, with a checksum that fits") {
    Pair pair = opened();
    const std::string frame = sealed(pair.client, "pay 1");
    const std::string forged = encode_frame({.kind = FrameKind::Request}, "pay 9") + frame.substr(frame.size() - 32);
    CHECK(error_of(pair.server, forged).starts_with("connection: the seal"));
  }
  SUBCASE("from the other direction") {
    Pair pair = opened();
    const std::string frame = sealed(pair.server, "pay");
    CHECK(error_of(pair.server, frame).starts_with("connection: the seal"));
  }
  SUBCASE("from another connection of the same job") {
    Pair pair = opened(), other = opened();
    CHECK(error_of(pair.server, sealed(other.client, "pay")).starts_with("connection: the seal"));
  }
}

TEST_CASE("other builds and other tables of dtypes are named on both sides") {
  Identity old = own_identity();
  old.build = "resilin 0.0.9";
  Channel client(Channel::Side::Client, kSecret, {.identity = old});
  Channel server(Channel::Side::Server, kSecret);
  server.receive(client.take_output());
  const std::string ours = own_identity().build;
  CHECK_THROWS_WITH_AS(
      server.next(),
      ("connect: builds differ: this side is \"" + ours + "\", the other \"resilin 0.0.9\"; both must run the same version of Resilin")
          .c_str(),
      VersionError);
  server.refuse("builds differ");
  client.receive(server.take_output());
  CHECK_THROWS_WITH_AS(
      client.next(),
      ("connect: builds differ: this side is \"resilin 0.0.9\", the other \"" + ours + "\"; both must run the same version of Resilin")
          .c_str(),
      VersionError);
  Identity table = own_identity();
  ++table.dtype_table;
  CHECK_THROWS_AS(require_same(own_identity(), table), VersionError);
}

TEST_CASE("a stranger cannot make either side take more than four KiB") {
  Channel server(Channel::Side::Server, kSecret);
  CHECK(error_of(server, encode_frame({.kind = FrameKind::Hello}, std::string(5000, 'h'))) ==
        "wire: a frame is too long: 5000 bytes; at most 4096 are taken here");
  Channel early(Channel::Side::Server, kSecret);
  CHECK(error_of(early, encode_frame({.kind = FrameKind::Request}, "set")) ==
        "connect: a frame Request came out of turn; Hello must come first");
}

TEST_CASE("mutated openings never open") {
  std::mt19937_64 random(3);
  int opened = 0;
  for (int round = 0; round < 1000; ++round) {
    Pair pair;
    bool changed = false;
    try {
      for (int turn = 0; turn < 3; ++turn) {
        for (const bool up : {true, false}) {
          Channel& from = up ? pair.client : pair.server;
          Channel& to = up ? pair.server : pair.client;
          std::string bytes = from.take_output();
          if (!bytes.empty() && random() % 3 == 0) {
            // Past the length, which would make the other side wait.
            const std::size_t at = 16 + random() % (bytes.size() - 16);
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
            changed = true;
          }
          to.receive(bytes);
          to.next();
        }
      }
    } catch (const DistError&) {
      CHECK(changed);
      continue;
    }
    CHECK_FALSE(changed);
    CHECK(pair.client.established());
    ++opened;
  }
  CHECK(opened > 100);
}

}  // namespace
}  // namespace resilin::dist
