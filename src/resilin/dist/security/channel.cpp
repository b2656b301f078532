// src/resilin/dist/security/channel.cpp -- the mutual challenge and the seal of frames.
#include "resilin/dist/security/channel.h"

#include <tuple>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

constexpr std::uint64_t kStrangerBytes = 4096;  // of a frame whose sender has proved nothing

/// Both ends' first words.
struct Introduction {
  Identity identity;
  Digest nonce{};
  static constexpr auto fields() { return std::tuple{field("identity", &Introduction::identity), field("nonce", &Introduction::nonce)}; }
};

struct Challenge {
  Introduction introduction;
  Digest proof{};
  static constexpr auto fields() { return std::tuple{field("introduction", &Challenge::introduction), field("proof", &Challenge::proof)}; }
};

struct Refusal {
  std::string why;
  Identity identity;  // of who refuses
  static constexpr auto fields() { return std::tuple{field("why", &Refusal::why), field("identity", &Refusal::identity)}; }
};

/// The pieces are hashed one by one, so that none can lend bytes to its neighbour.
Digest transcript_of(std::string_view hello, std::string_view introduction) {
  Sha256 hash;
  hash.update(as_bytes(sha256(hello)));
  hash.update(as_bytes(sha256(introduction)));
  return hash.finish();
}

std::string_view kind_name(FrameKind kind) {
  switch (kind) {
    case FrameKind::Hello: return "Hello";
    case FrameKind::Challenge: return "Challenge";
    case FrameKind::Proof: return "Proof";
    case FrameKind::Welcome: return "Welcome";
    case FrameKind::Refuse: return "Refuse";
    case FrameKind::Request: return "Request";
    case FrameKind::Reply: return "Reply";
    case FrameKind::Beat: return "Beat";
  }
  return "unknown";
}

void require_kind(const Frame& frame, FrameKind wanted) {
  if (frame.header.kind == wanted) return;
  throw DistError(cat("connect: a frame ", kind_name(frame.header.kind), " came out of turn; ", kind_name(wanted), " must come first"));
}

}  // namespace

Channel::Channel(Side side, const JobSecret& secret, const Options& options)
    : side_(side),
      options_(options),
      secret_(secret.bytes()),
      stage_(side == Side::Client ? Stage::Challenge : Stage::Hello),
      parser_({.payload_bytes = kStrangerBytes}) {
  fill_unguessable(nonce_.data(), nonce_.size());
  if (side == Side::Server) return;
  hello_ = encode(Introduction{options_.identity, nonce_});
  output_ = encode_frame({.kind = FrameKind::Hello}, hello_);
}

void Channel::receive(std::string_view bytes) { parser_.push(bytes); }

std::optional<Frame> Channel::next() {
  while (std::optional<Frame> frame = parser_.next()) {
    if (stage_ == Stage::Open) {
      open_seal(*frame);
      return frame;
    }
    advance(*frame);
  }
  return std::nullopt;
}

void Channel::advance(const Frame& frame) {
  if (side_ == Side::Client && frame.header.kind == FrameKind::Refuse && stage_ != Stage::Welcome) {
    const Refusal refusal = decode<Refusal>(frame.payload);
    require_same(options_.identity, refusal.identity);
    throw DistError(cat("connect: the other side refuses: ", refusal.why));
  }
  switch (stage_) {
    case Stage::Hello: return take_hello(frame);
    case Stage::Challenge: return take_challenge(frame);
    case Stage::Proof: return take_proof(frame);
    case Stage::Welcome:
      open_seal(frame);
      require_kind(frame, FrameKind::Welcome);
      stage_ = Stage::Open;
      return;
    case Stage::Open: return;
  }
}

void Channel::take_hello(const Frame& frame) {
  require_kind(frame, FrameKind::Hello);
  const Introduction theirs = decode<Introduction>(frame.payload);
  require_same(options_.identity, theirs.identity);
  const Introduction ours{options_.identity, nonce_};
  transcript_ = transcript_of(frame.payload, encode(ours));
  output_ += encode_frame({.kind = FrameKind::Challenge}, encode(Challenge{ours, proof("server")}));
  stage_ = Stage::Proof;
}

void Channel::take_challenge(const Frame& frame) {
  require_kind(frame, FrameKind::Challenge);
  const Challenge challenge = decode<Challenge>(frame.payload);
  require_same(options_.identity, challenge.introduction.identity);
  transcript_ = transcript_of(hello_, encode(challenge.introduction));
  if (!equal_in_constant_time(as_bytes(proof("server")), as_bytes(challenge.proof))) {
    throw DistError("connect: the server does not know the job's secret; it must be of the same job");
  }
  output_ += encode_frame({.kind = FrameKind::Proof}, encode(proof("client")));
  stage_ = Stage::Welcome;
  start_sealing();
}

void Channel::take_proof(const Frame& frame) {
  require_kind(frame, FrameKind::Proof);
  if (!equal_in_constant_time(as_bytes(proof("client")), as_bytes(decode<Digest>(frame.payload)))) {
    throw DistError("connect: the client does not know the job's secret; it must be of the same job");
  }
  stage_ = Stage::Open;
  start_sealing();
  append_sealed({.kind = FrameKind::Welcome}, {});
}

void Channel::start_sealing() {
  const bool client = side_ == Side::Client;
  out_.key.emplace(as_bytes(proof(client ? "client to server" : "server to client")));
  in_.key.emplace(as_bytes(proof(client ? "server to client" : "client to server")));
  // A longer frame is taken from the first frame on that only a holder of the secret can have sent.
  parser_.set_limits({.payload_bytes = options_.payload_bytes, .trailer_bytes = sizeof(Digest)});
}

void Channel::open_seal(const Frame& frame) {
  std::string count;
  append_little(count, in_.count);
  if (!equal_in_constant_time(as_bytes((*in_.key)(count, frame.bytes)), frame.trailer)) {
    throw DistError(cat("connection: the seal of frame ", in_.count, " does not fit: kind ", kind_name(frame.header.kind),
                        "; frames must come once, in order and as they were sent"));
  }
  ++in_.count;
}

void Channel::send(const FrameHeader& header, std::string_view payload) {
  RESILIN_ASSERT(established(), "frames are sent after the challenge");
  if (payload.size() > options_.payload_bytes) {
    throw DistError(cat("connection: a frame is too long: ", payload.size(), " bytes; at most ", options_.payload_bytes, " are sent"));
  }
  append_sealed(header, payload);
}

void Channel::append_sealed(const FrameHeader& header, std::string_view payload) {
  const std::string frame = encode_frame(header, payload);
  std::string count;
  append_little(count, out_.count++);
  output_ += frame;
  output_ += as_bytes((*out_.key)(count, frame));
}

std::string Channel::take_output() { return std::exchange(output_, {}); }

void Channel::refuse(std::string_view why) {
  if (out_.key) return;  // a client that expects seals would not believe it
  output_ += encode_frame({.kind = FrameKind::Refuse}, encode(Refusal{std::string(why), options_.identity}));
}

}  // namespace resilin::dist
