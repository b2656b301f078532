// src/resilin/dist/recorder/recording.cpp -- reading recorder files, whoever wrote them and however they ended.
#include "resilin/dist/recorder/recording.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/text.h"
#include "resilin/dist/recorder/format.h"

namespace resilin::dist {
namespace {

template <class T>
T read_at(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(static_cast<void*>(&value), bytes.data() + offset, sizeof value);
  return value;
}

template <std::size_t N>
std::string text_of(const std::array<char, N>& characters) {
  return std::string(characters.begin(), std::find(characters.begin(), characters.end(), '\0'));
}

[[noreturn]] void fail(const std::string& source, const std::string& what) {
  throw DistError(cat("recorder: ", source, ": ", what, "; a recorder file must be whole"));
}

FileHeader read_header(std::string_view bytes, const std::string& source) {
  if (bytes.size() < 12 || read_at<std::uint64_t>(bytes, 0) != kRecorderMagic) fail(source, "this is no recorder file");
  const std::uint32_t version = read_at<std::uint32_t>(bytes, offsetof(FileHeader, version));
  if (version != kRecorderVersion) {
    throw VersionError(
        cat("recorder: ", source, ": written by version ", version, " of the format; this program reads version ", kRecorderVersion));
  }
  if (bytes.size() < kHeaderRoom) fail(source, cat("the header is cut off after ", bytes.size(), " bytes"));
  const FileHeader header = read_at<FileHeader>(bytes, 0);
  std::array<std::uint64_t, sizeof(FileHeader) / 8> words;
  std::memcpy(words.data(), &header, sizeof header);
  if (words_checksum(words.data(), words.size() - 1, kRecorderVersion) != header.checksum) fail(source, "the header is damaged");
  if (header.records == 0 || header.records > kMostRecords || header.peers > kMostPeers || header.group_members > kMostPeers ||
      header.group_slots > kMostGroupSlots || header.rank < 0 || header.world < 1) {
    fail(source, "the header says what cannot be");
  }
  const std::size_t total = layout_of(header).total;
  if (bytes.size() < total) fail(source, cat("cut off after ", bytes.size(), " of ", total, " bytes"));
  return header;
}

/// Numbers that index a list of names, or are one of few, must be so: all else in a record may be anything.
bool is_sound(const Record& record) {
  if (name_of(record.kind) == "?" || name_of(record.op) == "?" || name_of(record.reduce) == "?") return false;
  if (static_cast<int>(record.dtype) >= kDTypeCount) return false;
  if (record.kind == RecordKind::Finished) return name_of(record.status()) != "?";
  if (record.kind == RecordKind::Membership) return name_of(record.phase()) != "?";
  if (record.kind == RecordKind::PeerLost) return name_of(record.evidence()) != "?";
  return true;
}

void read_records(std::string_view bytes, const FileHeader& header, Recording& recording) {
  const FileLayout layout = layout_of(header);
  const std::uint64_t handed_out = read_at<LiveState>(bytes, layout.live).next_ticket;
  std::vector<std::pair<std::uint64_t, Record>> found;
  std::uint64_t newest = 0;
  for (std::uint64_t index = 0; index < header.records; ++index) {
    const std::size_t offset = layout.records + index * sizeof(StoredRecord);
    std::array<std::uint64_t, sizeof(StoredRecord) / 8> words;
    std::memcpy(words.data(), bytes.data() + offset, sizeof words);
    const StoredRecord stored = read_at<StoredRecord>(bytes, offset);
    if (stored.ticket == 0 && stored.checksum == 0 && index >= handed_out) continue;
    const bool whole = words_checksum(&words[1], words.size() - 1, header.instance) == stored.checksum && stored.ticket != 0 &&
                       (stored.ticket - 1) % header.records == index && is_sound(stored.record);
    if (!whole) {
      ++recording.torn;
      continue;
    }
    newest = std::max(newest, stored.ticket);
    found.emplace_back(stored.ticket, stored.record);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  recording.overwritten = newest > header.records ? newest - header.records : 0;
  for (const auto& [ticket, record] : found) {
    // A ring's length older than the newest: its place was to be written when the process ended.
    if (ticket > recording.overwritten && record.epoch == recording.epoch) recording.records.push_back(record);
  }
}

void read_groups(std::string_view bytes, const FileHeader& header, Recording& recording) {
  const FileLayout layout = layout_of(header);
  std::map<std::uint64_t, RecordedGroup> by_serial;
  for (std::size_t index = 0; index < header.group_slots; ++index) {
    const std::size_t offset = layout.groups + index * layout.group_slot;
    std::vector<std::uint64_t> words(layout.group_slot / 8);
    std::memcpy(words.data(), bytes.data() + offset, layout.group_slot);
    const GroupSlot slot = read_at<GroupSlot>(bytes, offset);
    if (slot.serial == 0 && slot.checksum == 0) continue;
    if (words_checksum(words.data() + 1, words.size() - 1, header.instance) != slot.checksum || slot.members > header.group_members) {
      ++recording.torn;
      continue;
    }
    RecordedGroup group{slot.group, slot.generation, text_of(slot.name), text_of(slot.description), {}};
    for (std::size_t i = 0; i < slot.members; ++i) {
      group.members.push_back(read_at<std::int32_t>(bytes, offset + sizeof(GroupSlot) + i * sizeof(std::int32_t)));
    }
    by_serial.emplace(slot.serial, std::move(group));
  }
  for (auto& [serial, group] : by_serial) recording.groups.push_back(std::move(group));
}

void read_peers(std::string_view bytes, const FileHeader& header, Recording& recording) {
  const FileLayout layout = layout_of(header);
  for (std::size_t rank = 0; rank < header.peers; ++rank) {
    const PeerState row = read_at<PeerState>(bytes, layout.peers + rank * sizeof(PeerState));
    recording.peers.push_back({row.waits, row.waiting_since_ns, row.waiting_work, row.sent_bytes, row.received_bytes, row.heard_ns});
  }
}

}  // namespace

std::uint64_t Recording::last_sign_ns() const {
  std::uint64_t last = std::max(opened_ns, beat_ns);
  for (const Record& record : records) last = std::max(last, record.time_ns);
  return std::max(last, ended_ns);
}

const RecordedGroup* Recording::find_group(std::uint32_t group, std::uint64_t generation) const {
  const RecordedGroup* found = nullptr;
  for (const RecordedGroup& candidate : groups) {
    if (candidate.group == group && candidate.generation == generation) found = &candidate;
  }
  return found;
}

Recording read_recording(std::string_view bytes, const std::string& source) {
  const FileHeader header = read_header(bytes, source);
  const LiveState live = read_at<LiveState>(bytes, layout_of(header).live);
  if (live.ending > static_cast<std::uint64_t>(RecordingEnd::Left)) fail(source, "its end is of an unknown kind");
  Recording recording;
  recording.source = source;
  recording.job = text_of(header.job);
  recording.host = text_of(header.host);
  recording.backend = text_of(header.backend);
  recording.rank = header.rank;
  recording.world = header.world;
  recording.instance = header.instance;
  recording.process = header.process;
  recording.clock_domain = header.clock_domain;
  recording.opened_ns = header.opened_ns;
  recording.opened_wall_ns = header.opened_wall_ns;
  recording.beat_interval_ns = header.beat_interval_ns;
  recording.beat_ns = live.beat_ns;
  recording.step = live.step;
  recording.epoch = static_cast<std::uint32_t>(live.epoch);
  recording.ending = static_cast<RecordingEnd>(live.ending);
  recording.ended_ns = live.ended_ns;
  read_peers(bytes, header, recording);
  read_groups(bytes, header, recording);
  read_records(bytes, header, recording);
  return recording;
}

Recordings read_recordings(const std::string& folder) {
  Recordings all;
  std::error_code failure;
  std::filesystem::directory_iterator entries(folder, failure);
  if (failure) throw IoError(cat("recorder: ", failure.message(), ": ", folder, "; recordings lie in a folder"));
  std::vector<std::string> paths;
  for (const std::filesystem::directory_entry& entry : entries) {
    if (entry.path().extension() == ".fr") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    try {
      all.recordings.push_back(read_recording(read_file(path), path));
    } catch (const Error& error) {
      all.unreadable.emplace_back(error.what());
    }
  }
  std::stable_sort(all.recordings.begin(), all.recordings.end(), [](const Recording& a, const Recording& b) {
    return std::pair(a.rank, a.opened_wall_ns) < std::pair(b.rank, b.opened_wall_ns);
  });
  return all;
}

}  // namespace resilin::dist
