// src/resilin/dist/security/connection.h -- Internal: a socket with a channel on it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "resilin/dist/os/socket.h"
#include "resilin/dist/security/channel.h"

namespace resilin::dist {

/// Frames over a socket that never blocks. What cannot be sent at once is kept until `flush`.
class Connection {
 public:
  Connection(Descriptor socket, Channel channel) : socket_(std::move(socket)), channel_(std::move(channel)) {}

  /// Reads what is there; false when the other side has closed. Throws what Channel throws.
  bool receive();
  std::optional<Frame> next() { return channel_.next(); }
  void send(const FrameHeader& header, std::string_view payload) { channel_.send(header, payload); }
  /// Sends what it can; false when the connection is broken.
  bool flush();
  bool wants_to_write() const { return sent_ < output_.size(); }
  std::size_t unsent_bytes() const { return output_.size() - sent_; }

  Channel& channel() { return channel_; }
  const Descriptor& socket() const { return socket_; }

 private:
  Descriptor socket_;
  Channel channel_;
  std::string output_;
  std::size_t sent_ = 0;
};

}  // namespace resilin::dist
