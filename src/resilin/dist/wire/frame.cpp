// src/resilin/dist/wire/frame.cpp -- frames to bytes and back.
#include "resilin/dist/wire/frame.h"

#include <algorithm>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/wire/bytes.h"
#include "resilin/dist/wire/crc32c.h"

namespace resilin::dist {
namespace {

constexpr std::size_t kChecksumAt = kHeaderBytes - 4;

bool is_known(std::uint16_t kind) {
  constexpr FrameKind kKinds[] = {FrameKind::Hello,  FrameKind::Challenge, FrameKind::Proof, FrameKind::Welcome,
                                  FrameKind::Refuse, FrameKind::Request,   FrameKind::Reply, FrameKind::Beat};
  return std::ranges::find(kKinds, static_cast<FrameKind>(kind)) != std::end(kKinds);
}

}  // namespace

std::string encode_frame(const FrameHeader& header, std::string_view payload) {
  std::string out;
  out.reserve(kHeaderBytes + payload.size());
  append_little(out, kFrameMagic);
  append_little(out, kProtocolVersion);
  append_little(out, static_cast<std::uint16_t>(header.kind));
  append_little(out, static_cast<std::uint64_t>(payload.size()));
  append_little(out, header.generation);
  append_little(out, header.group);
  append_little(out, header.sequence);
  append_little(out, crc32c(payload, crc32c(out)));
  out += payload;
  return out;
}

void FrameParser::push(std::string_view bytes) {
  // What is parsed is dropped when it is the larger part, so that each byte is moved once or twice at most.
  if (begin_ > buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_ += bytes;
}

void FrameParser::set_limits(Limits limits) {
  RESILIN_ASSERT(!header_.has_value(), "limits change between frames");
  limits_ = limits;
}

std::optional<Frame> FrameParser::next() {
  if (!broken_.empty()) throw DistError(broken_);
  if (!header_ && !read_header()) return std::nullopt;
  const std::size_t length = static_cast<std::size_t>(length_);
  if (pending_bytes() < kHeaderBytes + length + limits_.trailer_bytes) return std::nullopt;
  const std::string_view bytes = std::string_view(buffer_).substr(begin_, kHeaderBytes + length);
  Frame frame{*header_, std::string(bytes.substr(kHeaderBytes)), {}, {}};
  if (crc32c(frame.payload, crc32c(bytes.substr(0, kChecksumAt))) != checksum_) {
    fail(cat("wire: the checksum of a frame is wrong: kind ", static_cast<int>(header_->kind), ", sequence ", header_->sequence, ", ",
             length_, " bytes; the bytes must come as they were sent"));
  }
  if (limits_.trailer_bytes > 0) {
    frame.bytes = bytes;
    frame.trailer = buffer_.substr(begin_ + bytes.size(), limits_.trailer_bytes);
  }
  begin_ += bytes.size() + limits_.trailer_bytes;
  header_.reset();
  return frame;
}

/// False while the header is not whole. Magic and version are judged as soon as they are there: a stranger need not send 40 bytes.
bool FrameParser::read_header() {
  const std::string_view bytes = std::string_view(buffer_).substr(begin_);
  if (bytes.size() >= 4 && read_little<std::uint32_t>(bytes, 0) != kFrameMagic) {
    fail(cat("wire: this is no Resilin connection: its first bytes are ", read_little<std::uint32_t>(bytes, 0), "; the magic number is ",
             kFrameMagic));
  }
  if (bytes.size() >= 6 && read_little<std::uint16_t>(bytes, 4) != kProtocolVersion) {
    broken_ = cat("wire: protocol versions differ: the other side speaks ", read_little<std::uint16_t>(bytes, 4), ", this one ",
                  kProtocolVersion, "; both must run the same version of Resilin");
    throw VersionError(broken_);
  }
  if (bytes.size() < kHeaderBytes) return false;
  const std::uint16_t kind = read_little<std::uint16_t>(bytes, 6);
  if (!is_known(kind)) fail(cat("wire: a frame of an unknown kind came: ", kind, "; version ", kProtocolVersion, " has no such kind"));
  length_ = read_little<std::uint64_t>(bytes, 8);
  if (length_ > limits_.payload_bytes) {
    fail(cat("wire: a frame is too long: ", length_, " bytes; at most ", limits_.payload_bytes, " are taken here"));
  }
  header_ = FrameHeader{static_cast<FrameKind>(kind), read_little<std::uint64_t>(bytes, 16), read_little<std::uint32_t>(bytes, 24),
                        read_little<std::uint64_t>(bytes, 28)};
  checksum_ = read_little<std::uint32_t>(bytes, kChecksumAt);
  return true;
}

void FrameParser::fail(const std::string& message) {
  broken_ = message;
  throw DistError(broken_);
}

}  // namespace resilin::dist
