// src/resilin/dist/recorder/recorder.h -- the flight recorder: a rank's last events in a file that outlives the rank.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/recorder/record.h"

namespace resilin::dist {

/// Who records, and how much.
struct RecorderOptions {
  std::string folder;  // in tmpfs; made with mode 0700 when it is missing
  std::string job;
  std::string host;
  std::string backend;
  std::int32_t rank = 0;  // the one given at launch
  std::int32_t world = 1;
  std::uint64_t instance = 0;
  std::uint64_t clock_domain = 0;             // equal for processes that read one clock; 0: unknown
  std::chrono::nanoseconds wall_now{0};       // the wall clock, for labels
  std::chrono::nanoseconds beat_interval{0};  // how often `beat` is called; 0: never
  std::size_t records = 4096;                 // 128 bytes each
  std::size_t peers = 0;                      // ranks below this have a row in the table of peers; 0: `world`
  std::size_t group_slots = 64;
};

/// This machine's name, its clock's domain and the wall clock filled in, the folder and the number of records as the knobs say.
RESILIN_API RecorderOptions machine_recorder_options();

/// A collective, or one end of a pair, as it is submitted.
struct IssuedWork {
  CollectiveKind op = CollectiveKind::Other;
  DType dtype = DType::F32;
  ReduceOp reduce = ReduceOp::None;
  std::uint32_t group = 0;
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;   // of the group's collectives, or of the pair, from 1 on
  std::uint64_t signature = 0;  // hash of what all members must agree on, but for the sequence; 0: no such hash
  std::int32_t peer = kNoRank;
  std::int32_t root = kNoRank;
  std::uint32_t timeout_ms = 0;
  std::uint16_t tensors = 1;
  std::span<const i64> dims = {};  // of the first input
  std::uint64_t input_elements = 0;
  std::uint64_t output_elements = 0;
  std::uint64_t bytes = 0;
};

/// What a Work keeps to record what becomes of it.
struct WorkMark {
  std::uint64_t work = 0;  // 0: nothing was recorded, and nothing will be
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;
  std::uint32_t group = 0;
  std::uint32_t epoch = 0;
  CollectiveKind op = CollectiveKind::Other;
};

struct RecordedGroup {
  std::uint32_t group = 0;
  std::uint64_t generation = 0;
  std::string name;
  std::string description;
  std::vector<std::int32_t> members;  // ranks given at launch, in the order of the group's own ranks
};

struct MembershipEvent {
  MembershipPhase phase = MembershipPhase::Open;
  std::uint64_t generation = 0;
  std::uint64_t incident = 0;
  std::int32_t culprit = kNoRank;
};

/// A ring of the last events of one rank in a file that others can read, also after the rank was killed.
///
/// Every function may be called from any thread at any time; none waits, allocates or throws, but for the constructor and
/// define_group. A child made by fork records nothing.
class RESILIN_API Recorder {
 public:
  /// Makes FOLDER/rank-R.INSTANCE.fr with mode 0600; IoError when it cannot, ArgumentError for sizes beyond the format's.
  Recorder(const RecorderOptions& options, Clock& clock);
  /// Marks the recording as closed; the file stays.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  const std::string& path() const;

  /// Names a group's members. When all slots are taken, the oldest definition of the lowest generation goes.
  void define_group(const RecordedGroup& group);

  WorkMark issue(const IssuedWork& work) noexcept;
  void start(const WorkMark& mark) noexcept;
  void finish(const WorkMark& mark, RecordedStatus status) noexcept;
  void begin_wait(const WorkMark& mark) noexcept;
  void end_wait(const WorkMark& mark) noexcept;

  /// `mark` needs bytes of this peer. A wait that fails is not ended: it tells later who was waited for.
  void begin_peer_wait(std::int32_t peer, const WorkMark& mark) noexcept;
  void end_peer_wait(std::int32_t peer) noexcept;
  void count_sent(std::int32_t peer, std::uint64_t bytes) noexcept;
  void count_received(std::int32_t peer, std::uint64_t bytes) noexcept;
  void lose_peer(std::int32_t peer, LossEvidence evidence, std::uint64_t generation) noexcept;

  void begin_step(std::uint64_t step) noexcept;
  void change_membership(const MembershipEvent& event) noexcept;
  void revoke(std::uint64_t generation, std::int32_t origin, std::uint64_t incident) noexcept;
  /// The process is alive.
  void beat() noexcept;
  /// This rank leaves in good order: its silence from now on means nothing.
  void leave() noexcept;

  /// Begins a new epoch: readers forget what was recorded before, and what is still to come of earlier Works. Waits for peers are none.
  void reset() noexcept;

  /// Copies the recording to a new file of mode 0600; false when that fails. Safe in signal handlers.
  bool save(const char* path) const noexcept;
  /// The file's bytes now; `read_recording` reads them. Events of that very moment may be torn.
  std::string bytes() const;

 private:
  struct State;

  void append(Record& record) noexcept;
  void append(RecordKind kind, const WorkMark& mark, std::uint8_t detail) noexcept;
  void end(std::uint64_t ending) noexcept;

  std::unique_ptr<State> state_;
};

/// Removes the recordings in `folder` whose process is gone, those that ended or were last heard of before `oldest_wall`, and, after
/// a minute, what a process left that was killed while it made one. Gives back how many files went. A folder that is missing holds none.
RESILIN_API std::size_t remove_dead_recordings(const std::string& folder, std::chrono::nanoseconds oldest_wall);

}  // namespace resilin::dist
