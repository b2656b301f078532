// src/resilin/dist/collective/execution.cpp -- first frames, rounds and combines, each as soon as it can be done.
#include "resilin/dist/collective/execution.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/collective/combine.h"
#include "resilin/dist/collective/peer_memory.h"

namespace resilin::dist {
namespace {

/// Bytes of one step of a combine: the transport is looked after between two.
constexpr std::uint64_t kSliceBytes = 1 << 20;
/// Bytes of a peer's memory that are fetched and combined while they are in the cache.
constexpr std::uint64_t kBlockBytes = 128 << 10;

void add_once(std::vector<int>& peers, int peer) {
  if (std::ranges::find(peers, peer) == peers.end()) peers.push_back(peer);
}

/// What of a first round rides with a peer's frame: a transfer of at most kInlineBytes, when it is the only one with that peer.
std::vector<Transfer> inline_of(const std::vector<int>& peers, const std::vector<Transfer>& transfers) {
  std::vector<Transfer> result;
  for (const int peer : peers) {
    Transfer chosen{.peer = peer, .range = {}};
    const auto with_peer = [peer](const Transfer& transfer) { return transfer.peer == peer; };
    const std::vector<Transfer>::const_iterator at = std::ranges::find_if(transfers, with_peer);
    if (at != transfers.end() && at->range.bytes <= kInlineBytes && std::ranges::count_if(transfers, with_peer) == 1) chosen = *at;
    result.push_back(chosen);
  }
  return result;
}

bool rides_inline(const std::vector<Transfer>& inlined, const Transfer& transfer) {
  return std::ranges::any_of(
      inlined, [&](const Transfer& one) { return one.peer == transfer.peer && one.range == transfer.range && one.range.bytes > 0; });
}

}  // namespace

PreparedSchedule::PreparedSchedule(Schedule of) : schedule(std::move(of)) {
  for (const std::vector<Round>& lane : schedule.lanes) {
    for (const Round& round : lane) {
      for (const Transfer& transfer : round.sends) add_once(targets, transfer.peer);
      for (const Transfer& transfer : round.receives) add_once(sources, transfer.peer);
    }
  }
  const bool has_rounds = !schedule.lanes.empty() && !schedule.lanes[0].empty();
  inline_sends = inline_of(targets, has_rounds ? schedule.lanes[0][0].sends : std::vector<Transfer>{});
  inline_receives = inline_of(sources, has_rounds ? schedule.lanes[0][0].receives : std::vector<Transfer>{});
}

void Execution::start(ExecutionJob job) {
  RESILIN_ASSERT(is_quiet(), "an execution is used again while it runs");
  job_ = std::move(job);
  fault_ = {};
  stage_ = Stage::Frames;
  const PreparedSchedule& prepared = *job_.prepared;
  frames_.resize(std::max(frames_.size(), (prepared.targets.size() + prepared.sources.size()) * kFrameBytes));
  scratch_.resize(std::max<std::size_t>(scratch_.size(), prepared.schedule.scratch_bytes));
  memory_.assign(prepared.sources.size(), {});
  frame_sends_ = {};
  frame_receives_.assign(prepared.sources.size(), {});
  lanes_.assign(prepared.schedule.lanes.size(), {});
  for (std::size_t i = 0; i < prepared.sources.size(); ++i) {
    std::byte* frame = frame_of(prepared.targets.size() + i);
    transport_.receive(prepared.sources[i], job_.frame_tag, {frame, kFrameBytes}, frame_receives_[i]);
  }
  send_frames();
}

void Execution::send_frames() {
  const PreparedSchedule& prepared = *job_.prepared;
  FirstFrame header{.generation = job_.generation, .sequence = job_.sequence, .signature = job_.signature};
  if (prepared.schedule.reads_peers) {
    header.memory = {.process = own_process(),
                     .input = reinterpret_cast<std::uint64_t>(job_.input.data()),
                     .output = reinterpret_cast<std::uint64_t>(job_.output.data()),
                     .scratch = reinterpret_cast<std::uint64_t>(scratch_.data())};
  }
  for (std::size_t i = 0; i < prepared.targets.size(); ++i) {
    const Range& range = prepared.inline_sends[i].range;
    header.payload_bytes = range.bytes;
    seal(header);
    std::byte* frame = frame_of(i);
    std::memcpy(frame, &header, sizeof header);
    if (range.bytes != 0) std::memcpy(frame + sizeof header, address(range), range.bytes);
    transport_.send(prepared.targets[i], job_.frame_tag, {frame, sizeof header + range.bytes}, frame_sends_);
  }
}

bool Execution::step() {
  busy_ = false;
  if (fault_.kind != ExecutionFault::Kind::None) return true;
  if (stage_ == Stage::Frames && take_frames()) stage_ = Stage::Lanes;
  if (stage_ == Stage::Lanes) {
    bool all_done = true;
    for (std::size_t number = 0; number < lanes_.size(); ++number) all_done = step_lane(number) && all_done;
    if (all_done) stage_ = Stage::Sends;
  }
  if (stage_ == Stage::Sends && is_quiet() && check(frame_sends_)) {
    if (std::ranges::all_of(lanes_, [this](const Lane& lane) { return check(lane.sends); })) stage_ = Stage::Done;
  }
  return stage_ == Stage::Done || fault_.kind != ExecutionFault::Kind::None;
}

bool Execution::is_quiet() const {
  const auto quiet = [](const Pending& pending) { return pending.is_done(); };
  return frame_sends_.is_done() && std::ranges::all_of(frame_receives_, quiet) &&
         std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.sends.is_done() && lane.receives.is_done(); });
}

std::vector<int> Execution::awaited() const {
  std::vector<int> peers;
  if (stage_ == Stage::Frames) {
    for (std::size_t i = 0; i < frame_receives_.size(); ++i) {
      if (!frame_receives_[i].is_done()) peers.push_back(job_.prepared->sources[i]);
    }
  } else if (stage_ == Stage::Lanes) {
    for (std::size_t number = 0; number < lanes_.size(); ++number) {
      const Lane& lane = lanes_[number];
      if (!lane.posted || lane.receives.is_done()) continue;
      for (const Transfer& transfer : job_.prepared->schedule.lanes[number][lane.round].receives) add_once(peers, transfer.peer);
    }
  }
  return peers;
}

bool Execution::take_frames() {
  bool all_done = true;
  for (const Pending& pending : frame_receives_) {
    if (!check(pending)) return false;
    all_done = all_done && pending.is_done();
  }
  if (!all_done || !check(frame_sends_)) return false;
  for (std::size_t i = 0; i < frame_receives_.size(); ++i) {
    if (!check_frame(i)) return false;
  }
  return true;
}

bool Execution::check_frame(std::size_t source) {
  const PreparedSchedule& prepared = *job_.prepared;
  const int peer = prepared.sources[source];
  const std::byte* frame = frame_of(prepared.targets.size() + source);
  const std::uint64_t bytes = frame_receives_[source].received_bytes;
  FirstFrame header;
  if (bytes < sizeof header) return fail(ExecutionFault::Kind::Damaged, peer, cat("its first frame has ", bytes, " bytes"));
  std::memcpy(&header, frame, sizeof header);
  const std::string damage = damage_of(header, job_.generation);
  if (!damage.empty()) return fail(ExecutionFault::Kind::Damaged, peer, cat("its first frame is damaged: ", damage));
  if (header.signature != job_.signature) return fail(ExecutionFault::Kind::Mismatch, peer, print_signature(header.signature));
  const Range& range = prepared.inline_receives[source].range;
  if (header.sequence != job_.sequence || header.payload_bytes != range.bytes || bytes != sizeof header + range.bytes) {
    return fail(ExecutionFault::Kind::Damaged, peer,
                cat("number ", header.sequence, " with ", header.payload_bytes, " bytes in a message of ", bytes));
  }
  if (range.bytes != 0) std::memcpy(address(range), frame + sizeof header, range.bytes);
  memory_[source] = header.memory;
  return true;
}

bool Execution::step_lane(std::size_t number) {
  const std::vector<Round>& rounds = job_.prepared->schedule.lanes[number];
  Lane& lane = lanes_[number];
  while (lane.round < rounds.size()) {
    const Round& round = rounds[lane.round];
    if (!check(lane.sends) || !check(lane.receives)) return false;
    if (!lane.posted) {
      if (round.settle && !(lane.sends.is_done() && frame_sends_.is_done())) return false;
      post_round(number);
    }
    if (!check(lane.receives)) return false;
    if (!lane.receives.is_done() || !run_combines(lane, round)) return false;
    ++lane.round;
    lane.posted = false;
    lane.combine = 0;
  }
  return true;
}

void Execution::post_round(std::size_t number) {
  const PreparedSchedule& prepared = *job_.prepared;
  Lane& lane = lanes_[number];
  const Round& round = prepared.schedule.lanes[number][lane.round];
  const bool may_be_inline = number == 0 && lane.round == 0;
  Tag tag = job_.payload_tag;
  tag.number += number;
  for (const Transfer& transfer : round.receives) {
    if (may_be_inline && rides_inline(prepared.inline_receives, transfer)) continue;
    transport_.receive(transfer.peer, tag, {address(transfer.range), transfer.range.bytes}, lane.receives);
  }
  for (const Transfer& transfer : round.sends) {
    if (may_be_inline && rides_inline(prepared.inline_sends, transfer)) continue;
    transport_.send(transfer.peer, tag, {address(transfer.range), transfer.range.bytes}, lane.sends);
  }
  lane.posted = true;
}

bool Execution::run_combines(Lane& lane, const Round& round) {
  std::uint64_t budget = kSliceBytes;
  for (; lane.combine < round.combines.size(); ++lane.combine, lane.combined_bytes = 0) {
    const Combine& part = round.combines[lane.combine];
    while (lane.combined_bytes < part.into.bytes) {
      if (budget == 0) {
        busy_ = true;
        return false;
      }
      const std::uint64_t bytes = std::min({part.into.bytes - lane.combined_bytes, kBlockBytes, budget});
      if (!run_slice(part, lane.combined_bytes, bytes)) return false;
      lane.combined_bytes += bytes;
      budget -= bytes;
    }
  }
  return true;
}

bool Execution::run_slice(const Combine& part, std::uint64_t offset, std::uint64_t bytes) {
  const PreparedSchedule& prepared = *job_.prepared;
  std::byte* into = address(part.into, offset);
  const bool is_copy = part.from.size() == 1;
  const bool averages = part.is_final && job_.average_over > 0;
  if (fetched_.size() < part.from.size() * kBlockBytes) fetched_.resize(part.from.size() * kBlockBytes);
  std::vector<const std::byte*>& from = from_;
  from.resize(part.from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Source& source = part.from[i];
    if (source.peer == Source::kHere) {
      from[i] = address(source.range, offset);
      continue;
    }
    const std::size_t at = static_cast<std::size_t>(std::ranges::find(prepared.sources, source.peer) - prepared.sources.begin());
    const MemoryAddresses& memory = memory_[at];
    const std::uint64_t base = source.range.memory == Memory::Input    ? memory.input
                               : source.range.memory == Memory::Output ? memory.output
                                                                       : memory.scratch;
    std::byte* fetched = is_copy && !averages ? into : fetched_.data() + i * kBlockBytes;
    if (!read_process_memory(memory.process, base + source.range.offset + offset, {fetched, bytes})) {
      return fail(ExecutionFault::Kind::PeerLost, source.peer, "its memory cannot be read any more");
    }
    from[i] = fetched;
  }
  if (is_copy && !averages) {
    if (from[0] != into) std::memmove(into, from[0], bytes);
    return true;
  }
  const std::int64_t count = static_cast<std::int64_t>(bytes) / size_bytes(job_.signature.dtype);
  combine(job_.signature.op, job_.signature.dtype, into, from, count, averages ? job_.average_over : 0);
  return true;
}

bool Execution::check(const Pending& pending) {
  switch (pending.fault) {
    case TransferFault::None: return true;
    case TransferFault::PeerLost: return fail(ExecutionFault::Kind::PeerLost, pending.faulty_peer, "its connection is gone");
    case TransferFault::TooLong: return fail(ExecutionFault::Kind::Damaged, pending.faulty_peer, "its message is longer than announced");
    case TransferFault::Cancelled: return fail(ExecutionFault::Kind::Cancelled, pending.faulty_peer, "the transport was closed");
  }
  return true;
}

bool Execution::fail(ExecutionFault::Kind kind, int peer, std::string text) {
  if (fault_.kind == ExecutionFault::Kind::None) fault_ = {kind, peer, std::move(text)};
  return false;
}

std::byte* Execution::address(const Range& range, std::uint64_t offset) const {
  std::byte* base = range.memory == Memory::Input    ? const_cast<std::byte*>(job_.input.data())  // schedules never write inputs
                    : range.memory == Memory::Output ? job_.output.data()
                                                     : const_cast<std::byte*>(scratch_.data());
  return base + range.offset + offset;
}

}  // namespace resilin::dist
