// src/resilin/dist/transport/ucx/mail.cpp -- matching by tag, and long messages in pieces.
#include "resilin/dist/transport/ucx/mail.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace resilin::dist::ucx {
namespace {

/// So many pieces of a message wait inside UCX for room on their way.
constexpr int kMostInFlight = 4;
/// So many go out before others have their turn.
constexpr int kMostPiecesATurn = 64;

}  // namespace

bool Mail::has_room(const Incoming& receive, std::uint64_t place, std::size_t count) {
  return count != 0 && place <= receive.count && count <= receive.count - place;
}

void Mail::send(const UcxMessage& message, Pending& pending) {
  ++pending.open;
  if (carrier_.is_lost(message.peer)) return pending.end(TransferFault::PeerLost, message.peer, 0);
  const std::byte* const bytes = static_cast<const std::byte*>(message.bytes);
  const std::uint64_t number = ++last_number_;
  Outgoing outgoing = {message.peer, bytes, message.count, 0, 0, 0, TransferFault::None, &pending};
  if (message.count > carrier_.piece_bytes(message.peer)) {
    outgoing_.emplace(number, outgoing);
    carrier_.carry(message.peer, {Header::Kind::Announce, -1, message.tag, message.count, number}, {}, 0);
    return;
  }
  const Carried carried = carrier_.carry(message.peer, {Header::Kind::Message, -1, message.tag, 0, 0}, {bytes, message.count}, number);
  if (carried != Carried::Later) {
    return pending.end(carried == Carried::Done ? TransferFault::None : TransferFault::PeerLost, message.peer, 0);
  }
  outgoing.next = message.count;
  outgoing.in_flight = 1;
  outgoing_.emplace_hint(outgoing_.end(), number, outgoing);
}

void Mail::receive(const UcxMessage& message, Pending& pending) {
  ++pending.open;
  const Incoming receive = {message.peer, static_cast<std::byte*>(message.bytes), message.count, 0, &pending};
  if (carrier_.is_lost(message.peer)) return pending.end(TransferFault::PeerLost, message.peer, 0);
  const std::multimap<std::uint64_t, Waiting>::iterator found = waiting_.lower_bound(message.tag);
  if (found == waiting_.end() || found->first != message.tag) {
    posted_.emplace(message.tag, receive);
    return;
  }
  const Waiting first = std::move(found->second);
  waiting_.erase(found);
  if (first.number == 0) return take(receive, first.bytes);
  begin(receive, first.announced_bytes, first.number);
}

void Mail::take(const Incoming& receive, std::span<const std::byte> bytes) {
  if (bytes.size() > receive.count) return receive.pending->end(TransferFault::TooLong, receive.peer, 0);
  if (!bytes.empty() && bytes.data() != receive.bytes) std::memcpy(receive.bytes, bytes.data(), bytes.size());
  receive.pending->end(TransferFault::None, receive.peer, bytes.size());
}

std::span<std::byte> Mail::place_of(const Header& header, std::size_t count) {
  if (header.kind == Header::Kind::Message) {
    const std::multimap<std::uint64_t, Incoming>::iterator found = posted_.lower_bound(header.first);
    if (found == posted_.end() || found->first != header.first || count > found->second.count) return {};
    return {found->second.bytes, count};
  }
  if (header.kind != Header::Kind::Piece) return {};
  const std::unordered_map<std::uint64_t, Incoming>::iterator found = incoming_.find(header.first);
  if (found == incoming_.end() || !has_room(found->second, header.second, count)) return {};
  return {found->second.bytes + header.second, count};
}

/// A message of several pieces has found its receive.
void Mail::begin(Incoming receive, std::uint64_t size, std::uint64_t number) {
  if (size > receive.count) {
    carrier_.carry(receive.peer, {Header::Kind::Wanted, -1, number, 0, 0}, {}, 0);
    return receive.pending->end(TransferFault::TooLong, receive.peer, 0);
  }
  receive.count = size;
  const std::uint64_t own_number = ++last_number_;
  incoming_.emplace(own_number, receive);
  carrier_.carry(receive.peer, {Header::Kind::Wanted, -1, number, own_number, 0}, {}, 0);
}

void Mail::on_message(const Header& header, std::span<const std::byte> bytes) {
  const std::multimap<std::uint64_t, Incoming>::iterator found = posted_.lower_bound(header.first);
  if (found == posted_.end() || found->first != header.first) {
    waiting_.emplace(header.first, Waiting{{bytes.begin(), bytes.end()}, 0, 0});
    return;
  }
  const Incoming receive = found->second;
  posted_.erase(found);
  take(receive, bytes);
}

void Mail::on_announce(const Header& header) {
  if (header.third == 0) return;  // no sender of ours numbers so
  const std::multimap<std::uint64_t, Incoming>::iterator found = posted_.lower_bound(header.first);
  if (found == posted_.end() || found->first != header.first) {
    waiting_.emplace(header.first, Waiting{{}, header.second, header.third});
    return;
  }
  const Incoming receive = found->second;
  posted_.erase(found);
  begin(receive, header.second, header.third);
}

void Mail::on_wanted(const Header& header) {
  const std::map<std::uint64_t, Outgoing>::iterator found = outgoing_.find(header.first);
  if (found == outgoing_.end() || found->second.peer != header.sender || found->second.next != 0 || found->second.receiver != 0) return;
  if (header.second == 0) return finish(found);
  found->second.receiver = header.second;
  wanted_.push_back(header.first);
}

void Mail::on_piece(const Header& header, std::span<const std::byte> bytes) {
  const std::unordered_map<std::uint64_t, Incoming>::iterator found = incoming_.find(header.first);
  if (found == incoming_.end() || !has_room(found->second, header.second, bytes.size())) return;
  Incoming& receive = found->second;
  if (bytes.data() != receive.bytes + header.second) std::memcpy(receive.bytes + header.second, bytes.data(), bytes.size());
  receive.arrived += bytes.size();
  if (receive.arrived < receive.count) return;
  receive.pending->end(TransferFault::None, receive.peer, receive.count);
  incoming_.erase(found);
}

void Mail::carried(std::uint64_t number, TransferFault fault) {
  const std::map<std::uint64_t, Outgoing>::iterator found = outgoing_.find(number);
  if (found == outgoing_.end()) return;
  Outgoing& outgoing = found->second;
  --outgoing.in_flight;
  if (outgoing.fault == TransferFault::None) outgoing.fault = fault;
  const bool ends = outgoing.fault != TransferFault::None || outgoing.next == outgoing.count;
  if (outgoing.in_flight == 0 && ends) finish(found);
}

void Mail::finish(std::map<std::uint64_t, Outgoing>::iterator outgoing) {
  const Outgoing& ended = outgoing->second;
  ended.pending->end(ended.fault, ended.peer, 0);
  outgoing_.erase(outgoing);
}

bool Mail::pump() {
  bool moved = false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const std::uint64_t number = wanted_[i];
    const std::map<std::uint64_t, Outgoing>::iterator found = outgoing_.find(number);
    if (found == outgoing_.end()) continue;
    Outgoing& outgoing = found->second;
    if (stream(number, outgoing)) moved = true;
    const bool ends = outgoing.fault != TransferFault::None || outgoing.next == outgoing.count;
    if (!ends) {
      wanted_[kept++] = number;
    } else if (outgoing.in_flight == 0) {
      finish(found);
    }
  }
  wanted_.resize(kept);
  return moved;
}

bool Mail::has_more() const {
  return std::any_of(wanted_.begin(), wanted_.end(), [this](std::uint64_t number) {
    const std::map<std::uint64_t, Outgoing>::const_iterator found = outgoing_.find(number);
    return found != outgoing_.end() && found->second.in_flight < kMostInFlight;
  });
}

/// Sends pieces until there is no room or it is the turn of others.
bool Mail::stream(std::uint64_t number, Outgoing& outgoing) {
  const std::size_t most = carrier_.piece_bytes(outgoing.peer);
  for (int turn = 0; turn < kMostPiecesATurn; ++turn) {
    if (outgoing.next == outgoing.count || outgoing.in_flight == kMostInFlight || outgoing.fault != TransferFault::None) return turn > 0;
    const std::span<const std::byte> piece(outgoing.bytes + outgoing.next, std::min(most, outgoing.count - outgoing.next));
    const Carried carried = carrier_.carry(outgoing.peer, {Header::Kind::Piece, -1, outgoing.receiver, outgoing.next, 0}, piece, number);
    outgoing.next += piece.size();
    if (carried == Carried::Later) ++outgoing.in_flight;
    if (carried == Carried::Lost) outgoing.fault = TransferFault::PeerLost;
  }
  return true;
}

void Mail::lose(int peer) {
  for (std::multimap<std::uint64_t, Incoming>::iterator at = posted_.begin(); at != posted_.end();) {
    if (at->second.peer == peer) at->second.pending->end(TransferFault::PeerLost, peer, 0);
    at = at->second.peer == peer ? posted_.erase(at) : std::next(at);
  }
  for (std::unordered_map<std::uint64_t, Incoming>::iterator at = incoming_.begin(); at != incoming_.end();) {
    if (at->second.peer == peer) at->second.pending->end(TransferFault::PeerLost, peer, 0);
    at = at->second.peer == peer ? incoming_.erase(at) : std::next(at);
  }
  std::erase_if(waiting_, [peer](const auto& waiting) { return sender_of(waiting.first) == peer; });
  for (std::map<std::uint64_t, Outgoing>::iterator at = outgoing_.begin(); at != outgoing_.end();) {
    const std::map<std::uint64_t, Outgoing>::iterator next = std::next(at);
    if (at->second.peer == peer) {
      at->second.fault = TransferFault::PeerLost;
      if (at->second.in_flight == 0) finish(at);
    }
    at = next;
  }
}

void Mail::end_all() {
  const auto fault_of = [this](int peer) { return carrier_.is_lost(peer) ? TransferFault::PeerLost : TransferFault::Cancelled; };
  for (const auto& [tag, receive] : posted_) receive.pending->end(fault_of(receive.peer), receive.peer, 0);
  for (const auto& [number, receive] : incoming_) receive.pending->end(fault_of(receive.peer), receive.peer, 0);
  for (const auto& [number, outgoing] : outgoing_) outgoing.pending->end(fault_of(outgoing.peer), outgoing.peer, 0);
  posted_.clear();
  incoming_.clear();
  outgoing_.clear();
  wanted_.clear();
}

}  // namespace resilin::dist::ucx
