// src/resilin/dist/agent/beat_server.h -- Internal: the agent's side of heartbeats.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "resilin/dist/agent/beat.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/os/event_loop.h"
#include "resilin/dist/security/connection.h"

namespace resilin::dist {

/// Takes beats of processes of this user that know the job's secret, on a Unix socket, in the loop of its owner.
class BeatServer {
 public:
  /// A beat, and the process that it came from.
  using Take = std::function<void(const BeatMessage&, int process)>;

  BeatServer(EventLoop& loop, const Address& address, const JobSecret& secret, Take take);
  ~BeatServer();
  BeatServer(const BeatServer&) = delete;
  BeatServer& operator=(const BeatServer&) = delete;

  const Address& address() const { return listener_.address; }

 private:
  void accept();
  void serve(std::uint64_t id);
  void warn_once(const std::string& text);

  struct Client {
    Client(Descriptor socket, Channel channel, int peer) : connection(std::move(socket), std::move(channel)), process(peer) {}
    Connection connection;
    int process;
  };

  EventLoop& loop_;
  const JobSecret secret_;
  const Take take_;
  Listener listener_;
  std::map<std::uint64_t, Client> clients_;
  std::uint64_t last_client_ = 0;
  std::set<std::string> reasons_;  // of refusals that were logged
};

}  // namespace resilin::dist
