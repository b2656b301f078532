// src/resilin/dist/agent/beat_server.cpp -- connections of ranks to their agent.
#include "resilin/dist/agent/beat_server.h"

#include <utility>

#include <unistd.h>

#include "resilin/base/log.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

constexpr std::size_t kMostConnections = 4096;
constexpr std::uint64_t kBeatBytes = 4096;

}  // namespace

BeatServer::BeatServer(EventLoop& loop, const Address& address, const JobSecret& secret, Take take)
    : loop_(loop), secret_(secret), take_(std::move(take)), listener_(listen_on(address)) {
  loop_.add(listener_.socket.get(), [this](EventLoop::Ready) { accept(); });
}

BeatServer::~BeatServer() {
  loop_.remove(listener_.socket.get());
  for (const auto& [id, connection] : ranks_) loop_.remove(connection.socket().get());
  unlink(listener_.address.host.c_str());
}

void BeatServer::accept() {
  while (std::optional<Descriptor> socket = accept_client(listener_.socket)) {
    const PeerProcess peer = peer_of(*socket);
    if (peer.user != geteuid() || ranks_.size() >= kMostConnections) {
      log(LogLevel::Warning, cat("the agent refused process ", peer.process, " of user ", peer.user));
      continue;
    }
    const std::uint64_t id = ++last_rank_;
    const int descriptor = socket->get();
    ranks_.try_emplace(id, std::move(*socket), Channel(Channel::Side::Server, secret_, {.payload_bytes = kBeatBytes}));
    loop_.add(descriptor, [this, id](EventLoop::Ready) { serve(id); });
  }
}

void BeatServer::serve(std::uint64_t id) {
  const std::map<std::uint64_t, Connection>::iterator found = ranks_.find(id);
  if (found == ranks_.end()) return;
  Connection& connection = found->second;
  try {
    const bool open = connection.receive();
    while (const std::optional<Frame> frame = connection.next()) {
      if (frame->header.kind == FrameKind::Beat) take_(decode<BeatMessage>(frame->payload));
    }
    if (open && connection.flush()) return;
  } catch (const DistError& error) {
    log(LogLevel::Warning, cat("the agent refused a process: ", error.what()));
  }
  loop_.remove(connection.socket().get());
  ranks_.erase(found);
}

}  // namespace resilin::dist
