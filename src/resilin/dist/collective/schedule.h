// src/resilin/dist/collective/schedule.h -- Internal: what one rank does in a collective, as a plain list.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/base/text.h"
#include "resilin/dist/collective/kind.h"
#include "resilin/tensor/dtype.h"

namespace resilin::dist {

/// Which of a rank's memories: the caller's two, which may overlap as `make_schedule` says, and one of the schedule's own. Input is read only.
enum class Memory : std::uint8_t { Input, Output, Scratch };

struct Range {
  Memory memory = Memory::Input;
  std::uint64_t offset = 0;  // bytes
  std::uint64_t bytes = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// Bytes to or from a peer, possibly none; both sides list the same lengths in the same order: the k-th send of a to b in a lane is the k-th
/// receive of b from a in that lane.
struct Transfer {
  int peer = 0;
  Range range;
};

/// Where a combine reads: here, or in the memory of a peer on the same host.
struct Source {
  static constexpr int kHere = -1;
  int peer = kHere;
  Range range;
};

/// into = from[0] op from[1] op ...; with one source a copy, which does nothing when both are the same memory. All ranges are of equal length.
struct Combine {
  Range into;
  std::vector<Source> from;
  bool is_final = false;  // of these elements: an average is divided here
};

/// All transfers at once, then, when the receives have ended, the combines in their order. Sends may still be under way by then: nothing of the
/// lane before `settle` writes what they read.
struct Round {
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  std::vector<Combine> combines;
  bool settle = false;  // before this round, all sends of the lane's earlier rounds end
};

/// One rank's part. Lanes run side by side and share nothing they write.
struct Schedule {
  std::uint64_t scratch_bytes = 0;
  bool reads_peers = false;  // some source is a peer's memory
  std::vector<std::vector<Round>> lanes;
};

/// How ranks share a collective's work. Numbers go over the wire.
enum class Algorithm : std::uint8_t { Direct, Owner, Ring, HalvingDoubling, Tree, Pull, Dissemination };
constexpr std::array<std::string_view, 7> enum_names(const Algorithm*) {
  return {"direct", "owner", "ring", "halving_doubling", "tree", "pull", "dissemination"};
}

/// What a schedule depends on, alike on all ranks.
struct ScheduleKey {
  CollectiveKind kind = CollectiveKind::Barrier;
  Algorithm algorithm = Algorithm::Direct;
  DType dtype = DType::F32;
  int size = 1;  // ranks
  int root = 0;  // of a broadcast
  std::uint64_t elements =
      0;  // per rank: of all_reduce and broadcast the whole, of all_gather_single the input, of reduce_scatter_single the output
  friend bool operator==(const ScheduleKey&, const ScheduleKey&) = default;
};

/// Whether all ranks can map or read each other's memory.
enum class Reach : std::uint8_t { Network, SameHost };

/// The algorithm for these sizes: a pure function, so that all ranks agree without asking.
///
/// Errors   UnsupportedError for a kind without a schedule, and for a reduction that `check_combine` refuses
Algorithm choose_algorithm(CollectiveKind kind, ReduceOp op, DType dtype, int size, std::uint64_t elements, Reach reach);

/// The part of `rank`. For a size of 1 it copies what is to be copied.
///
/// All ranks get the same bits of all_reduce. The order of an element's terms depends on the key alone; Direct, Owner and Pull add in rank order
/// and round once, and only they reduce dtypes below 32 bits of floating point.
///
/// Memory   all_reduce, broadcast: Output may be Input. all_gather_single: Input may be the rank's own part of Output. reduce_scatter_single:
///          Output may be the rank's own part of Input. Other overlaps are errors of the caller. A broadcast reads Input on the root alone.
/// Ranks    With more than one, all but the root of a broadcast over a Tree receive from somebody, zero elements or not, and only with a Tree may
///          a rank end before all have begun. With Pull, a rank reads the memory of peers from which it receives something at some time, and
///          ends when nobody reads its memory any more.
/// Sends    Those of a lane's first round read Input.
/// Errors   UnsupportedError when the kind has no such algorithm, a power of two is missing, or the dtype is too small
Schedule make_schedule(const ScheduleKey& key, int rank);

}  // namespace resilin::dist
