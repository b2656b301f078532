// src/resilin/dist/agent/heartbeat.cpp -- the connection of a rank to its agent.
#include "resilin/dist/agent/heartbeat.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <poll.h>

#include "resilin/dist/agent/beat.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/launch/job_secret.h"
#include "resilin/dist/os/thread.h"
#include "resilin/dist/security/connection.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kOpenTimeout = std::chrono::seconds(10);

void wait_for(const Descriptor& socket, short events, nanoseconds timeout) {
  pollfd waited{socket.get(), events, 0};
  const int timeout_ms = static_cast<int>(std::max<i64>(timeout / milliseconds(1), 0)) + 1;
  poll(&waited, 1, timeout_ms);
}

/// A connection whose challenge is over.
Connection open_connection(const RankInfo& rank, Clock& clock) {
  if (rank.agent_address.empty()) {
    throw UnsupportedError("heartbeat: no agent started this process: RESILIN_AGENT is not set; resilin run sets it");
  }
  const nanoseconds deadline = clock.now() + kOpenTimeout;
  Connection connection(begin_connect(parse_address(rank.agent_address)), Channel(Channel::Side::Client, job_secret_of(rank)));
  while (!connection.channel().established()) {
    const nanoseconds left = deadline - clock.now();
    if (!connection.flush() || left <= nanoseconds(0)) break;
    wait_for(connection.socket(), POLLIN, left);
    const bool open = connection.receive();
    connection.next();
    if (!open) break;
  }
  if (!connection.channel().established()) {
    throw StoreError(cat("heartbeat: the agent at ", rank.agent_address, " does not answer; it must run as long as its ranks"));
  }
  return connection;
}

}  // namespace

class Heartbeat::Sender {
 public:
  Sender(const RankInfo& rank, milliseconds interval, Clock& clock)
      : clock_(clock), interval_(interval), life_(process_life()), connection_(open_connection(rank, clock)) {
    // Other launchers give a process no number of its own.
    beat_.instance = rank.instance != 0 ? rank.instance : std::max<std::uint64_t>(machine_random().next(), 1);
    beat_.rank = rank.rank;
    send();
    thread_ = start_thread([this] { run(); });
  }

  ~Sender() {
    if (life_ != process_life()) {
      thread_.detach();  // it runs in the parent only
      return;
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void report(i64 step, std::uint64_t sequence) {
    if (life_ != process_life()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    beat_.step = step;
    beat_.sequence = sequence;
    send();
  }

  void leave() {
    if (life_ != process_life()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    beat_.leaving = true;
    send();
  }

  bool agent_lost() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return lost_;
  }

 private:
  void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    nanoseconds next = clock_.now() + interval_;
    while (!ending_) {
      clock_.wait_until(wake_, lock, next);
      if (ending_ || clock_.now() < next) continue;
      next = clock_.now() + interval_;
      send();
      notice_end();
    }
  }

  /// What the socket does not take now waits for the next beat; a beat replaces the ones before it.
  void send() {
    if (lost_) return;
    if (!connection_.wants_to_write()) connection_.send({.kind = FrameKind::Beat}, encode(beat_));
    if (!connection_.flush()) lost_ = true;
  }

  void notice_end() {
    if (lost_) return;
    try {
      lost_ = !connection_.receive();
      while (connection_.next()) continue;
    } catch (const DistError&) {
      lost_ = true;  // whoever this is, it is no agent any more
    }
  }

  Clock& clock_;
  const milliseconds interval_;
  const std::uint64_t life_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  Connection connection_;
  BeatMessage beat_;
  bool lost_ = false;
  bool ending_ = false;
  std::thread thread_;
};

Heartbeat::Heartbeat(const RankInfo& rank, milliseconds interval) : sender_(std::make_unique<Sender>(rank, interval, machine_clock())) {}

Heartbeat::~Heartbeat() = default;

void Heartbeat::report(i64 step, std::uint64_t sequence) { sender_->report(step, sequence); }
void Heartbeat::leave() { sender_->leave(); }
bool Heartbeat::agent_lost() const { return sender_->agent_lost(); }

}  // namespace resilin::dist
