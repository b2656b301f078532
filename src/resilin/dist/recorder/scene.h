// src/resilin/dist/recorder/scene.h -- Internal: all recordings of a job side by side: one clock, one table of operations a group.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "resilin/dist/recorder/analyze.h"
#include "resilin/dist/recorder/history.h"

namespace resilin::dist {

/// One rank of the scene.
struct Actor {
  const Recording* recording = nullptr;
  History history;
  std::int64_t ahead_ns = 0;       // what its clock reads minus the common clock
  std::uint64_t error_ns = 0;      // of `ahead_ns`
  std::uint64_t last_sign_ns = 0;  // in the common clock

  std::int32_t rank() const { return recording->rank; }
  std::uint64_t common(std::uint64_t own_ns) const { return static_cast<std::uint64_t>(static_cast<std::int64_t>(own_ns) - ahead_ns); }
};

/// An operation of an actor.
struct Take {
  std::size_t actor = 0;
  const Operation* operation = nullptr;
};

/// A group in one generation, with what each member did under each sequence number. Sends and receives are not in it.
struct Ensemble {
  std::uint32_t group = 0;
  std::uint64_t generation = 0;
  std::string name;
  std::vector<std::int32_t> members;                             // launch ranks
  std::map<std::uint64_t, std::map<std::int32_t, Take>> rounds;  // sequence -> rank -> operation
};

struct Scene {
  std::vector<Actor> actors;  // by rank
  std::map<std::int32_t, std::size_t> by_rank;
  std::vector<Ensemble> ensembles;
  std::uint64_t end_ns = 0;  // the last sign of any rank, in the common clock

  const Actor* find(std::int32_t rank) const {
    const auto found = by_rank.find(rank);
    return found == by_rank.end() ? nullptr : &actors[found->second];
  }
  std::uint64_t issued_ns(const Take& take) const { return actors[take.actor].common(take.operation->issued.time_ns); }
};

Scene make_scene(std::span<const Recording> recordings);

/// Sets the actors' clocks by the collectives that no rank can finish before all have begun.
void align_clocks(Scene& scene);

/// "all_reduce f32[2, 3] sum".
std::string describe(const Record& issued);
/// "all_reduce #12 of group world".
std::string place_of(const Record& issued, const Ensemble& ensemble);
/// "rank 3", "ranks 1, 2 and 3".
std::string ranks_text(const std::vector<std::int32_t>& ranks);
/// "2.5 s", "310 ms".
std::string duration_text(std::uint64_t duration_ns);

}  // namespace resilin::dist
