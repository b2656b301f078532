// src/resilin/dist/recorder/partition.cpp -- the matrix of links: between whom bytes passed, and where they stopped.
#include <algorithm>
#include <map>

#include "resilin/base/text.h"
#include "resilin/dist/recorder/verdicts.h"

namespace resilin::dist {
namespace {

using Link = std::pair<std::int32_t, std::int32_t>;

/// `from` waits for bytes of `to`, both being in the operation.
struct Hunger {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::uint64_t since_ns = 0;
  bool lost_bytes = false;  // `to` sent more than `from` got
};

const RecordedPeer* row_of(const Actor& actor, std::int32_t peer) {
  const bool has = peer >= 0 && static_cast<std::size_t>(peer) < actor.recording->peers.size();
  return has ? &actor.recording->peers[static_cast<std::size_t>(peer)] : nullptr;
}

/// All members came to this round, and at least one does not get out of it.
bool is_hanging(const Ensemble& ensemble, const std::map<std::int32_t, Take>& round) {
  if (round.size() < ensemble.members.size()) return false;
  return std::ranges::any_of(round, [](const auto& entry) { return entry.second.operation->is_open(); });
}

std::vector<Hunger> hungers_of(const Scene& scene, const std::map<std::int32_t, Take>& round, const std::set<std::int32_t>& gone) {
  std::vector<Hunger> hungers;
  for (const auto& [rank, take] : round) {
    const Actor& actor = scene.actors[take.actor];
    for (const auto& [other, unused] : round) {
      const RecordedPeer* const row = row_of(actor, other);
      if (other == rank || row == nullptr || row->waits == 0 || gone.count(rank) != 0 || gone.count(other) != 0) continue;
      if (!take.operation->is_open()) continue;
      const RecordedPeer* const back = row_of(*scene.find(other), rank);
      const bool lost = back != nullptr && back->sent_bytes > row->received_bytes;
      hungers.push_back({rank, other, actor.common(row->waiting_since_ns), lost});
    }
  }
  return hungers;
}

/// A link is broken where both ends wait for each other, or where bytes that were sent are not there.
std::set<Link> broken_links(const std::vector<Hunger>& hungers) {
  std::set<Link> waiting, broken;
  for (const Hunger& hunger : hungers) waiting.insert({hunger.from, hunger.to});
  for (const Hunger& hunger : hungers) {
    const bool mutual = waiting.count({hunger.to, hunger.from}) != 0;
    if (mutual || hunger.lost_bytes) broken.insert({std::min(hunger.from, hunger.to), std::max(hunger.from, hunger.to)});
  }
  return broken;
}

/// The sides into which members fall when only links that carried bytes and are not broken are left.
std::vector<std::vector<std::int32_t>> sides_of(const Scene& scene, const Ensemble& ensemble, const std::set<Link>& broken) {
  std::map<std::int32_t, std::int32_t> side;
  for (const std::int32_t rank : ensemble.members) side[rank] = rank;
  const auto root = [&side](std::int32_t rank) {
    while (side[rank] != rank) rank = side[rank];
    return rank;
  };
  for (const std::int32_t a : ensemble.members) {
    for (const std::int32_t b : ensemble.members) {
      const Actor* const actor = scene.find(a);
      const RecordedPeer* const row = actor == nullptr ? nullptr : row_of(*actor, b);
      if (a >= b || row == nullptr || row->sent_bytes + row->received_bytes == 0 || broken.count({a, b}) != 0) continue;
      side[std::max(root(a), root(b))] = std::min(root(a), root(b));
    }
  }
  std::map<std::int32_t, std::vector<std::int32_t>> sides;
  for (const std::int32_t rank : ensemble.members) sides[root(rank)].push_back(rank);
  std::vector<std::vector<std::int32_t>> list;
  for (auto& [lowest, members] : sides) list.push_back(std::move(members));
  return list;
}

Finding partition_finding(const Scene& scene, const Ensemble& ensemble, const Record& issued, const std::vector<Hunger>& hungers) {
  const std::set<Link> broken = broken_links(hungers);
  Finding finding{.kind = FindingKind::Partition,
                  .group = ensemble.name,
                  .generation = ensemble.generation,
                  .sequence = issued.sequence,
                  .time_ns = scene.end_ns,
                  .words = {}};
  for (const Hunger& hunger : hungers) finding.time_ns = std::min(finding.time_ns, hunger.since_ns);
  std::set<std::int32_t> ends;
  for (const auto& [a, b] : broken) {
    ends.insert({a, b});
    finding.evidence.push_back(cat("no bytes pass between rank ", a, " and rank ", b));
  }
  finding.ranks.assign(ends.begin(), ends.end());
  const std::vector<std::vector<std::int32_t>> sides = sides_of(scene, ensemble, broken);
  finding.words = cat("all ranks are in ", place_of(issued, ensemble), " and live, but bytes do not pass between ");
  if (sides.size() == 2) {
    finding.words += cat(ranks_text(sides[0]), " on one side and ", ranks_text(sides[1]), " on the other");
    finding.ranks = sides[0].size() < sides[1].size() ? sides[0] : sides[1];
  } else {
    finding.words += ranks_text(finding.ranks);
  }
  return finding;
}

/// The rank at the end of a chain of waits, which itself waits for nobody and has lost no bytes on the way.
std::optional<std::int32_t> end_of_chain(const std::vector<Hunger>& hungers) {
  std::set<std::int32_t> waiting;
  for (const Hunger& hunger : hungers) waiting.insert(hunger.from);
  for (const Hunger& hunger : hungers) {
    if (waiting.count(hunger.to) == 0) return hunger.to;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Finding> find_partitions(const Scene& scene, const std::set<std::int32_t>& gone, const AnalyzeOptions& options) {
  std::vector<Finding> findings;
  for (const Ensemble* const ensemble : newest_ensembles(scene)) {
    for (const auto& [sequence, round] : ensemble->rounds) {
      if (!is_hanging(*ensemble, round)) continue;
      const std::vector<Hunger> hungers = hungers_of(scene, round, gone);
      if (hungers.empty()) continue;
      std::uint64_t since = scene.end_ns;
      bool failed = false;
      for (const Hunger& hunger : hungers) since = std::min(since, hunger.since_ns);
      for (const auto& [rank, take] : round) failed = failed || (take.operation->status && take.operation->is_open());
      if (!failed && scene.end_ns - since < stuck_after_ns(scene, options)) continue;
      const Record& issued = round.begin()->second.operation->issued;
      if (!broken_links(hungers).empty()) {
        findings.push_back(partition_finding(scene, *ensemble, issued, hungers));
      } else if (const std::optional<std::int32_t> rank = end_of_chain(hungers)) {
        findings.push_back(
            {.kind = FindingKind::Stuck,
             .ranks = {*rank},
             .group = ensemble->name,
             .generation = ensemble->generation,
             .sequence = sequence,
             .time_ns = since,
             .words = cat("rank ", *rank, " hangs inside ", place_of(issued, *ensemble), ": it waits for nobody and sends nothing")});
      }
      break;
    }
  }
  return findings;
}

}  // namespace resilin::dist
