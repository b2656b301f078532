// src/resilin/dist/recorder/waits.cpp -- who waits for whom, and who lives.
#include <algorithm>
#include <map>

#include "resilin/base/text.h"
#include "resilin/dist/recorder/verdicts.h"

namespace resilin::dist {
namespace {

/// Recordings without a single wait come from an engine that does not tell: then each open operation counts as one.
bool tells_waits(const Actor& actor) {
  return std::ranges::any_of(actor.recording->records, [](const Record& record) { return record.kind == RecordKind::WaitBegan; });
}

/// A member whose oldest operation here is younger did this one; the ring no longer holds it.
bool may_have_forgotten(const Ensemble& ensemble, const Scene& scene, std::int32_t rank, std::uint64_t sequence) {
  const Actor* const actor = scene.find(rank);
  if (actor == nullptr || actor->recording->overwritten == 0) return false;
  for (const auto& [other, round] : ensemble.rounds) {
    if (round.count(rank) != 0) return other > sequence;
  }
  return false;
}

void add_round(const Scene& scene, const Ensemble& ensemble, std::uint64_t sequence, std::vector<Wait>& waits) {
  const std::map<std::int32_t, Take>& round = ensemble.rounds.at(sequence);
  for (const auto& [rank, take] : round) {
    const Operation& operation = *take.operation;
    const Actor& actor = scene.actors[take.actor];
    if (!operation.is_open() || (operation.wait_began_ns == 0 && tells_waits(actor))) continue;
    const std::uint64_t since = actor.common(std::max(operation.wait_began_ns, operation.issued.time_ns));
    for (const std::int32_t member : ensemble.members) {
      if (round.count(member) != 0 || may_have_forgotten(ensemble, scene, member, sequence)) continue;
      waits.push_back({rank, member, &ensemble, &operation, since});
    }
  }
}

bool is_other_end(const Record& a, std::int32_t rank_of_a, const Record& b) {
  return is_point_to_point(b.op) && a.op != b.op && a.group == b.group && a.generation == b.generation && a.sequence == b.sequence &&
         b.peer == rank_of_a;
}

void add_pairs(const Scene& scene, std::vector<Wait>& waits) {
  for (const Actor& actor : scene.actors) {
    for (const Operation& operation : actor.history.operations) {
      if (!is_point_to_point(operation.issued.op) || !operation.is_open()) continue;
      if (operation.wait_began_ns == 0 && tells_waits(actor)) continue;
      const Actor* const peer = scene.find(operation.issued.peer);
      const bool there = peer != nullptr && std::ranges::any_of(peer->history.operations, [&](const Operation& other) {
                           return is_other_end(operation.issued, actor.rank(), other.issued);
                         });
      if (!there) waits.push_back({actor.rank(), operation.issued.peer, nullptr, &operation, actor.common(operation.issued.time_ns)});
    }
  }
}

/// Nobody can be sure of less than the error of both clocks.
std::uint64_t silent_after_ns(const Actor& actor, const AnalyzeOptions& options) {
  return std::max(options.silent_floor_ns, options.silent_beats * actor.recording->beat_interval_ns) + 2 * actor.error_ns;
}

/// The best evidence that others have of the loss of a rank that gave no sign of life afterwards.
const Record* loss_of(const Scene& scene, const Actor& lost) {
  const Record* best = nullptr;
  for (const Actor& actor : scene.actors) {
    for (const Record& event : actor.history.events) {
      if (event.kind != RecordKind::PeerLost || event.peer != lost.rank() || event.evidence() == LossEvidence::Deadline) continue;
      const std::uint64_t told = actor.common(event.time_ns) + actor.error_ns + lost.error_ns;
      if (lost.last_sign_ns > told) continue;
      if (best == nullptr || best->evidence() < event.evidence()) best = &event;
    }
  }
  return best;
}

/// What a rank was in when it ended.
std::string last_words(const Scene& scene, const Actor& actor) {
  const Operation* open = nullptr;
  for (const Operation& operation : actor.history.operations) {
    if (!operation.status && !is_point_to_point(operation.issued.op)) open = &operation;
  }
  if (open == nullptr) return "outside of any collective";
  for (const Ensemble& ensemble : scene.ensembles) {
    if (ensemble.group == open->issued.group && ensemble.generation == open->issued.generation) {
      return cat("in ", place_of(open->issued, ensemble), open->started_ns == 0 ? ", before its first byte" : "");
    }
  }
  return "in a collective";
}

Finding dead_finding(const Scene& scene, const Actor& actor, const std::string& how) {
  Finding finding{.kind = FindingKind::DeadRank, .ranks = {actor.rank()}, .group = {}, .time_ns = actor.last_sign_ns, .words = {}};
  finding.words = cat("rank ", actor.rank(), " ", how, " ", last_words(scene, actor), ", ",
                      duration_text(scene.end_ns - actor.last_sign_ns), " before the end of the recordings");
  for (const Operation& operation : actor.history.operations) {
    if (operation.status || is_point_to_point(operation.issued.op)) continue;
    finding.sequence = operation.issued.sequence;
    finding.generation = operation.issued.generation;
  }
  return finding;
}

}  // namespace

std::vector<const Ensemble*> newest_ensembles(const Scene& scene) {
  std::map<std::uint32_t, const Ensemble*> newest;
  for (const Ensemble& ensemble : scene.ensembles) {
    const Ensemble*& chosen = newest[ensemble.group];
    if (chosen == nullptr || chosen->generation < ensemble.generation) chosen = &ensemble;
  }
  std::vector<const Ensemble*> list;
  for (const auto& [group, ensemble] : newest) list.push_back(ensemble);
  return list;
}

std::vector<Wait> find_waits(const Scene& scene) {
  std::vector<Wait> waits;
  for (const Ensemble* const ensemble : newest_ensembles(scene)) {
    for (const auto& [sequence, round] : ensemble->rounds) add_round(scene, *ensemble, sequence, waits);
  }
  add_pairs(scene, waits);
  return waits;
}

std::uint64_t failure_ns(const Scene& scene) {
  std::uint64_t first = scene.end_ns;
  for (const Ensemble* const ensemble : newest_ensembles(scene)) {
    for (const auto& [sequence, round] : ensemble->rounds) {
      for (const auto& [rank, take] : round) {
        if (!take.operation->status || !take.operation->is_open()) continue;
        first = std::min(first, scene.actors[take.actor].common(take.operation->finished_ns));
      }
    }
    for (const Actor& actor : scene.actors) {
      for (const Record& event : actor.history.events) {
        if (event.kind == RecordKind::Revoked && event.generation == ensemble->generation)
          first = std::min(first, actor.common(event.time_ns));
      }
    }
  }
  return first;
}

std::vector<Finding> find_dead(const Scene& scene, const std::vector<Wait>& waits, const AnalyzeOptions& options) {
  std::vector<Finding> findings;
  std::set<std::int32_t> needed;
  for (const Wait& wait : waits) needed.insert(wait.to);
  for (const Actor& actor : scene.actors) {
    const RecordingEnd ending = actor.recording->ending;
    if (ending == RecordingEnd::Left) continue;
    if (ending == RecordingEnd::Closed) {
      if (needed.count(actor.rank()) == 0) continue;
      findings.push_back(dead_finding(scene, actor, "ended by itself, without leaving its group,"));
      continue;
    }
    const Record* const loss = loss_of(scene, actor);
    const bool silent = actor.recording->beat_interval_ns != 0 && scene.end_ns - actor.last_sign_ns > silent_after_ns(actor, options);
    if (!silent && loss == nullptr) continue;
    const bool seen = loss != nullptr && loss->evidence() == LossEvidence::Exit;
    Finding finding = dead_finding(scene, actor, seen ? "died" : "died, or was stopped,");
    if (loss != nullptr) finding.evidence.push_back(cat("a peer lost it: ", name_of(loss->evidence())));
    if (silent) finding.evidence.push_back(cat("no beat for ", duration_text(scene.end_ns - actor.last_sign_ns)));
    findings.push_back(std::move(finding));
  }
  for (const std::int32_t rank : needed) {
    if (scene.find(rank) != nullptr) continue;
    findings.push_back(
        {.kind = FindingKind::MissingRecording,
         .ranks = {rank},
         .group = {},
         .time_ns = scene.end_ns,
         .words = cat("others wait for rank ", rank, ", of which there is no recording: it never began, or its host is gone")});
  }
  return findings;
}

}  // namespace resilin::dist
