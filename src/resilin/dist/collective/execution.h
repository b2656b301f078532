// src/resilin/dist/collective/execution.h -- Internal: one rank's part of a collective while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "resilin/dist/collective/first_frame.h"
#include "resilin/dist/collective/schedule.h"
#include "resilin/dist/transport/transport.h"

namespace resilin::dist {

/// A schedule and what is known of it before it runs.
struct PreparedSchedule {
  explicit PreparedSchedule(Schedule of);

  Schedule schedule;
  std::vector<int> targets;  // peers it ever sends to, each once
  std::vector<int> sources;
  std::vector<Transfer> inline_sends;  // by target: what rides in the first frame; 0 bytes when nothing does
  std::vector<Transfer> inline_receives;
};

/// What an execution works on. The memories outlive it.
struct ExecutionJob {
  std::shared_ptr<const PreparedSchedule> prepared = nullptr;
  Signature signature = {};
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;
  Tag frame_tag = {};
  Tag payload_tag = {};  // of lane 0; lane k adds k to its number
  std::span<const std::byte> input;
  std::span<std::byte> output;
  std::int64_t average_over = 0;  // of the final combines
};

/// Why an execution cannot go on.
struct ExecutionFault {
  enum class Kind : std::uint8_t { None, PeerLost, Mismatch, Damaged, Cancelled };
  Kind kind = Kind::None;
  int peer = -1;
  std::string text;  // of a Mismatch the peer's signature
};

/// Runs a schedule over a transport: first frames, then the rounds of all lanes. Nothing waits: `step` does what can be done.
///
/// It must not go before all its requests have ended, which `is_quiet` tells; after a fault the transport is closed first.
class Execution {
 public:
  explicit Execution(Transport& transport) : transport_(transport) {}
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Begins; the object may be used again for another job once `is_quiet`.
  void start(ExecutionJob job);
  /// True when there is nothing left to do: it is done, or `fault` says why not.
  bool step();

  /// The last step left arithmetic undone: the next one has something to do, whatever comes meanwhile.
  bool is_busy() const { return busy_; }
  const ExecutionFault& fault() const { return fault_; }
  bool is_quiet() const;
  /// The peers whose first frame has not come or whose payload is awaited.
  std::vector<int> awaited() const;

 private:
  enum class Stage : std::uint8_t { Frames, Lanes, Sends, Done };
  struct Lane {
    std::size_t round = 0;
    bool posted = false;
    std::size_t combine = 0;           // the next one of the round
    std::uint64_t combined_bytes = 0;  // of it
    Pending receives;
    Pending sends;
  };

  void send_frames();
  bool take_frames();
  bool check_frame(std::size_t source);
  bool step_lane(std::size_t number);
  void post_round(std::size_t number);
  bool run_combines(Lane& lane, const Round& round);
  bool run_slice(const Combine& combine, std::uint64_t offset, std::uint64_t bytes);
  bool check(const Pending& pending);
  bool fail(ExecutionFault::Kind kind, int peer, std::string text);
  std::byte* address(const Range& range, std::uint64_t offset = 0) const;
  std::byte* frame_of(std::size_t index) { return frames_.data() + index * kFrameBytes; }

  static constexpr std::size_t kFrameBytes = sizeof(FirstFrame) + kInlineBytes;

  Transport& transport_;
  ExecutionJob job_;
  ExecutionFault fault_;
  Stage stage_ = Stage::Done;
  bool busy_ = false;
  std::vector<std::byte> frames_;        // sent ones by target, then received ones by source
  std::vector<std::byte> scratch_;       // the schedule's
  std::vector<const std::byte*> from_;   // of the slice that is combined
  std::vector<std::byte> fetched_;       // blocks of peers' memory
  std::vector<MemoryAddresses> memory_;  // by source
  Pending frame_sends_;
  std::vector<Pending> frame_receives_;  // by source
  std::vector<Lane> lanes_;
};

}  // namespace resilin::dist
