// src/resilin/dist/recorder/recording.h -- a recorder file as values: whose it is, and its whole records in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/dist/recorder/record.h"
#include "resilin/dist/recorder/recorder.h"

namespace resilin::dist {

/// How a recording came to its end. Open: the process lives, or was killed.
enum class RecordingEnd { Open, Closed, Left };
constexpr std::array<std::string_view, 3> enum_names(const RecordingEnd*) { return {"open", "closed", "left"}; }

/// What passed between the recording's rank and another.
struct RecordedPeer {
  std::uint64_t waits = 0;
  std::uint64_t waiting_since_ns = 0;
  std::uint64_t waiting_work = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t heard_ns = 0;
};

/// What was read of one file.
struct Recording {
  std::string source;  // where it came from
  std::string job;
  std::string host;
  std::string backend;
  std::int32_t rank = 0;
  std::int32_t world = 1;
  std::uint64_t instance = 0;
  std::int64_t process = 0;
  std::uint64_t clock_domain = 0;
  std::uint64_t opened_ns = 0;
  std::uint64_t opened_wall_ns = 0;
  std::uint64_t beat_interval_ns = 0;

  std::uint64_t beat_ns = 0;
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;
  RecordingEnd ending = RecordingEnd::Open;
  std::uint64_t ended_ns = 0;

  std::vector<RecordedPeer> peers;    // by rank
  std::vector<RecordedGroup> groups;  // in the order of definition
  std::vector<Record> records;        // of the current epoch, oldest first
  std::uint64_t overwritten = 0;      // records that the ring no longer holds
  std::uint64_t torn = 0;             // records and groups that were half written

  /// The wall clock at a time of this recording's clock, as far as it went evenly.
  std::uint64_t wall_ns(std::uint64_t time_ns) const { return opened_wall_ns + (time_ns - opened_ns); }
  /// The last thing known of the process, in its own clock.
  RESILIN_API std::uint64_t last_sign_ns() const;
  /// The newest definition of a group in this generation; null pointer when there is none.
  RESILIN_API const RecordedGroup* find_group(std::uint32_t group, std::uint64_t generation) const;
};

/// Reads the bytes of a recorder file. VersionError when another version wrote them, DistError when they are no recorder file, are
/// shorter than they say, or say what cannot be.
RESILIN_API Recording read_recording(std::string_view bytes, const std::string& source);

/// All recordings of a folder, by rank and age, and what is wrong with the files that could not be read.
struct Recordings {
  std::vector<Recording> recordings;
  std::vector<std::string> unreadable;
};
/// Reads every file whose name ends in ".fr". IoError when there is no such folder.
RESILIN_API Recordings read_recordings(const std::string& folder);

}  // namespace resilin::dist
