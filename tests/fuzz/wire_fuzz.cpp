// tests/fuzz/wire_fuzz.cpp -- libFuzzer on everything that reads bytes of strangers: frames, payloads, openings of connections.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "resilin/base/error.h"
#include "resilin/dist/agent/beat.h"
#include "resilin/dist/security/channel.h"
#include "resilin/dist/store/request.h"
#include "resilin/dist/wire/codec.h"
#include "resilin/dist/wire/frame.h"

namespace resilin::dist {
namespace {

template <class T>
void read_payload(std::string_view bytes) {
  try {
    const T value = decode<T>(bytes);
    RESILIN_ASSERT(encode(value) == bytes, "a value has one payload");
  } catch (const DistError&) {
    return;  // what a damaged payload must end in
  }
}

/// What a stranger can send that knows everything but the secret: any header and payload under a right checksum, past which no chance leads.
std::string framed(std::string_view bytes) {
  constexpr FrameKind kKinds[] = {FrameKind::Hello,  FrameKind::Challenge, FrameKind::Proof, FrameKind::Welcome,
                                  FrameKind::Refuse, FrameKind::Request,   FrameKind::Reply, FrameKind::Beat};
  const std::size_t first = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
  return encode_frame({.kind = kKinds[first % std::size(kKinds)], .generation = first, .group = 1, .sequence = first << 32},
                      bytes.substr(std::min<std::size_t>(1, bytes.size())));
}

/// A whole frame comes out as it went in, in whatever pieces it comes; the first byte is their length.
void read_whole_frame(std::string_view bytes) {
  const std::string sent = framed(bytes);
  const std::size_t piece = bytes.empty() ? 1 : static_cast<unsigned char>(bytes[0]) + 1u;
  FrameParser parser({.payload_bytes = sent.size()});
  std::optional<Frame> frame;
  for (std::size_t at = 0; at < sent.size(); at += piece) {
    RESILIN_ASSERT(!frame, "a frame ends with its last byte");
    parser.push(std::string_view(sent).substr(at, piece));
    frame = parser.next();
  }
  RESILIN_ASSERT(frame && encode_frame(frame->header, frame->payload) == sent, "a whole frame comes out as it went in");
}

/// The first byte is the length of the pieces.
void read_frames(std::string_view bytes, FrameParser::Limits limits) {
  if (bytes.empty()) return;
  const std::size_t piece = static_cast<unsigned char>(bytes[0]) + 1u;
  bytes.remove_prefix(1);
  FrameParser parser(limits);
  try {
    while (!bytes.empty()) {
      parser.push(bytes.substr(0, piece));
      bytes.remove_prefix(std::min(piece, bytes.size()));
      while (const std::optional<Frame> frame = parser.next()) read_payload<Request>(frame->payload);
    }
  } catch (const DistError&) {
    return;
  }
}

void open_connection(std::string_view bytes, Channel::Side side) {
  static const JobSecret secret = JobSecret::of_bytes("0123456789abcdef0123456789abcdef");
  Channel channel(side, secret);
  try {
    channel.receive(bytes);
    while (channel.next()) continue;
  } catch (const DistError&) {
    return;
  }
  RESILIN_ASSERT(!channel.established(), "nobody opens a connection without the secret");
}

}  // namespace
}  // namespace resilin::dist

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace resilin::dist;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_frames(bytes, {.payload_bytes = 1000});
  read_frames(bytes, {.payload_bytes = 1000, .trailer_bytes = 32});
  read_payload<Request>(bytes);
  read_payload<Reply>(bytes);
  read_payload<BeatMessage>(bytes);
  read_whole_frame(bytes);
  const std::string frame = framed(bytes);
  for (const Channel::Side side : {Channel::Side::Client, Channel::Side::Server}) {
    open_connection(bytes, side);
    open_connection(frame, side);
  }
  return 0;
}
