// src/resilin/dist/security/channel.h -- Internal: one end of a connection as a machine of bytes: mutual challenge, then sealed frames.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "resilin/dist/security/secret.h"
#include "resilin/dist/wire/frame.h"
#include "resilin/dist/wire/identity.h"

namespace resilin::dist {

/// One end of a control or store connection. It has no socket: bytes that came go in, bytes to send come out.
///
///   client  Hello {identity, nonce}       ->
///                                         <-  Challenge {identity, nonce, HMAC(secret, "server", transcript)}   server
///   client  Proof {HMAC(secret, "client", transcript)}  ->
///                                         <-  Welcome, sealed
///
/// Each side knows after the other's proof that it has the secret and made it for these two nonces. From then on a frame is followed by
/// its HMAC under a key of its direction, which is of both nonces, over a count of the frames before it and over the frame. A frame that
/// was changed, left out, repeated, or taken from another connection or direction does not fit.
///
/// Errors   DistError (of kind VersionError where identities differ) on whatever is not the protocol; the connection is of no use then
class Channel {
 public:
  enum class Side { Client, Server };
  struct Options {
    std::uint64_t payload_bytes = 4u << 20;  // of one frame, after the challenge; before it 4 KiB are taken
    Identity identity = own_identity();
  };

  Channel(Side side, const JobSecret& secret) : Channel(side, secret, Options{}) {}
  Channel(Side side, const JobSecret& secret, const Options& options);

  /// Takes bytes that came.
  void receive(std::string_view bytes);
  /// The next frame of the other side's user; nothing before the challenge is over.
  std::optional<Frame> next();
  /// Seals a frame. Only after `established`.
  void send(const FrameHeader& header, std::string_view payload);
  /// The bytes that are to be sent now.
  std::string take_output();
  /// The other side has proved that it knows the secret, and it knows the same of this one.
  bool established() const { return stage_ == Stage::Open; }
  /// A server's answer to a client that it will not serve, in the clear: the text becomes the client's error.
  void refuse(std::string_view why);

 private:
  enum class Stage { Hello, Challenge, Proof, Welcome, Open };  // the frame that is waited for
  struct Direction {
    std::optional<Hmac> key;
    std::uint64_t count = 0;
  };

  void advance(const Frame& frame);
  void take_hello(const Frame& frame);
  void take_challenge(const Frame& frame);
  void take_proof(const Frame& frame);
  void start_sealing();
  void open_seal(const Frame& frame);
  void append_sealed(const FrameHeader& header, std::string_view payload);
  Digest proof(std::string_view side) const { return secret_(side, as_bytes(transcript_)); }

  const Side side_;
  const Options options_;
  const Hmac secret_;
  Stage stage_;
  Digest nonce_{};
  std::string hello_;    // the client's, as it was sent
  Digest transcript_{};  // hash of Hello and of Challenge without its proof
  FrameParser parser_;
  Direction out_, in_;
  std::string output_;
};

}  // namespace resilin::dist
