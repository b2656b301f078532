// src/resilin/dist/store/sessions.cpp -- the replies a store keeps, so that a repeated request recognises itself.
#include "resilin/dist/store/sessions.h"

#include <algorithm>

namespace resilin::dist {

Sessions::Recall Sessions::recall(const Request& request, std::uint64_t now_ms, const Reply*& reply) {
  Session& session = sessions_[request.writer.instance];
  session.last_ms = now_ms;
  if (request.answered > session.answered) {
    session.answered = request.answered;
    session.replies.erase(session.replies.begin(), session.replies.upper_bound(request.answered));
  }
  if (request.writer.nonce <= session.answered) return Recall::Forgotten;
  const std::map<std::uint64_t, Reply>::const_iterator at = session.replies.find(request.writer.nonce);
  if (at == session.replies.end()) return Recall::New;
  reply = &at->second;
  return Recall::Known;
}

void Sessions::remember(const Writer& writer, const Reply& reply) { sessions_[writer.instance].replies[writer.nonce] = reply; }

void Sessions::forget_idle(std::uint64_t now_ms, std::uint64_t idle_ms) {
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second.last_ms + idle_ms <= now_ms; });
}

}  // namespace resilin::dist
