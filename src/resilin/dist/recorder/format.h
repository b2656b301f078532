// src/resilin/dist/recorder/format.h -- Internal: how a recorder file is laid out: header, live state, peers, groups, records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "resilin/dist/recorder/record.h"

namespace resilin::dist {

/// "RSLNREC" and a zero when read as bytes.
inline constexpr std::uint64_t kRecorderMagic = 0x004345524e4c5352ull;
/// Grows whenever bytes of the file change their meaning.
inline constexpr std::uint32_t kRecorderVersion = 1;

/// Written once, before the file has its name.
struct FileHeader {
  std::uint64_t magic = kRecorderMagic;
  std::uint32_t version = kRecorderVersion;
  std::int32_t rank = 0;
  std::int32_t world = 0;
  std::uint32_t peers = 0;  // rows of the table of peers
  std::uint32_t group_slots = 0;
  std::uint32_t group_members = 0;  // a slot has room for so many
  std::uint64_t records = 0;
  std::uint64_t instance = 0;
  std::int64_t process = 0;
  std::uint64_t clock_domain = 0;  // recordings of equal domain read one clock; 0: unknown
  std::uint64_t opened_ns = 0;     // of the recording's clock
  std::uint64_t opened_wall_ns = 0;
  std::uint64_t beat_interval_ns = 0;  // 0: this process does not beat
  std::array<char, 64> job = {};
  std::array<char, 64> host = {};
  std::array<char, 16> backend = {};
  std::uint64_t checksum = 0;  // of all before
};
inline constexpr std::size_t kHeaderRoom = 512;
static_assert(sizeof(FileHeader) <= kHeaderRoom && std::is_trivially_copyable_v<FileHeader>);

/// Words that change all the time, each by itself.
struct LiveState {
  std::uint64_t next_ticket = 0;
  std::array<std::uint64_t, 7> apart = {};  // every event changes the ticket and reads the epoch: not in one cache line
  std::uint64_t epoch = 0;
  std::uint64_t beat_ns = 0;
  std::uint64_t step = 0;
  std::uint64_t ending = 0;  // RecordingEnd
  std::uint64_t ended_ns = 0;
  std::uint64_t groups_defined = 0;
  std::array<std::uint64_t, 2> unused = {};
};
static_assert(sizeof(LiveState) == 128);

/// What passes between this rank and one other.
struct PeerState {
  std::uint64_t waits = 0;  // Works that wait for this peer now
  std::uint64_t waiting_since_ns = 0;
  std::uint64_t waiting_work = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t heard_ns = 0;  // the last bytes, or beat, that came from it
  std::array<std::uint64_t, 2> unused = {};
};
static_assert(sizeof(PeerState) == 64);

/// A group's definition; `members` ranks follow as i32. A slot whose checksum is wrong was torn.
struct GroupSlot {
  std::uint64_t checksum = 0;  // of what follows and of the members
  std::uint64_t generation = 0;
  std::uint64_t serial = 0;  // order of definition
  std::uint32_t group = 0;
  std::uint32_t members = 0;
  std::array<char, 32> name = {};
  std::array<char, 32> description = {};
};
static_assert(sizeof(GroupSlot) == 96);

/// A record with its guard.
struct StoredRecord {
  std::uint64_t checksum = 0;  // of ticket and record, seeded by the instance
  std::uint64_t ticket = 0;    // from 1 on; 0 is a slot that nobody wrote
  Record record;
};
static_assert(sizeof(StoredRecord) == 128 && std::is_trivially_copyable_v<StoredRecord>);

/// Where the parts begin, in bytes.
struct FileLayout {
  std::size_t live = kHeaderRoom;
  std::size_t peers = 0;
  std::size_t groups = 0;
  std::size_t group_slot = 0;  // size of one
  std::size_t records = 0;
  std::size_t total = 0;
};

/// The most that a file may announce, so that sizes cannot overflow.
inline constexpr std::uint64_t kMostRecords = 1u << 24;
inline constexpr std::uint32_t kMostPeers = 1u << 20;
inline constexpr std::uint32_t kMostGroupSlots = 1u << 12;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

/// The counts of the header are within the limits.
constexpr FileLayout layout_of(const FileHeader& header) {
  FileLayout layout;
  layout.peers = layout.live + sizeof(LiveState);
  layout.groups = layout.peers + header.peers * sizeof(PeerState);
  layout.group_slot = round_up(sizeof(GroupSlot) + header.group_members * sizeof(std::int32_t), 64);
  layout.records = round_up(layout.groups + header.group_slots * layout.group_slot, sizeof(StoredRecord));
  layout.total = layout.records + static_cast<std::size_t>(header.records) * sizeof(StoredRecord);
  return layout;
}

/// A checksum that finds words of another moment. Four chains, so that the multiplications overlap.
inline std::uint64_t words_checksum(const std::uint64_t* words, std::size_t count, std::uint64_t seed) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ull;
  std::array<std::uint64_t, 4> chain = {seed, seed ^ 0xd6e8feb86659fd93ull, ~seed, seed + kFactor};
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t& sum = chain[i % 4];
    sum = (sum ^ words[i]) * kFactor;
    sum ^= sum >> 32;
  }
  std::uint64_t sum = chain[0];
  for (std::size_t i = 1; i < 4; ++i) sum = (sum ^ chain[i]) * kFactor ^ (sum >> 29);
  return sum;
}

}  // namespace resilin::dist
