// src/resilin/dist/security/connection.cpp -- bytes between a socket and its channel.
#include "resilin/dist/security/connection.h"

#include <array>

namespace resilin::dist {
namespace {

constexpr int kReadsAtOnce = 16;  // so that one busy client leaves time for the others

}  // namespace

bool Connection::receive() {
  std::array<char, 65536> buffer;
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const Received received = receive_some(socket_, buffer.data(), buffer.size());
    if (received.state == Transfer::Later) return true;
    if (received.state == Transfer::Ended) return false;
    channel_.receive({buffer.data(), received.count});
    // A stranger's bytes are looked at before more are taken.
    if (received.count < buffer.size() || !channel_.established()) return true;
  }
  return true;
}

bool Connection::flush() {
  output_ += channel_.take_output();
  while (sent_ < output_.size()) {
    const Received sent = send_some(socket_, std::string_view(output_).substr(sent_));
    if (sent.state == Transfer::Ended) return false;
    if (sent.state == Transfer::Later) return true;
    sent_ += sent.count;
  }
  output_.clear();
  sent_ = 0;
  return true;
}

}  // namespace resilin::dist
