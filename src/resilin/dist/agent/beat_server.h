// src/resilin/dist/agent/beat_server.h -- Internal: the agent's side of heartbeats.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "resilin/dist/agent/beat.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/os/event_loop.h"
#include "resilin/dist/security/connection.h"

namespace resilin::dist {

/// Takes beats of processes of this user that know the job's secret, on a Unix socket, in the loop of its owner.
class BeatServer {
 public:
  using Take = std::function<void(const BeatMessage&)>;

  BeatServer(EventLoop& loop, const Address& address, const JobSecret& secret, Take take);
  ~BeatServer();
  BeatServer(const BeatServer&) = delete;
  BeatServer& operator=(const BeatServer&) = delete;

  const Address& address() const { return listener_.address; }

 private:
  void accept();
  void serve(std::uint64_t id);

  EventLoop& loop_;
  const JobSecret secret_;
  const Take take_;
  Listener listener_;
  std::map<std::uint64_t, Connection> ranks_;
  std::uint64_t last_rank_ = 0;
};

}  // namespace resilin::dist
