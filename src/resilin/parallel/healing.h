// src/resilin/parallel/healing.h -- Internal: ranks that join read the state out of the memory of those that have it, while these compute.
#pragma once

#include <cstdint>
#include <vector>

#include "resilin/dist/group/window.h"

namespace resilin::parallel {

class StepState;

/// Which state it is that donors offer.
struct StateLabel {
  std::uint64_t generation = 0;
  std::uint64_t step = 0;     // applied steps of the job
  std::uint64_t votes = 0;    // applied steps of the lineage
  std::uint64_t history = 0;  // the digest of those: which votes committed them
  friend bool operator==(const StateLabel& a, const StateLabel& b) = default;
};

/// Room in a StepState's memory for what a donor says: a page and all that is no tensor before the tensors, a digest for each chunk after them.
std::uint64_t donor_bytes_before_tensors();
std::uint64_t donor_bytes_after_tensors(std::uint64_t tensor_bytes);

/// Says which state lies here, and the digests of those chunks that are this donor's: chunk c is that of donor c mod donors. All donors do that
/// before a barrier, and write nothing until the takers have voted.
void offer_state(StepState& state, const StateLabel& label, std::size_t donor, std::size_t donors);

struct Healed {
  StateLabel label;
  std::uint64_t bytes = 0;
};
/// After that barrier: reads each chunk from its donor into this state and compares its digest.
/// DistError when donors offer different states or a chunk is not what its donor says; the state is then of no use.
Healed take_state(StepState& state, const dist::Window& window, const std::vector<int>& donors, std::uint64_t generation);

}  // namespace resilin::parallel
