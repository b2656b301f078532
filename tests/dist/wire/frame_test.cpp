// tests/dist/wire/frame_test.cpp -- frames: golden bytes, streams in pieces, damage, hostile lengths and mutations.
#include "resilin/dist/wire/frame.h"

#include <random>
#include <string>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

constexpr FrameParser::Limits kLimits{.payload_bytes = 1000};

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string message_of(FrameParser& parser) {
  try {
    parser.next();
  } catch (const DistError& error) {
    return error.what();
  }
  return "no error";
}

std::string message_of(std::string_view bytes) {
  FrameParser parser(kLimits);
  parser.push(bytes);
  return message_of(parser);
}

const FrameHeader kHeader{
    .kind = FrameKind::Request, .generation = 0x1122334455667788, .group = 0x99aabbcc, .sequence = 0xddeeff0102030405};

/// One entry for every version that was ever spoken: these bytes never change, a new version adds its own.
struct Golden {
  std::uint16_t version;
  std::string_view bytes;
};
constexpr Golden kGolden[] = {
    {1,
     "52534c4e"          // magic
     "0100"              // version
     "1000"              // kind
     "0300000000000000"  // length
     "8877665544332211"  // generation
     "ccbbaa99"          // group
     "0504030201ffeedd"  // sequence
     "042342c1"          // checksum
     "616263"},
};

TEST_CASE("a frame has the bytes that this version of the protocol had from its first day") {
  const Golden& newest = kGolden[std::size(kGolden) - 1];
  REQUIRE(newest.version == kProtocolVersion);
  CHECK(hex(encode_frame(kHeader, "abc")) == newest.bytes);
}

TEST_CASE("frames come out whole, however the stream is cut") {
  std::string stream;
  for (const std::size_t size : {0, 1, 999, 1000, 7}) stream += encode_frame(kHeader, std::string(size, 'x'));
  for (const std::size_t piece : {1, 2, 39, 40, 41, 500, 100'000}) {
    FrameParser parser(kLimits);
    std::vector<std::size_t> sizes;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      parser.push(std::string_view(stream).substr(at, piece));
      while (const std::optional<Frame> frame = parser.next()) {
        CHECK(frame->header.kind == FrameKind::Request);
        CHECK(frame->header.generation == kHeader.generation);
        CHECK(frame->header.group == kHeader.group);
        CHECK(frame->header.sequence == kHeader.sequence);
        CHECK(frame->payload == std::string(frame->payload.size(), 'x'));
        sizes.push_back(frame->payload.size());
      }
    }
    CHECK(sizes == std::vector<std::size_t>{0, 1, 999, 1000, 7});
    CHECK(parser.pending_bytes() == 0);
  }
}

TEST_CASE("a length of 4 GiB is refused by the header alone") {
  std::string bytes = encode_frame(kHeader, "");
  bytes.replace(8, 8, std::string("\0\0\0\0\1\0\0\0", 8));
  CHECK(message_of(bytes) == "wire: a frame is too long: 4294967296 bytes; at most 1000 are taken here");
}

TEST_CASE("another version is told by its first six bytes, naming both") {
  std::string bytes = encode_frame(kHeader, "").substr(0, 6);
  bytes[4] = 7;
  FrameParser parser(kLimits);
  parser.push(bytes);
  try {
    parser.next();
    FAIL("no error");
  } catch (const VersionError& error) {
    CHECK(std::string(error.what()) ==
          "wire: protocol versions differ: the other side speaks 7, this one 1; both must run the same version of Resilin");
  }
}

TEST_CASE("a stranger is told by the first four bytes") {
  CHECK(message_of("HTTP") == "wire: this is no Resilin connection: its first bytes are 1347703880; the magic number is 1313624914");
  CHECK(message_of("HTT") == "no error");
}

TEST_CASE("an unknown kind and a wrong checksum are refused, and the parser stays broken") {
  std::string unknown = encode_frame(kHeader, "");
  unknown[6] = 99;
  CHECK(message_of(unknown).starts_with("wire: a frame of an unknown kind came: 99"));
  std::string damaged = encode_frame(kHeader, "abc");
  damaged.back() = 'd';
  FrameParser parser(kLimits);
  parser.push(damaged);
  CHECK(message_of(parser).starts_with("wire: the checksum of a frame is wrong"));
  parser.push(encode_frame(kHeader, "abc"));
  CHECK(message_of(parser).starts_with("wire: the checksum of a frame is wrong"));
}

TEST_CASE("every changed bit of a frame is found") {
  const std::string whole = encode_frame(kHeader, "abcdefgh");
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    FrameParser parser(kLimits);
    parser.push(changed);
    std::optional<Frame> frame;
    try {
      frame = parser.next();  // a length that grew lets the parser wait
    } catch (const DistError&) {
      continue;
    }
    CHECK_FALSE(frame.has_value());
  }
}

TEST_CASE("a hundred thousand mutated streams end in frames, in waiting or in an error") {
  std::mt19937_64 random(20);
  const std::string whole = encode_frame(kHeader, "abcdefghijklmnopqrstuvwxyz") + encode_frame(kHeader, "") + encode_frame(kHeader, "xyz");
  std::size_t frames = 0, errors = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::string bytes = whole;
    for (std::uint64_t change = random() % 4; change > 0; --change) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes.erase(at, random() % 50 + 1); break;
        case 2: bytes.insert(at, std::string(random() % 50, static_cast<char>(random()))); break;
        default: bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
      }
      if (bytes.empty()) bytes = "x";
    }
    FrameParser parser({.payload_bytes = 1000, .trailer_bytes = round % 3 == 0 ? 32u : 0u});
    try {
      while (!bytes.empty()) {
        const std::size_t piece = std::min<std::size_t>(bytes.size(), random() % 64 + 1);
        parser.push(bytes.substr(0, piece));
        bytes.erase(0, piece);
        while (parser.next()) ++frames;
      }
      CHECK(parser.pending_bytes() <= whole.size() + 200);
    } catch (const DistError&) {
      ++errors;
    }
  }
  CHECK(frames > 50'000);
  CHECK(errors > 30'000);
}

}  // namespace
}  // namespace resilin::dist
