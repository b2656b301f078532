// src/resilin/dist/wire/frame.h -- Internal: frames, the one unit of every control and store connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace resilin::dist {

/// "RSLN" when read as bytes.
inline constexpr std::uint32_t kFrameMagic = 0x4e4c5352u;
/// Grows whenever bytes of a header or of a payload change their meaning; the golden frames of tests/dist hold one version each.
inline constexpr std::uint16_t kProtocolVersion = 1;

/// What a frame carries. Numbers are part of the protocol: they are never given to something else.
enum class FrameKind : std::uint16_t {
  Hello = 1,      // opens a connection: who I am, a challenge
  Challenge = 2,  // the server's identity, challenge and proof
  Proof = 3,      // the client's proof
  Welcome = 4,    // the first sealed frame: the connection stands
  Refuse = 5,     // in place of Challenge or Welcome: why not
  Request = 16,   // to the store
  Reply = 17,     // of the store
  Beat = 32,      // a rank to its agent: alive, and where
};

/// The fixed part of a frame. On the wire, little-endian: magic u32, version u16, kind u16, length u64, generation u64, group u32,
/// sequence u64, CRC32C u32 of the 36 bytes before and of the payload.
struct FrameHeader {
  FrameKind kind = FrameKind::Hello;
  std::uint64_t generation = 0;
  std::uint32_t group = 0;
  std::uint64_t sequence = 0;
};
inline constexpr std::size_t kHeaderBytes = 40;

struct Frame {
  FrameHeader header;
  std::string payload;
  std::string trailer;  // what follows a frame on a sealed connection: its MAC
  std::string bytes;    // header and payload as they came: what the MAC is of; empty on a connection without trailers
};

/// Header and payload as bytes.
std::string encode_frame(const FrameHeader& header, std::string_view payload);

/// Cuts a stream of bytes into frames, however the bytes arrive in pieces.
///
/// A stream that is damaged or hostile ends in an error, never in more than the limit of memory: VersionError naming both versions when
/// the magic fits and the version does not, DistError for anything else. After an error the parser stays broken.
class FrameParser {
 public:
  struct Limits {
    std::uint64_t payload_bytes;    // of one frame; a longer one is refused by its header alone
    std::size_t trailer_bytes = 0;  // that follow each frame
  };
  explicit FrameParser(Limits limits) : limits_(limits) {}

  /// Takes bytes that came.
  void push(std::string_view bytes);
  /// The next whole frame.
  std::optional<Frame> next();
  /// Other limits for the frames that are not parsed yet.
  void set_limits(Limits limits);
  /// Bytes that came and are not yet part of a frame.
  std::size_t pending_bytes() const { return buffer_.size() - begin_; }

 private:
  bool read_header();
  [[noreturn]] void fail(const std::string& message);

  Limits limits_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of the frame that is being read
  std::optional<FrameHeader> header_;
  std::uint64_t length_ = 0;
  std::uint32_t checksum_ = 0;
  std::string broken_;  // the first error
};

}  // namespace resilin::dist
