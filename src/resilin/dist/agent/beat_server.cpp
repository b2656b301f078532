// src/resilin/dist/agent/beat_server.cpp -- connections of ranks to their agent.
#include "resilin/dist/agent/beat_server.h"

#include <utility>

#include <unistd.h>

#include "resilin/base/log.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

constexpr std::size_t kMostConnections = 4096;
constexpr std::size_t kMostReasons = 64;
constexpr std::uint64_t kBeatBytes = 4096;

}  // namespace

BeatServer::BeatServer(EventLoop& loop, const Address& address, const JobSecret& secret, Take take)
    : loop_(loop), secret_(secret), take_(std::move(take)), listener_(listen_on(address)) {
  loop_.add(listener_.socket.get(), [this](EventLoop::Ready) { accept(); });
}

BeatServer::~BeatServer() {
  loop_.remove(listener_.socket.get());
  for (const auto& [id, client] : clients_) loop_.remove(client.connection.socket().get());
  unlink(listener_.address.host.c_str());
}

void BeatServer::accept() {
  while (std::optional<Descriptor> socket = accept_client(listener_.socket)) {
    const PeerProcess peer = peer_of(*socket);
    if (peer.user != geteuid() || clients_.size() >= kMostConnections) {
      warn_once(cat("the agent refused a process of user ", peer.user));
      continue;
    }
    const std::uint64_t id = ++last_client_;
    const int descriptor = socket->get();
    clients_.try_emplace(id, std::move(*socket), Channel(Channel::Side::Server, secret_, {.payload_bytes = kBeatBytes}), peer.process);
    loop_.add(descriptor, [this, id](EventLoop::Ready) { serve(id); });
  }
}

void BeatServer::serve(std::uint64_t id) {
  const std::map<std::uint64_t, Client>::iterator found = clients_.find(id);
  if (found == clients_.end()) return;
  Connection& connection = found->second.connection;
  try {
    const bool open = connection.receive();
    while (const std::optional<Frame> frame = connection.next()) {
      if (frame->header.kind == FrameKind::Beat) take_(decode<BeatMessage>(frame->payload), found->second.process);
    }
    if (open && connection.flush()) return;
  } catch (const DistError& error) {
    warn_once(cat("the agent refused a process: ", error.what()));
  }
  loop_.remove(connection.socket().get());
  clients_.erase(found);
}

void BeatServer::warn_once(const std::string& text) {
  if (reasons_.size() < kMostReasons && reasons_.insert(text).second) log(LogLevel::Warning, text);
}

}  // namespace resilin::dist
