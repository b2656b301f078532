// src/resilin/dist/collective/choose.cpp -- which algorithm serves which sizes: one table.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "resilin/base/error.h"
#include "resilin/dist/collective/combine.h"
#include "resilin/dist/collective/schedule.h"

namespace resilin::dist {
namespace {

constexpr std::uint64_t kKib = 1024;
constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

/// What all ranks have in common about a call, in bytes.
struct Facts {
  bool is_same_host = false;
  bool is_power_of_two = false;
  bool is_narrow = false;  // a reduction below 32 bits of floating point
  int size = 1;
  std::uint64_t whole = 0;   // what all ranks work on together
  std::uint64_t share = 0;   // whole / size
  std::uint64_t direct = 0;  // what a rank would send in all with Direct
};

/// When an algorithm is chosen: all that is said must hold.
struct Choice {
  CollectiveKind kind;
  Algorithm algorithm;
  bool on_same_host = false;
  bool for_powers_of_two = false;
  bool for_narrow = true;
  int most_ranks = 1 << 30;
  std::uint64_t most_direct = kAny;
  std::uint64_t most_share = kAny;
  std::uint64_t least_whole = 0;
};

// The first that fits. Why these numbers:
// - up to 8 KiB ride in the first frame, so that a call costs one exchange;
// - measured over shared memory, transfers in pieces and reading a peer's memory take equally long at about 256 KiB;
// - a share of 128 KiB takes ten times the start of a transfer over TCP: above it the fewest bytes at a time win, below it the fewest rounds;
// - with many ranks, all sending to one at once overruns switches.
constexpr std::array kChoices = {
    Choice{.kind = CollectiveKind::AllReduce, .algorithm = Algorithm::Direct, .most_ranks = 8, .most_direct = 8 * kKib},
    Choice{.kind = CollectiveKind::AllReduce, .algorithm = Algorithm::Pull, .on_same_host = true, .least_whole = 256 * kKib},
    Choice{.kind = CollectiveKind::AllReduce,
           .algorithm = Algorithm::HalvingDoubling,
           .for_powers_of_two = true,
           .for_narrow = false,
           .most_share = 128 * kKib},
    Choice{.kind = CollectiveKind::AllReduce, .algorithm = Algorithm::Owner, .most_ranks = 16, .most_share = 128 * kKib},
    Choice{.kind = CollectiveKind::AllReduce, .algorithm = Algorithm::Ring, .for_narrow = false},
    Choice{.kind = CollectiveKind::AllReduce, .algorithm = Algorithm::Owner},

    Choice{.kind = CollectiveKind::ReduceScatterSingle, .algorithm = Algorithm::Pull, .on_same_host = true, .least_whole = 256 * kKib},
    Choice{.kind = CollectiveKind::ReduceScatterSingle, .algorithm = Algorithm::Owner, .most_ranks = 16, .most_share = 128 * kKib},
    Choice{.kind = CollectiveKind::ReduceScatterSingle, .algorithm = Algorithm::Ring, .for_narrow = false},
    Choice{.kind = CollectiveKind::ReduceScatterSingle, .algorithm = Algorithm::Owner},

    Choice{.kind = CollectiveKind::AllGatherSingle, .algorithm = Algorithm::Pull, .on_same_host = true, .least_whole = 256 * kKib},
    Choice{.kind = CollectiveKind::AllGatherSingle, .algorithm = Algorithm::Direct, .most_ranks = 16, .most_share = 128 * kKib},
    Choice{.kind = CollectiveKind::AllGatherSingle, .algorithm = Algorithm::Ring},

    Choice{.kind = CollectiveKind::Broadcast, .algorithm = Algorithm::Pull, .on_same_host = true, .least_whole = 256 * kKib},
    Choice{.kind = CollectiveKind::Broadcast, .algorithm = Algorithm::Tree},

    Choice{.kind = CollectiveKind::Barrier, .algorithm = Algorithm::Direct, .most_ranks = 8},
    Choice{.kind = CollectiveKind::Barrier, .algorithm = Algorithm::Dissemination},
};

bool fits(const Choice& choice, const Facts& facts) {
  return (!choice.on_same_host || facts.is_same_host) && (!choice.for_powers_of_two || facts.is_power_of_two) &&
         (choice.for_narrow || !facts.is_narrow) && facts.size <= choice.most_ranks && facts.direct <= choice.most_direct &&
         facts.share <= choice.most_share && facts.whole >= choice.least_whole;
}

}  // namespace

Algorithm choose_algorithm(CollectiveKind kind, ReduceOp op, DType dtype, int size, std::uint64_t elements, Reach reach) {
  const bool is_reduction = kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatterSingle;
  if (is_reduction) check_combine(op, dtype);
  const bool is_per_rank = kind == CollectiveKind::AllGatherSingle || kind == CollectiveKind::ReduceScatterSingle;
  const std::uint64_t ranks = static_cast<std::uint64_t>(size);
  const std::uint64_t bytes = elements * static_cast<std::uint64_t>(size_bytes(dtype));
  const Facts facts{.is_same_host = reach == Reach::SameHost,
                    .is_power_of_two = std::has_single_bit(ranks),
                    .is_narrow = is_reduction && compute_dtype(dtype) != dtype,
                    .size = size,
                    .whole = is_per_rank ? bytes * ranks : bytes,
                    .share = is_per_rank ? bytes : bytes / ranks,
                    .direct = bytes * (ranks - 1)};
  const auto found = std::ranges::find_if(kChoices, [&](const Choice& c) { return c.kind == kind && fits(c, facts); });
  if (found == kChoices.end()) {
    throw UnsupportedError(cat(enum_names(&kind)[static_cast<std::size_t>(kind)],
                               ": it has no schedule; all_reduce, reduce_scatter_single, all_gather_single, broadcast and barrier have"));
  }
  return found->algorithm;
}

}  // namespace resilin::dist
