// src/resilin/dist/recorder/history.h -- Internal: a recording's records put together: one operation a Work, steps, lost peers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "resilin/dist/recorder/recording.h"

namespace resilin::dist {

/// A Work of one rank. Times are of the recording's clock; 0 is what did not happen, or is no longer recorded.
struct Operation {
  Record issued;  // its time is 0 when only later records of the Work are left
  std::uint64_t started_ns = 0;
  std::uint64_t finished_ns = 0;
  std::optional<RecordedStatus> status = {};
  std::uint64_t wait_began_ns = 0;  // of a thread that waits, or waited when the Work failed
  std::uint64_t step = 0;           // the one that had begun; 0 before the first

  bool succeeded() const { return status == RecordedStatus::Success; }
  /// It was never done: it hangs, or ended without its result. A cancelled one was given up by the whole group.
  bool is_open() const { return !status || (*status != RecordedStatus::Success && *status != RecordedStatus::Cancelled); }
};

struct RecordedStep {
  std::uint64_t step = 0;
  std::uint64_t began_ns = 0;
  bool whole = false;  // the next one began, and nothing of it was overwritten
};

struct History {
  const Recording* recording = nullptr;
  std::vector<Operation> operations;  // in the order of issue
  std::vector<RecordedStep> steps;
  std::vector<Record> events;  // membership, revoked, peer_lost

  /// When this rank learnt that a generation ends; 0: never.
  std::uint64_t revoked_ns = 0;
};

/// The history refers to the recording, which must live as long.
History make_history(const Recording& recording);

}  // namespace resilin::dist
