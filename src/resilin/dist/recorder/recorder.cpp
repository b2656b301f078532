// src/resilin/dist/recorder/recorder.cpp -- recording: a ticket, a time, two cache lines.
#include "resilin/dist/recorder/recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/text.h"
#include "resilin/dist/recorder/recorder_file.h"
#include "resilin/dist/recorder/recording.h"

namespace resilin::dist {
namespace {

constexpr std::size_t kStoredWords = sizeof(StoredRecord) / 8;

std::uint32_t own_thread() {
  thread_local const std::uint32_t number = static_cast<std::uint32_t>(syscall(SYS_gettid));
  return number;
}

template <std::size_t N>
void copy_text(std::array<char, N>& to, const std::string& from) {
  std::memcpy(to.data(), from.data(), std::min(from.size(), N - 1));
}

void require_sizes(const RecorderOptions& options, std::size_t peers) {
  const bool fits = options.records > 0 && options.records <= kMostRecords && peers <= kMostPeers && options.group_slots > 0 &&
                    options.group_slots <= kMostGroupSlots && options.world > 0 && options.rank >= 0;
  if (fits) return;
  throw ArgumentError(cat("recorder: sizes are out of range: rank ", options.rank, " of ", options.world, ", ", options.records,
                          " records, ", peers, " peers, ", options.group_slots, " groups; records must be in 1..", kMostRecords,
                          ", peers at most ", kMostPeers, ", groups in 1..", kMostGroupSlots));
}

FileHeader make_header(const RecorderOptions& options, std::chrono::nanoseconds now) {
  const std::size_t peers = options.peers != 0 ? options.peers : static_cast<std::size_t>(std::max(options.world, options.rank + 1));
  require_sizes(options, peers);
  FileHeader header;
  header.rank = options.rank;
  header.world = options.world;
  header.peers = static_cast<std::uint32_t>(peers);
  header.group_slots = static_cast<std::uint32_t>(options.group_slots);
  header.group_members = static_cast<std::uint32_t>(peers);
  header.records = options.records;
  header.instance = options.instance;
  header.process = getpid();
  header.clock_domain = options.clock_domain;
  header.opened_ns = static_cast<std::uint64_t>(now.count());
  header.opened_wall_ns = static_cast<std::uint64_t>(options.wall_now.count());
  header.beat_interval_ns = static_cast<std::uint64_t>(options.beat_interval.count());
  copy_text(header.job, options.job);
  copy_text(header.host, options.host);
  copy_text(header.backend, options.backend);
  std::array<std::uint64_t, sizeof(FileHeader) / 8> words;
  std::memcpy(words.data(), &header, sizeof header);
  header.checksum = words_checksum(words.data(), words.size() - 1, kRecorderVersion);
  return header;
}

std::string hexadecimal(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i > 0; --i, value >>= 4) text[i - 1] = "0123456789abcdef"[value & 15];
  return text;
}

std::string file_path(const RecorderOptions& options) {
  ensure_directory(options.folder);
  return cat(options.folder, "/rank-", options.rank, ".", hexadecimal(options.instance), ".fr");
}

}  // namespace

struct Recorder::State {
  State(const RecorderOptions& options, Clock& its_clock)
      : clock(its_clock), header(make_header(options, its_clock.now())), file(file_path(options), header) {}

  std::uint64_t now_ns() const { return static_cast<std::uint64_t>(clock.now().count()); }
  bool has_peer(std::int32_t rank) const { return rank >= 0 && static_cast<std::uint32_t>(rank) < header.peers && !file.is_forked(); }
  GroupSlot slot(std::size_t index) const {
    GroupSlot slot;
    std::memcpy(static_cast<void*>(&slot), file.group_slot(index).data(), sizeof slot);
    return slot;
  }
  std::size_t slot_to_define() const;
  void count_up(std::uint64_t& word, std::uint64_t by) const { live_word(word).fetch_add(by, std::memory_order_relaxed); }

  Clock& clock;
  FileHeader header;
  RecorderFile file;
  std::mutex groups_mutex;  // guards the slots of groups
};

/// A free one, else the oldest definition of the lowest generation.
std::size_t Recorder::State::slot_to_define() const {
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < header.group_slots; ++i) {
    const GroupSlot candidate = slot(i), best = slot(oldest);
    if (candidate.serial == 0) return i;
    if (std::pair(candidate.generation, candidate.serial) < std::pair(best.generation, best.serial)) oldest = i;
  }
  return oldest;
}

Recorder::Recorder(const RecorderOptions& options, Clock& clock) : state_(std::make_unique<State>(options, clock)) {}

Recorder::~Recorder() { end(static_cast<std::uint64_t>(RecordingEnd::Closed)); }

const std::string& Recorder::path() const { return state_->file.path(); }

void Recorder::define_group(const RecordedGroup& group) {
  if (state_->file.is_forked()) return;
  if (group.members.size() > state_->header.group_members) {
    throw ArgumentError(cat("recorder: group ", group.name, " has ", group.members.size(), " members; the file has room for ",
                            state_->header.group_members));
  }
  GroupSlot slot;
  slot.generation = group.generation;
  slot.group = group.group;
  slot.members = static_cast<std::uint32_t>(group.members.size());
  copy_text(slot.name, group.name);
  copy_text(slot.description, group.description);

  const std::lock_guard<std::mutex> lock(state_->groups_mutex);
  slot.serial = live_word(state_->file.live().groups_defined).fetch_add(1, std::memory_order_relaxed) + 1;
  const std::span<std::uint64_t> target = state_->file.group_slot(state_->slot_to_define());
  std::vector<std::uint64_t> words(target.size());
  std::memcpy(words.data(), &slot, sizeof slot);
  if (!group.members.empty()) {
    std::memcpy(words.data() + sizeof slot / 8, group.members.data(), group.members.size() * sizeof(std::int32_t));
  }
  words[0] = words_checksum(words.data() + 1, words.size() - 1, state_->header.instance);
  for (std::size_t i = 0; i < words.size(); ++i) live_word(target[i]).store(words[i], std::memory_order_relaxed);
}

void Recorder::append(Record& record) noexcept {
  if (state_->file.is_forked()) return;
  const std::uint64_t ticket = live_word(state_->file.live().next_ticket).fetch_add(1, std::memory_order_relaxed) + 1;
  if (record.kind == RecordKind::Issued) record.work = ticket;
  record.time_ns = state_->now_ns();
  record.thread = own_thread();
  std::array<std::uint64_t, kStoredWords> words;
  words[1] = ticket;
  std::memcpy(&words[2], &record, sizeof record);
  words[0] = words_checksum(&words[1], kStoredWords - 1, state_->header.instance);
  std::uint64_t* const slot = state_->file.record_slot((ticket - 1) % state_->header.records);
  for (std::size_t i = 1; i < kStoredWords; ++i) live_word(slot[i]).store(words[i], std::memory_order_relaxed);
  live_word(slot[0]).store(words[0], std::memory_order_release);
}

void Recorder::append(RecordKind kind, const WorkMark& mark, std::uint8_t detail) noexcept {
  if (mark.work == 0 || state_->file.is_forked()) return;
  if (mark.epoch != live_word(state_->file.live().epoch).load(std::memory_order_relaxed)) return;
  Record record;
  record.kind = kind;
  record.detail = detail;
  record.work = mark.work;
  record.generation = mark.generation;
  record.sequence = mark.sequence;
  record.group = mark.group;
  record.epoch = mark.epoch;
  record.op = mark.op;
  append(record);
}

WorkMark Recorder::issue(const IssuedWork& work) noexcept {
  if (state_->file.is_forked()) return {};
  Record record;
  record.epoch = static_cast<std::uint32_t>(live_word(state_->file.live().epoch).load(std::memory_order_relaxed));
  record.sequence = work.sequence;
  record.generation = work.generation;
  record.signature = work.signature;
  record.value = work.bytes;
  record.group = work.group;
  record.peer = work.peer;
  record.root = work.root;
  record.timeout_ms = work.timeout_ms;
  record.op = work.op;
  record.dtype = work.dtype;
  record.reduce = work.reduce;
  record.tensors = work.tensors;
  record.input_elements = work.input_elements;
  record.output_elements = work.output_elements;
  record.axes = static_cast<std::uint8_t>(std::min<std::size_t>(work.dims.size(), std::numeric_limits<std::uint8_t>::max()));
  std::uint64_t folded = 1;
  for (std::size_t i = 0; i < work.dims.size(); ++i) {
    folded = i < kRecordedDims ? static_cast<std::uint64_t>(work.dims[i]) : folded * static_cast<std::uint64_t>(work.dims[i]);
    record.dims[std::min(i, kRecordedDims - 1)] =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(folded, std::numeric_limits<std::uint32_t>::max()));
  }
  append(record);
  return {record.work, record.generation, record.sequence, record.group, record.epoch, record.op};
}

void Recorder::start(const WorkMark& mark) noexcept { append(RecordKind::Started, mark, 0); }
void Recorder::finish(const WorkMark& mark, RecordedStatus status) noexcept {
  append(RecordKind::Finished, mark, static_cast<std::uint8_t>(status));
}
void Recorder::begin_wait(const WorkMark& mark) noexcept { append(RecordKind::WaitBegan, mark, 0); }
void Recorder::end_wait(const WorkMark& mark) noexcept { append(RecordKind::WaitEnded, mark, 0); }

void Recorder::begin_peer_wait(std::int32_t peer, const WorkMark& mark) noexcept {
  if (!state_->has_peer(peer)) return;
  PeerState& row = state_->file.peer(static_cast<std::size_t>(peer));
  if (live_word(row.waits).fetch_add(1, std::memory_order_relaxed) != 0) return;
  live_word(row.waiting_since_ns).store(state_->now_ns(), std::memory_order_relaxed);
  live_word(row.waiting_work).store(mark.work, std::memory_order_relaxed);
}

void Recorder::end_peer_wait(std::int32_t peer) noexcept {
  if (!state_->has_peer(peer)) return;
  const std::atomic_ref<std::uint64_t> waits = live_word(state_->file.peer(static_cast<std::size_t>(peer)).waits);
  // A reset may have come in between: never below none.
  std::uint64_t count = waits.load(std::memory_order_relaxed);
  while (count != 0 && !waits.compare_exchange_weak(count, count - 1, std::memory_order_relaxed)) {}
}

void Recorder::count_sent(std::int32_t peer, std::uint64_t bytes) noexcept {
  if (state_->has_peer(peer)) state_->count_up(state_->file.peer(static_cast<std::size_t>(peer)).sent_bytes, bytes);
}

void Recorder::count_received(std::int32_t peer, std::uint64_t bytes) noexcept {
  if (!state_->has_peer(peer)) return;
  PeerState& row = state_->file.peer(static_cast<std::size_t>(peer));
  state_->count_up(row.received_bytes, bytes);
  live_word(row.heard_ns).store(state_->now_ns(), std::memory_order_relaxed);
}

void Recorder::lose_peer(std::int32_t peer, LossEvidence evidence, std::uint64_t generation) noexcept {
  if (state_->file.is_forked()) return;
  Record record;
  record.kind = RecordKind::PeerLost;
  record.peer = peer;
  record.generation = generation;
  record.detail = static_cast<std::uint8_t>(evidence);
  record.epoch = static_cast<std::uint32_t>(live_word(state_->file.live().epoch).load(std::memory_order_relaxed));
  append(record);
}

void Recorder::begin_step(std::uint64_t step) noexcept {
  if (state_->file.is_forked()) return;
  live_word(state_->file.live().step).store(step, std::memory_order_relaxed);
  Record record;
  record.kind = RecordKind::Step;
  record.value = step;
  record.epoch = static_cast<std::uint32_t>(live_word(state_->file.live().epoch).load(std::memory_order_relaxed));
  append(record);
}

void Recorder::change_membership(const MembershipEvent& event) noexcept {
  if (state_->file.is_forked()) return;
  Record record;
  record.kind = RecordKind::Membership;
  record.detail = static_cast<std::uint8_t>(event.phase);
  record.generation = event.generation;
  record.value = event.incident;
  record.peer = event.culprit;
  record.epoch = static_cast<std::uint32_t>(live_word(state_->file.live().epoch).load(std::memory_order_relaxed));
  append(record);
}

void Recorder::revoke(std::uint64_t generation, std::int32_t origin, std::uint64_t incident) noexcept {
  if (state_->file.is_forked()) return;
  Record record;
  record.kind = RecordKind::Revoked;
  record.generation = generation;
  record.peer = origin;
  record.value = incident;
  record.epoch = static_cast<std::uint32_t>(live_word(state_->file.live().epoch).load(std::memory_order_relaxed));
  append(record);
}

void Recorder::beat() noexcept {
  if (state_->file.is_forked()) return;
  live_word(state_->file.live().beat_ns).store(state_->now_ns(), std::memory_order_relaxed);
}

void Recorder::leave() noexcept { end(static_cast<std::uint64_t>(RecordingEnd::Left)); }

void Recorder::end(std::uint64_t ending) noexcept {
  if (state_->file.is_forked()) return;
  LiveState& live = state_->file.live();
  if (live_word(live.ending).load(std::memory_order_relaxed) != 0) return;
  live_word(live.ended_ns).store(state_->now_ns(), std::memory_order_relaxed);
  live_word(live.ending).store(ending, std::memory_order_release);
}

void Recorder::reset() noexcept {
  if (state_->file.is_forked()) return;
  live_word(state_->file.live().epoch).fetch_add(1, std::memory_order_relaxed);
  for (std::size_t rank = 0; rank < state_->header.peers; ++rank) {
    live_word(state_->file.peer(rank).waits).store(0, std::memory_order_relaxed);
  }
}

bool Recorder::save(const char* path) const noexcept {
  if (state_->file.is_forked()) return false;
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  std::span<const std::byte> rest = state_->file.mapping();
  while (!rest.empty()) {
    const ssize_t written = write(descriptor, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    rest = rest.subspan(static_cast<std::size_t>(written));
  }
  return close(descriptor) == 0 && rest.empty();
}

std::string Recorder::bytes() const {
  if (state_->file.is_forked()) return {};
  const std::span<const std::byte> mapping = state_->file.mapping();
  std::string copy(mapping.size(), '\0');
  for (std::size_t at = 0; at < mapping.size(); at += 8) {
    // The mapping is writable; atomic_ref of const words does not exist.
    std::uint64_t& word = *reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(mapping.data() + at));
    const std::uint64_t value = live_word(word).load(std::memory_order_relaxed);
    std::memcpy(copy.data() + at, &value, sizeof value);
  }
  return copy;
}

}  // namespace resilin::dist
