// tests/fuzz/wire_fuzz.cpp -- libFuzzer on everything that reads bytes of strangers: frames, payloads, openings of connections.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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
  open_connection(bytes, Channel::Side::Client);
  open_connection(bytes, Channel::Side::Server);
  return 0;
}
