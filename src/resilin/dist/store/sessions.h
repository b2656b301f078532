// src/resilin/dist/store/sessions.h -- Internal: the replies a store keeps, so that a repeated request recognises itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "resilin/dist/store/request.h"

namespace resilin::dist {

/// The replies of one instance that it may not have seen yet.
struct Session {
  std::uint64_t answered = 0;  // nonces up to this one are forgotten
  std::uint64_t last_ms = 0;   // when it last asked
  std::map<std::uint64_t, Reply> replies;
};

/// A write of (instance, nonce) is done once, however often its request comes: the reply is kept until the writer says that it holds it.
/// Source: Lee et al., "Implementing linearizability at large scale and low latency", SOSP 2015.
class Sessions {
 public:
  enum class Recall { New, Known, Forgotten };

  /// Drops what the request says was answered, and tells whether it is a repetition; `reply` is set when it is Known.
  Recall recall(const Request& request, std::uint64_t now_ms, const Reply*& reply);
  void remember(const Writer& writer, const Reply& reply);
  /// Forgets the instances that have not asked for `idle_ms`.
  void forget_idle(std::uint64_t now_ms, std::uint64_t idle_ms);

  std::size_t size() const { return sessions_.size(); }
  const std::map<std::uint64_t, Session>& all() const { return sessions_; }
  void restore(std::uint64_t instance, Session session) { sessions_[instance] = std::move(session); }

 private:
  std::map<std::uint64_t, Session> sessions_;
};

}  // namespace resilin::dist
