// src/resilin/dist/recorder/record.h -- what the flight recorder keeps of an event: one record of 112 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "resilin/dist/collective/kind.h"
#include "resilin/tensor/dtype.h"

namespace resilin::dist {

/// What happened. Numbers are part of the file format: they are never given to something else.
enum class RecordKind : std::uint8_t {
  Issued,     // a Work was submitted; every other record of a Work repeats its group, generation and sequence
  Started,    // its first byte went out, or came in
  Finished,   // its terminal state; `status`
  WaitBegan,  // a thread of the caller sleeps until the Work is done
  WaitEnded,
  Step,        // training step `value` begins
  Membership,  // `phase` of an attempt; `generation` is the attempt's, `value` its incident, `peer` the culprit
  Revoked,     // `generation` ended; `peer` is who revoked it, `value` the incident
  PeerLost,    // `peer` is gone, or cannot be reached; `evidence`
};
constexpr std::array<std::string_view, 9> enum_names(const RecordKind*) {
  return {"issued", "started", "finished", "wait_began", "wait_ended", "step", "membership", "revoked", "peer_lost"};
}

/// How a Work ended.
enum class RecordedStatus : std::uint8_t { Success, Failed, TimedOut, Mismatch, PeerLost, PeerLeft, Cancelled };
constexpr std::array<std::string_view, 7> enum_names(const RecordedStatus*) {
  return {"success", "failed", "timed_out", "mismatch", "peer_lost", "peer_left", "cancelled"};
}

enum class MembershipPhase : std::uint8_t { Open, Promised, Commit, Abort, Install };
constexpr std::array<std::string_view, 5> enum_names(const MembershipPhase*) { return {"open", "promised", "commit", "abort", "install"}; }

/// How a rank knows that it lost a peer, weakest first.
enum class LossEvidence : std::uint8_t { Deadline, Heartbeat, Engine, Exit };
constexpr std::array<std::string_view, 4> enum_names(const LossEvidence*) { return {"deadline", "heartbeat", "engine", "exit"}; }

/// The name of a value in its enum's list; "?" for a number that has none.
template <class E>
constexpr std::string_view name_of(E value) {
  const auto names = enum_names(static_cast<const E*>(nullptr));
  const std::size_t index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : std::string_view("?");
}

inline constexpr std::size_t kRecordedDims = 4;
inline constexpr std::int32_t kNoRank = -1;

/// An event. Ranks are those given at launch, which a process keeps through all generations; -1 is nobody.
struct Record {
  std::uint64_t time_ns = 0;  // of the recording's clock
  std::uint64_t sequence = 0;
  std::uint64_t work = 0;  // the ticket of its Issued record
  std::uint64_t generation = 0;
  std::uint64_t signature = 0;  // hash of what all members must agree on
  std::uint64_t value = 0;      // bytes of a Work; see RecordKind
  std::uint32_t group = 0;
  std::uint32_t epoch = 0;  // see Recorder::reset
  std::int32_t peer = kNoRank;
  std::int32_t root = kNoRank;
  std::uint32_t timeout_ms = 0;
  std::uint32_t thread = 0;
  RecordKind kind = RecordKind::Issued;
  CollectiveKind op = CollectiveKind::Other;
  DType dtype = DType::F32;
  ReduceOp reduce = ReduceOp::None;
  std::uint8_t detail = 0;  // RecordedStatus, MembershipPhase or LossEvidence, by kind
  std::uint8_t axes = 0;    // of the first input; with more than kRecordedDims the last of `dims` is the product of the rest
  std::uint16_t tensors = 0;
  std::uint64_t input_elements = 0;
  std::uint64_t output_elements = 0;
  std::array<std::uint32_t, kRecordedDims> dims = {};  // of the first input; the greatest number stands for more

  RecordedStatus status() const { return static_cast<RecordedStatus>(detail); }
  MembershipPhase phase() const { return static_cast<MembershipPhase>(detail); }
  LossEvidence evidence() const { return static_cast<LossEvidence>(detail); }
};
static_assert(sizeof(Record) == 112, "a record and its guard fill two cache lines");

}  // namespace resilin::dist
