// src/resilin/dist/recorder/verdicts.h -- Internal: the questions that an analysis asks of a scene, one function each.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "resilin/dist/recorder/scene.h"

namespace resilin::dist {

/// `from` sleeps in an operation that cannot end before `to` comes to it.
struct Wait {
  std::int32_t from = 0;
  std::int32_t to = 0;
  const Ensemble* ensemble = nullptr;  // null pointer: a send or receive
  const Operation* operation = nullptr;
  std::uint64_t since_ns = 0;  // in the common clock
};

/// The ensembles that still matter: each group's newest generation.
std::vector<const Ensemble*> newest_ensembles(const Scene& scene);

std::vector<Wait> find_waits(const Scene& scene);

/// When the first operation failed, or a rank learnt of it; the end of the scene when nothing did.
std::uint64_t failure_ns(const Scene& scene);

/// Ranks without a sign of life, and ranks that ended while others need them.
std::vector<Finding> find_dead(const Scene& scene, const std::vector<Wait>& waits, const AnalyzeOptions& options);
/// Ranks whose operations are not those of their group: missing, extra, or other ones.
std::vector<Finding> find_divergences(const Scene& scene);
/// Ranks that live, wait for nobody, and do not come; ranks in `gone` are left out.
std::vector<Finding> find_stuck(const Scene& scene, const std::vector<Wait>& waits, const std::set<std::int32_t>& gone,
                                const AnalyzeOptions& options);
/// Ranks that wait for one another, and so for ever.
std::vector<Finding> find_cycles(const Scene& scene, const std::vector<Wait>& waits, const std::set<std::int32_t>& gone);
/// Links between living ranks that bytes do not pass, and ranks that hang inside an operation.
std::vector<Finding> find_partitions(const Scene& scene, const std::set<std::int32_t>& gone, const AnalyzeOptions& options);
/// Ranks that the others usually wait for.
std::vector<Finding> find_stragglers(const Scene& scene);

/// How long nothing must have happened for a rank to be stuck.
std::uint64_t stuck_after_ns(const Scene& scene, const AnalyzeOptions& options);

/// What operations of one round must have in common.
std::uint64_t operation_key(const Record& issued);
/// The place of the key with which a list goes on after its first `count`, told from the longest earlier stretch that ran alike.
std::optional<std::size_t> predict_next(const std::vector<std::uint64_t>& keys, std::size_t count);
/// An operation that its rank's own past did not lead to: another one came before at this place.
bool breaks_habit(const Actor& actor, const Operation& operation);

}  // namespace resilin::dist
