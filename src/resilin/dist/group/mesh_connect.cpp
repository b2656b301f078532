// src/resilin/dist/group/mesh_connect.cpp -- how a mesh comes up, and what its ranks tell each other.
#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <sys/eventfd.h>

#include "resilin/base/error.h"
#include "resilin/base/log.h"
#include "resilin/base/text.h"
#include "resilin/dist/collective/peer_memory.h"
#include "resilin/dist/group/mesh.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

constexpr std::chrono::nanoseconds kLongestFarewell = std::chrono::milliseconds(2'000);

std::size_t index_of(int rank) { return static_cast<std::size_t>(rank); }

bool can_read(const note::Hello& peer) {
  std::uint64_t word = 0;
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(&word, 1));
  return read_process_memory(peer.process, peer.probe_address, bytes) && word == peer.probe_word;
}

}  // namespace

Mesh::Mesh(MeshOptions options, const TransportMaker& maker, MeshEvents events, Clock& clock)
    : options_(std::move(options)), events_(std::move(events)), clock_(clock), alarm_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!alarm_) throw StoreError(cat("group ", options_.group, ": no descriptor is left"));

  transport_ = maker({.note = [this](int peer, std::string_view bytes) { take_note(peer, bytes); },
                      .lost = [this](int peer, const std::string& why) { lost(peer, why); }});
}

Mesh::~Mesh() {
  if (!is_closed()) transport_->close();
}

std::string Mesh::address() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return transport_->address();
}

void Mesh::join(const Attempt& attempt, int rank) {
  const std::lock_guard<std::mutex> lock(mutex_);
  attempt_ = attempt;
  rank_ = rank;
  size_ = static_cast<int>(attempt.handles.size());
  transport_->join(rank_, size_);
  connected_.assign(attempt.handles.size(), false);
  readable_ = left_ = is_needy_ = connected_;
  launch_ranks_.assign(attempt.handles.size(), -1);
  launch_ranks_[index_of(rank)] = options_.launch_rank;
}

void Mesh::connect(int peer, std::string_view address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_closed() || connected_[index_of(peer)]) return;
  transport_->connect(peer, address);
  connected_[index_of(peer)] = true;
  const note::Note hello = note::Hello{.identity = own_identity(),
                                       .instance = options_.instance,
                                       .uuid = attempt_.uuid,
                                       .generation = attempt_.generation,
                                       .digest = attempt_.digest,
                                       .launch_rank = options_.launch_rank,
                                       .process = own_process(),
                                       .probe_address = probe_address(),
                                       .probe_word = probe_word()};
  transport_->send_note(peer, encode(hello));
}

bool Mesh::reads_all_peers() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_ && !readable_[index_of(peer)]) return false;
  }
  return true;
}

void Mesh::install(const Attempt& decided, Reach reach) {
  const std::lock_guard<std::mutex> lock(mutex_);
  attempt_ = decided;
  reach_ = reach;
  installed_ = true;
  if (options_.recorder == nullptr) return;
  std::vector<std::int32_t> members(launch_ranks_.begin(), launch_ranks_.end());
  options_.recorder->define_group(
      {.generation = attempt_.generation, .name = options_.group, .description = {}, .members = std::move(members)});
}

void Mesh::tell_peers(const Attempt& decision) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_closed()) tell_all(note::Decision{decision});
}

void Mesh::leave() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_closed() || !installed_) return;
    // Before they are told: the first may answer at once.
    const bool waits = !failing_.load(std::memory_order_acquire) && works_.empty();
    for (int peer = 0; waits && peer < size_; ++peer) {
      is_needy_[index_of(peer)] = peer != rank_ && connected_[index_of(peer)] && !left_[index_of(peer)];
      needy_.fetch_add(is_needy_[index_of(peer)], std::memory_order_relaxed);
    }
    tell_all(note::Leave{attempt_.generation});
    transport_->progress();
    if (!waits) return;
  }
  attend(
      &needy_, clock_.now() + kLongestFarewell,
      [this] { return needy_.load(std::memory_order_acquire) == 0 || is_closed() || failing_.load(std::memory_order_acquire); }, nullptr);
}

/// It has all, or has gone.
void Mesh::need_no_more(int peer) {
  if (std::exchange(is_needy_[index_of(peer)], false) && needy_.fetch_sub(1, std::memory_order_acq_rel) == 1) wake_sleepers(&needy_);
}

std::string Mesh::lanes(int peer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (peer == rank_) return "self";
  if (is_closed()) {
    throw_failure(failure(), cat("lanes: generation ", attempt_.generation, " of group ", options_.group, " works no more"),
                  {.group = options_.group, .generation = attempt_.generation, .ranks = {}});
  }
  return transport_->lanes(peer);
}

void Mesh::tell_all(const note::Note& note) {
  const std::string bytes = encode(note);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_ && connected_[index_of(peer)]) transport_->send_note(peer, bytes);
  }
}

// ---- notes, in whichever thread moves bytes

void Mesh::take_note(int peer, std::string_view bytes) {
  if (peer < 0 || peer >= size_)
    return log(LogLevel::Warning, cat("group ", options_.group, ": a note of rank ", peer, ", which is no member"));
  try {
    std::visit([&](const auto& note) { take(peer, note); }, decode<note::Note>(bytes));
  } catch (const DistError& error) {
    log(LogLevel::Warning, cat("group ", options_.group, ": a note of rank ", peer, " cannot be read: ", error.what()));
  }
}

void Mesh::take(int peer, const note::Hello& hello) {
  const Handle& expected = attempt_.handles[index_of(peer)];
  if (hello.instance != expected.instance || hello.uuid != attempt_.uuid || hello.digest != attempt_.digest) {
    return log(LogLevel::Warning, cat("group ", options_.group, ": a hello of instance ", hello.instance, " for attempt ", hello.uuid,
                                      " came to attempt ", attempt_.uuid));
  }
  try {
    require_same(own_identity(), hello.identity);
  } catch (const VersionError& error) {
    return events_.unreachable(peer, error.what());
  }
  launch_ranks_[index_of(peer)] = hello.launch_rank;
  readable_[index_of(peer)] = can_read(hello);
  events_.hello(peer, hello);
}

void Mesh::take(int, const note::Revoke& revoke) {
  if (revoke.generation == attempt_.generation && revokes(revoke.failure.kind)) fail(revoke.failure);
}

void Mesh::take(int, const note::Decision& decision) {
  if (decision.attempt.uuid == attempt_.uuid) events_.decision(decision.attempt);
}

void Mesh::take(int peer, const note::Leave& leave) {
  if (leave.generation != attempt_.generation) return;
  left_[index_of(peer)] = true;
  transport_->send_note(peer, encode(note::Note(note::Farewell{attempt_.generation})));
  need_no_more(peer);
}

void Mesh::take(int peer, const note::Farewell& farewell) {
  if (farewell.generation == attempt_.generation) need_no_more(peer);
}

void Mesh::take(int peer, const note::WindowMessage& message) {
  const std::map<std::uint64_t, WindowHandler>::const_iterator at = windows_.find(message.window);
  if (at != windows_.end()) at->second(peer, message);
}

void Mesh::take_window(std::uint64_t window, WindowHandler handler) {
  const std::lock_guard<std::mutex> lock(mutex_);
  windows_[window] = std::move(handler);
}

void Mesh::forget_window(std::uint64_t window) {
  const std::lock_guard<std::mutex> lock(mutex_);
  windows_.erase(window);
}

void Mesh::tell(int peer, const note::WindowMessage& message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_closed()) tell_locked(peer, message);
}

void Mesh::tell_locked(int peer, const note::WindowMessage& message) { transport_->send_note(peer, encode(note::Note(message))); }

void Mesh::lost(int peer, const std::string& why) {
  const std::int64_t launch_rank = launch_ranks_[index_of(peer)];
  if (!installed_) return events_.unreachable(peer, why);
  if (left_[index_of(peer)]) return;  // whoever still needs it finds out
  if (is_needy_[index_of(peer)]) return need_no_more(peer);
  if (frozen_) {
    lost_while_frozen_.emplace_back(peer, why);  // or it has installed the next generation before this rank
    return;
  }
  if (options_.recorder != nullptr) {
    options_.recorder->lose_peer(static_cast<std::int32_t>(launch_rank), LossEvidence::Engine, attempt_.generation);
  }
  fail({FailureKind::PeerLost, cat("rank ", peer, " is gone: ", why), {peer}, rank_});
}

}  // namespace resilin::dist
