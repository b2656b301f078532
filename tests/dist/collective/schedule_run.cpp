// tests/dist/collective/schedule_run.cpp -- the events of an execution, and who may use which memory at one time.
#include "tests/dist/collective/schedule_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "resilin/base/text.h"
#include "resilin/dist/collective/combine.h"

namespace resilin::dist::schedule_run {
namespace {

constexpr std::byte kEmpty{0xee};  // what nobody has written
constexpr std::byte kBeingWritten{0xdd};
constexpr std::size_t kGuard = 64;

bool overlaps(std::size_t begin, std::size_t end, std::size_t other_begin, std::size_t other_end) {
  return begin < other_end && other_begin < end && begin < end && other_begin < other_end;
}

}  // namespace

std::uint64_t input_bytes(const ScheduleKey& key) {
  const std::uint64_t own = key.elements * static_cast<std::uint64_t>(size_bytes(key.dtype));
  return key.kind == CollectiveKind::ReduceScatterSingle ? own * static_cast<std::uint64_t>(key.size) : own;
}

std::uint64_t output_bytes(const ScheduleKey& key) {
  const std::uint64_t own = key.elements * static_cast<std::uint64_t>(size_bytes(key.dtype));
  return key.kind == CollectiveKind::AllGatherSingle ? own * static_cast<std::uint64_t>(key.size) : own;
}

Result run(const Call& call, const std::vector<Schedule>& schedules, const std::vector<Bytes>& inputs, std::uint64_t seed) {
  return Runner(call, schedules, seed).run(inputs);
}

Runner::Runner(const Call& call, const std::vector<Schedule>& schedules, std::uint64_t seed)
    : call_(call), schedules_(schedules), chance_(seed), style_(seed % 6), slow_rank_(static_cast<int>(chance_.below(schedules.size()))) {}

Result Runner::run(const std::vector<Bytes>& inputs) {
  ranks_.resize(schedules_.size());
  for (int number = 0; number < call_.key.size; ++number) {
    Rank& one = rank(number);
    place(one, number, inputs[static_cast<std::size_t>(number)]);
    one.lanes.resize(schedule(number).lanes.size());
    one.receives_from.resize(schedules_.size());
    for (const std::vector<Round>& lane : schedule(number).lanes) {
      for (const Round& round : lane) {
        for (const Transfer& transfer : round.receives) one.receives_from[static_cast<std::size_t>(transfer.peer)] = true;
      }
    }
    one.missing = static_cast<std::size_t>(std::count(one.receives_from.begin(), one.receives_from.end(), true));
    events_.push_back({.kind = Kind::Begin, .rank = number});
  }
  while (!events_.empty() && result_.violation.empty()) {
    ++result_.events;
    happen(take());
  }
  if (result_.violation.empty()) check_end();
  return std::move(result_);
}

/// Input, Output and Scratch with guards between them; in place one lies in the other.
void Runner::place(Rank& one, int number, const Bytes& input) const {
  const std::size_t in = input_bytes(call_.key), out = output_bytes(call_.key);
  one.input = {kGuard, kGuard + in};
  one.output = {one.input.end + kGuard, one.input.end + kGuard + out};
  if (call_.in_place) {
    const std::size_t shift = static_cast<std::size_t>(number) * std::min(in, out);
    one.output = one.input = {kGuard, kGuard + std::max(in, out)};
    if (in < out) one.input = {kGuard + shift, kGuard + shift + in};
    if (out < in) one.output = {kGuard + shift, kGuard + shift + out};
  }
  const std::size_t end = std::max(one.input.end, one.output.end);
  one.scratch = {end + kGuard, end + kGuard + schedule(number).scratch_bytes};
  one.memory.assign(one.scratch.end + kGuard, kEmpty);
  std::copy(input.begin(), input.end(), one.memory.begin() + static_cast<std::ptrdiff_t>(one.input.begin));
  one.before = one.memory;
}

/// Some events are put off while there are others, in a way that depends on the seed.
Runner::Event Runner::take() {
  std::size_t pick = 0;
  for (int tries = 0; tries < 12; ++tries) {
    pick = style_ == 5 && !chance_.one_in(8) ? events_.size() - 1 : chance_.below(events_.size());
    if (!is_slow(events_[pick])) break;
  }
  const Event event = events_[pick];
  events_[pick] = events_.back();
  events_.pop_back();
  return event;
}

bool Runner::is_slow(const Event& event) const {
  switch (style_) {
    case 1: return event.kind == Kind::ReadSend;
    case 2: return event.kind == Kind::EndCombine;
    case 3: return event.rank == slow_rank_;
    case 4: return event.kind == Kind::Deliver;
    default: return false;
  }
}

void Runner::happen(const Event& event) {
  switch (event.kind) {
    case Kind::Begin: return begin(event.rank);
    case Kind::StartRound: return start_round(event.rank, event.lane);
    case Kind::ReadSend: return read_send(event);
    case Kind::Deliver: return deliver(event);
    case Kind::StartCombine: return start_combine(event.rank, event.lane);
    case Kind::EndCombine: return end_combine(event.rank, event.lane);
  }
}

/// The first frames of this rank go out; each rank starts when it has those of all it receives from.
void Runner::begin(int number) {
  rank(number).has_begun = true;
  for (int other = 0; other < call_.key.size; ++other) {
    Rank& peer = rank(other);
    if (peer.receives_from[static_cast<std::size_t>(number)]) --peer.missing;
    const bool starts = peer.has_begun && peer.missing == 0 && (other == number || peer.receives_from[static_cast<std::size_t>(number)]);
    if (!starts) continue;
    for (std::size_t lane = 0; lane < peer.lanes.size(); ++lane) next_round(other, static_cast<int>(lane));
    leave_if_done(other);
  }
}

void Runner::next_round(int number, int lane) {
  Lane& one = lane_of(number, lane);
  if (one.round == schedule(number).lanes[static_cast<std::size_t>(lane)].size()) {
    one.is_done = true;
    return leave_if_done(number);
  }
  one.is_settling = round_of(number, lane).settle && one.open_sends > 0;
  if (!one.is_settling) events_.push_back({.kind = Kind::StartRound, .rank = number, .lane = lane});
}

void Runner::start_round(int number, int lane) {
  Lane& one = lane_of(number, lane);
  const Round& round = round_of(number, lane);
  for (const Transfer& transfer : round.sends) {
    Way& to = way(number, transfer.peer, lane);
    const Event event{.kind = Kind::ReadSend, .rank = number, .lane = lane, .peer = transfer.peer, .message = to.sent++};
    Message& sent = message(to, event.message);
    sent.is_sent = true;
    sent.from = resolve(number, transfer.range);
    use(number, sent.from, false, owner_of(event));
    ++one.open_sends;
    events_.push_back(event);
  }
  for (const Transfer& transfer : round.receives) {
    Way& from = way(transfer.peer, number, lane);
    const Event event{.kind = Kind::Deliver, .rank = transfer.peer, .lane = lane, .peer = number, .message = from.received++};
    Message& received = message(from, event.message);
    received.is_received = true;
    received.to = resolve(number, transfer.range);
    if (transfer.range.memory == Memory::Input) fail(cat("rank ", number, " receives into its input"));
    use(number, received.to, true, owner_of(event));
    scribble(number, received.to);
    ++one.open_receives;
    if (received.is_read) events_.push_back(event);
  }
  if (one.open_receives == 0) next_combine(number, lane);
}

void Runner::read_send(const Event& event) {
  Message& sent = message(way(event.rank, event.peer, event.lane), event.message);
  const Bytes& memory = rank(event.rank).memory;
  sent.bytes.assign(memory.begin() + static_cast<std::ptrdiff_t>(sent.from.begin),
                    memory.begin() + static_cast<std::ptrdiff_t>(sent.from.end));
  sent.is_read = true;
  release(event.rank, owner_of(event));
  if (sent.is_received) {
    events_.push_back({.kind = Kind::Deliver, .rank = event.rank, .lane = event.lane, .peer = event.peer, .message = event.message});
  }
  Lane& one = lane_of(event.rank, event.lane);
  if (--one.open_sends == 0 && one.is_settling) next_round(event.rank, event.lane);
  leave_if_done(event.rank);
}

void Runner::deliver(const Event& event) {
  Message& received = message(way(event.rank, event.peer, event.lane), event.message);
  if (received.bytes.size() != received.to.end - received.to.begin) {
    return fail(cat("rank ", event.peer, " expects ", received.to.end - received.to.begin, " bytes of rank ", event.rank, ", which sends ",
                    received.bytes.size()));
  }
  std::copy(received.bytes.begin(), received.bytes.end(), rank(event.peer).memory.begin() + static_cast<std::ptrdiff_t>(received.to.begin));
  release(event.peer, owner_of(event));
  if (--lane_of(event.peer, event.lane).open_receives == 0) next_combine(event.peer, event.lane);
}

void Runner::next_combine(int number, int lane) {
  Lane& one = lane_of(number, lane);
  const Round& round = round_of(number, lane);
  while (one.combine < round.combines.size() && is_idle(round.combines[one.combine], number)) ++one.combine;
  if (one.combine < round.combines.size()) {
    events_.push_back({.kind = Kind::StartCombine, .rank = number, .lane = lane});
    return;
  }
  one.combine = 0;
  ++one.round;
  next_round(number, lane);
}

/// A copy of memory onto itself.
bool Runner::is_idle(const Combine& combine, int number) {
  if (combine.from.size() != 1 || combine.from[0].peer != Source::kHere) return false;
  return resolve(number, combine.into).begin == resolve(number, combine.from[0].range).begin;
}

void Runner::start_combine(int number, int lane) {
  const Combine& combine = round_of(number, lane).combines[lane_of(number, lane).combine];
  const std::uint64_t owner = owner_of({.kind = Kind::EndCombine, .rank = number, .lane = lane});
  const Region into = resolve(number, combine.into);
  if (combine.into.memory == Memory::Input) fail(cat("rank ", number, " combines into its input"));
  bool is_own_source = false;
  for (const Source& source : combine.from) {
    if (source.range.bytes != combine.into.bytes) fail(cat("rank ", number, ": ranges of a combine differ in length"));
    const int whose = source.peer == Source::kHere ? number : source.peer;
    if (whose != source.peer && source.peer != Source::kHere) fail("unknown peer");
    if (source.peer != Source::kHere) {
      if (!schedule(number).reads_peers) fail(cat("rank ", number, " reads a peer's memory unannounced"));
      if (source.peer == number) fail(cat("rank ", number, " is its own peer"));
      if (!rank(number).receives_from[static_cast<std::size_t>(whose)]) fail(cat("rank ", number, " does not know rank ", whose));
      if (!rank(whose).has_begun || rank(whose).has_left) fail(cat("rank ", number, " reads the memory of absent rank ", whose));
    }
    const Region from = resolve(whose, source.range);
    if (whose == number && from.begin == into.begin) {
      is_own_source = true;
    } else if (whose == number && overlaps(from.begin, from.end, into.begin, into.end)) {
      fail(cat("rank ", number, ": a combine overlaps a part of what it reads"));
    }
    use(whose, from, false, owner);
  }
  use(number, into, true, owner);
  if (!is_own_source) scribble(number, into);
  events_.push_back({.kind = Kind::EndCombine, .rank = number, .lane = lane});
}

void Runner::end_combine(int number, int lane) {
  Lane& one = lane_of(number, lane);
  const Combine& combine = round_of(number, lane).combines[one.combine];
  std::vector<const std::byte*> from;
  for (const Source& source : combine.from) {
    const int whose = source.peer == Source::kHere ? number : source.peer;
    from.push_back(rank(whose).memory.data() + resolve(whose, source.range).begin);
  }
  const i64 count = static_cast<i64>(combine.into.bytes) / size_bytes(call_.key.dtype);
  dist::combine(call_.op, call_.key.dtype, rank(number).memory.data() + resolve(number, combine.into).begin, from, count,
                combine.is_final ? call_.key.size : 0);
  const std::uint64_t owner = owner_of({.kind = Kind::EndCombine, .rank = number, .lane = lane});
  for (int other = 0; other < call_.key.size; ++other) release(other, owner);
  ++one.combine;
  next_combine(number, lane);
}

void Runner::leave_if_done(int number) {
  Rank& one = rank(number);
  const bool is_done = std::all_of(one.lanes.begin(), one.lanes.end(), [](const Lane& l) { return l.is_done && l.open_sends == 0; });
  if (!is_done || !one.has_begun || one.missing != 0 || one.has_left) return;
  one.has_left = true;
  const bool all_have_begun = std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& other) { return other.has_begun; });
  if (!all_have_begun && call_.key.algorithm != Algorithm::Tree) fail(cat("rank ", number, " ends before all have begun"));
  if (!one.uses.empty()) fail(cat("rank ", number, " leaves while its memory is in use"));
}

void Runner::check_end() {
  for (int number = 0; number < call_.key.size; ++number) {
    Rank& one = rank(number);
    if (!one.has_left) return fail(cat("rank ", number, " waits for ever"));
    const std::ptrdiff_t begin = static_cast<std::ptrdiff_t>(one.output.begin), end = static_cast<std::ptrdiff_t>(one.output.end);
    result_.outputs.emplace_back(one.memory.begin() + begin, one.memory.begin() + end);
    const std::ptrdiff_t scratch = static_cast<std::ptrdiff_t>(one.scratch.begin);
    const bool is_kept = std::equal(one.memory.begin(), one.memory.begin() + begin, one.before.begin()) &&
                         std::equal(one.memory.begin() + end, one.memory.begin() + scratch, one.before.begin() + end) &&
                         std::all_of(one.memory.end() - kGuard, one.memory.end(), [](std::byte b) { return b == kEmpty; });
    if (!is_kept) return fail(cat("rank ", number, " has written outside its output and scratch"));
  }
  for (const auto& [ends, one] : ways_) {
    if (one.sent != one.received) {
      return fail(cat("rank ", std::get<0>(ends), " sends ", one.sent, " times to rank ", std::get<1>(ends), ", which receives ",
                      one.received, " times"));
    }
  }
}

Runner::Message& Runner::message(Way& way, std::size_t index) {
  if (way.messages.size() <= index) way.messages.resize(index + 1);
  return way.messages[index];
}

Runner::Region Runner::resolve(int number, const Range& range) {
  const Rank& one = rank(number);
  const Region& whole = range.memory == Memory::Input ? one.input : range.memory == Memory::Output ? one.output : one.scratch;
  const Region region{whole.begin + range.offset, whole.begin + range.offset + range.bytes};
  if (region.end > whole.end) {
    fail(cat("rank ", number, " goes beyond a memory of ", whole.end - whole.begin, " bytes: ", range.offset, " + ", range.bytes));
    return {whole.begin, whole.begin};
  }
  return region;
}

void Runner::use(int number, Region region, bool is_write, std::uint64_t owner) {
  Rank& one = rank(number);
  for (const Use& other : one.uses) {
    if (other.owner == owner || (!is_write && !other.is_write)) continue;
    if (overlaps(region.begin, region.end, other.region.begin, other.region.end)) {
      fail(cat("memory of rank ", number, " is used twice at a time: [", region.begin, ", ", region.end, is_write ? ") written" : ") read",
               " and [", other.region.begin, ", ", other.region.end, other.is_write ? ") written" : ") read"));
    }
  }
  one.uses.push_back({region, is_write, owner});
}

void Runner::release(int number, std::uint64_t owner) {
  std::erase_if(rank(number).uses, [&](const Use& one) { return one.owner == owner; });
}

void Runner::scribble(int number, Region region) {
  std::fill(rank(number).memory.begin() + static_cast<std::ptrdiff_t>(region.begin),
            rank(number).memory.begin() + static_cast<std::ptrdiff_t>(region.end), kBeingWritten);
}

void Runner::fail(std::string text) {
  if (result_.violation.empty()) result_.violation = std::move(text);
}

/// One number for each thing that uses memory for a time.
std::uint64_t Runner::owner_of(const Event& event) {
  return static_cast<std::uint64_t>(event.kind) << 60 | static_cast<std::uint64_t>(event.rank) << 48 |
         static_cast<std::uint64_t>(event.peer) << 36 | static_cast<std::uint64_t>(event.lane) << 24 | event.message;
}

}  // namespace resilin::dist::schedule_run
