// src/resilin/dist/collective/schedule.cpp -- which algorithm makes a schedule.
#include "resilin/dist/collective/schedule.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/dist/collective/schedule_parts.h"

namespace resilin::dist {
namespace {

/// What an algorithm asks of a key.
enum class Needs : std::uint8_t { Nothing, WideDtype, WideDtypeAndPowerOfTwo };

struct Maker {
  CollectiveKind kind;
  Algorithm algorithm;
  Needs needs;
  Schedule (*make)(const schedules::Part& part);
};

constexpr std::array kMakers = {
    Maker{CollectiveKind::AllReduce, Algorithm::Direct, Needs::Nothing, schedules::direct_all_reduce},
    Maker{CollectiveKind::AllReduce, Algorithm::Owner, Needs::Nothing, schedules::owner_all_reduce},
    Maker{CollectiveKind::AllReduce, Algorithm::Ring, Needs::WideDtype, schedules::ring_all_reduce},
    Maker{CollectiveKind::AllReduce, Algorithm::HalvingDoubling, Needs::WideDtypeAndPowerOfTwo, schedules::halving_doubling_all_reduce},
    Maker{CollectiveKind::AllReduce, Algorithm::Pull, Needs::Nothing, schedules::pull_all_reduce},
    Maker{CollectiveKind::Broadcast, Algorithm::Tree, Needs::Nothing, schedules::tree_broadcast},
    Maker{CollectiveKind::Broadcast, Algorithm::Pull, Needs::Nothing, schedules::pull_broadcast},
    Maker{CollectiveKind::AllGatherSingle, Algorithm::Direct, Needs::Nothing, schedules::direct_all_gather},
    Maker{CollectiveKind::AllGatherSingle, Algorithm::Ring, Needs::Nothing, schedules::ring_all_gather},
    Maker{CollectiveKind::AllGatherSingle, Algorithm::Pull, Needs::Nothing, schedules::pull_all_gather},
    Maker{CollectiveKind::ReduceScatterSingle, Algorithm::Direct, Needs::Nothing, schedules::owner_reduce_scatter},
    Maker{CollectiveKind::ReduceScatterSingle, Algorithm::Owner, Needs::Nothing, schedules::owner_reduce_scatter},
    Maker{CollectiveKind::ReduceScatterSingle, Algorithm::Ring, Needs::WideDtype, schedules::ring_reduce_scatter},
    Maker{CollectiveKind::ReduceScatterSingle, Algorithm::Pull, Needs::Nothing, schedules::pull_reduce_scatter},
    Maker{CollectiveKind::Barrier, Algorithm::Direct, Needs::Nothing, schedules::direct_barrier},
    Maker{CollectiveKind::Barrier, Algorithm::Dissemination, Needs::Nothing, schedules::dissemination_barrier},
};

template <class Enum>
std::string_view name_of(Enum value) {
  return enum_names(&value)[static_cast<std::size_t>(value)];
}

const Maker& maker_of(const ScheduleKey& key) {
  const auto found = std::ranges::find_if(kMakers, [&](const Maker& m) { return m.kind == key.kind && m.algorithm == key.algorithm; });
  if (found == kMakers.end()) {
    throw UnsupportedError(
        cat(name_of(key.kind), ": there is no such algorithm: ", name_of(key.algorithm), "; choose_algorithm names one"));
  }
  if (found->needs != Needs::Nothing && compute_dtype(key.dtype) != key.dtype) {
    throw UnsupportedError(cat(name_of(key.kind), ": ", name_of(key.algorithm), " would round partial results of ", key.dtype,
                               "; owner, direct and pull round once"));
  }
  if (found->needs == Needs::WideDtypeAndPowerOfTwo && !std::has_single_bit(static_cast<unsigned>(key.size))) {
    throw UnsupportedError(
        cat(name_of(key.kind), ": ", name_of(key.algorithm), " of ", key.size, " ranks; their number must be a power of two"));
  }
  return *found;
}

Schedule copy_alone(const schedules::Part& part) {
  if (part.key.kind == CollectiveKind::Barrier) return {};
  Round round;
  schedules::add(round, schedules::copy(part.range(Memory::Output, part.own()), part.range(Memory::Input, part.own())));
  return {.scratch_bytes = 0, .reads_peers = false, .lanes = {{std::move(round)}}};
}

}  // namespace

Schedule make_schedule(const ScheduleKey& key, int rank) {
  RESILIN_ASSERT(key.size >= 1 && rank >= 0 && rank < key.size && key.root >= 0 && key.root < key.size,
                 cat("make_schedule: rank ", rank, " and root ", key.root, " of ", key.size));
  const Maker& maker = maker_of(key);
  const schedules::Part part{.key = key, .rank = rank};
  return key.size == 1 ? copy_alone(part) : maker.make(part);
}

}  // namespace resilin::dist
