// src/resilin/dist/recorder/stuck.cpp -- ranks that do not come, ranks that wait in a circle, and ranks that are merely slow.
#include <algorithm>
#include <map>

#include "resilin/base/text.h"
#include "resilin/dist/recorder/verdicts.h"

namespace resilin::dist {
namespace {

std::uint64_t median(std::vector<std::uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A rank's usual step; without marks of steps, its usual time from one operation to the next.
std::uint64_t usual_step_ns(const Actor& actor) {
  std::vector<std::uint64_t> durations;
  const std::vector<RecordedStep>& steps = actor.history.steps;
  for (std::size_t i = 1; i < steps.size(); ++i) durations.push_back(steps[i].began_ns - steps[i - 1].began_ns);
  if (!durations.empty()) return median(std::move(durations));
  const std::vector<Operation>& operations = actor.history.operations;
  for (std::size_t i = 1; i < operations.size(); ++i) {
    if (operations[i - 1].issued.time_ns != 0) durations.push_back(operations[i].issued.time_ns - operations[i - 1].issued.time_ns);
  }
  return median(std::move(durations));
}

/// The last thing that a rank's own program did, before `until` of the common clock.
std::uint64_t last_deed_ns(const Actor& actor, std::uint64_t until_ns) {
  std::uint64_t last = actor.common(actor.recording->opened_ns);
  for (const Record& record : actor.recording->records) {
    const bool own = record.kind == RecordKind::Issued || record.kind == RecordKind::Step || record.kind == RecordKind::WaitEnded ||
                     record.kind == RecordKind::Finished;
    const std::uint64_t time = actor.common(record.time_ns);
    if (own && time < until_ns) last = std::max(last, time);
  }
  return last;
}

const Wait* oldest(const std::vector<const Wait*>& waits) {
  return *std::min_element(waits.begin(), waits.end(), [](const Wait* a, const Wait* b) { return a->since_ns < b->since_ns; });
}

void set_place(Finding& finding, const Wait& wait) {
  finding.generation = wait.operation->issued.generation;
  finding.sequence = wait.operation->issued.sequence;
  if (wait.ensemble != nullptr) finding.group = wait.ensemble->name;
}

std::string operation_text(const Wait& wait) {
  if (wait.ensemble != nullptr) return place_of(wait.operation->issued, *wait.ensemble);
  return cat(name_of(wait.operation->issued.op), " #", wait.operation->issued.sequence, " with rank ", wait.operation->issued.peer);
}

Finding stuck_finding(const Scene& scene, const Actor& actor, const std::vector<const Wait*>& waits, std::uint64_t idle_ns) {
  const Wait& wait = *oldest(waits);
  std::vector<std::int32_t> waiting;
  for (const Wait* const other : waits) waiting.push_back(other->from);
  std::sort(waiting.begin(), waiting.end());
  waiting.erase(std::unique(waiting.begin(), waiting.end()), waiting.end());
  Finding finding{.kind = FindingKind::Stuck, .ranks = {actor.rank()}, .group = {}, .time_ns = failure_ns(scene) - idle_ns, .words = {}};
  set_place(finding, wait);
  finding.words = cat("rank ", actor.rank(), " lives but did not come to ", operation_text(wait), ": it has done nothing for ",
                      duration_text(idle_ns), " while ", ranks_text(waiting), waiting.size() == 1 ? " waits" : " wait", " for it");
  return finding;
}

/// Ranks from which one can walk along waits and come back.
class Circles {
 public:
  explicit Circles(const std::vector<Wait>& waits) {
    for (const Wait& wait : waits) next_[wait.from].insert(wait.to);
  }
  /// All that can be reached from `rank`.
  std::set<std::int32_t> reach(std::int32_t rank) const {
    std::set<std::int32_t> seen;
    std::vector<std::int32_t> pending = {rank};
    while (!pending.empty()) {
      const auto found = next_.find(pending.back());
      pending.pop_back();
      if (found == next_.end()) continue;
      for (const std::int32_t to : found->second) {
        if (seen.insert(to).second) pending.push_back(to);
      }
    }
    return seen;
  }
  std::vector<std::vector<std::int32_t>> find() const {
    std::map<std::int32_t, std::set<std::int32_t>> reached;
    for (const auto& [rank, to] : next_) reached[rank] = reach(rank);
    std::vector<std::vector<std::int32_t>> circles;
    std::set<std::int32_t> placed;
    for (const auto& [rank, to] : reached) {
      if (to.count(rank) == 0 || placed.count(rank) != 0) continue;
      std::vector<std::int32_t> circle;
      for (const std::int32_t other : to) {
        const auto back = reached.find(other);
        if (back != reached.end() && back->second.count(rank) != 0) circle.push_back(other);
      }
      placed.insert(circle.begin(), circle.end());
      circles.push_back(std::move(circle));
    }
    return circles;
  }

 private:
  std::map<std::int32_t, std::set<std::int32_t>> next_;
};

/// A rank that did something unusual since the operation before the one in which others wait for it.
bool strayed_before(const Scene& scene, const Wait& wait) {
  if (wait.ensemble == nullptr) return false;
  const Actor& actor = *scene.find(wait.to);
  const Record& awaited = wait.operation->issued;
  const std::vector<Operation>& operations = actor.history.operations;
  const auto before = std::find_if(operations.rbegin(), operations.rend(), [&](const Operation& operation) {
    return operation.issued.group == awaited.group && operation.issued.generation == awaited.generation &&
           operation.issued.sequence < awaited.sequence;
  });
  return std::any_of(before.base(), operations.end(), [&](const Operation& operation) { return breaks_habit(actor, operation); });
}

/// Waits inside one circle. A rank that went on to another operation than it used to is why the others wait.
Finding judge_circle(const Scene& scene, const std::vector<std::int32_t>& circle, const std::vector<Wait>& waits) {
  std::vector<const Wait*> inside;
  std::set<std::int32_t> strayed;
  const std::set<std::int32_t> ranks(circle.begin(), circle.end());
  for (const Wait& wait : waits) {
    if (ranks.count(wait.from) == 0 || ranks.count(wait.to) == 0) continue;
    inside.push_back(&wait);
    if (strayed_before(scene, wait)) strayed.insert(wait.to);
  }
  Finding finding{.kind = FindingKind::WaitCycle, .ranks = circle, .group = {}, .words = {}};
  const Wait& first = *oldest(inside);
  finding.time_ns = first.since_ns;
  set_place(finding, first);
  for (const Wait* const wait : inside) {
    finding.evidence.push_back(cat("rank ", wait->from, " waits for rank ", wait->to, " in ", operation_text(*wait)));
  }
  if (strayed.size() != 1) {
    finding.words = cat(ranks_text(circle), " wait for one another: each is in an operation that another has not come to");
    return finding;
  }
  finding.kind = FindingKind::MissingOp;
  finding.ranks = {*strayed.begin()};
  for (const Wait* const wait : inside) {
    if (wait->to != *strayed.begin()) continue;
    set_place(finding, *wait);
    finding.words = cat("rank ", wait->to, " left out ", operation_text(*wait), " and waits elsewhere, as it never did before");
  }
  return finding;
}

/// One rank's part in the rounds that all members took part in.
struct Arrivals {
  std::uint64_t rounds = 0;
  std::uint64_t last = 0;                 // how often it came last
  std::vector<std::uint64_t> late_ns;     // after the median of the others, when last
  std::vector<std::uint64_t> between_ns;  // from the end of its operation before to this one
};

void count_arrivals(const Scene& scene, const Ensemble& ensemble, std::map<std::int32_t, Arrivals>& arrivals) {
  std::map<std::int32_t, std::uint64_t> finished;
  for (const auto& [sequence, round] : ensemble.rounds) {
    std::vector<std::pair<std::uint64_t, std::int32_t>> order;
    for (const auto& [rank, take] : round) {
      if (take.operation->issued.time_ns != 0 && is_synchronizing(take.operation->issued.op))
        order.emplace_back(scene.issued_ns(take), rank);
    }
    if (order.size() == ensemble.members.size() && order.size() > 1) {
      std::sort(order.begin(), order.end());
      for (const auto& [time, rank] : order) {
        Arrivals& its = arrivals[rank];
        ++its.rounds;
        if (finished.count(rank) != 0 && time > finished[rank]) its.between_ns.push_back(time - finished[rank]);
      }
      Arrivals& last = arrivals[order.back().second];
      ++last.last;
      last.late_ns.push_back(order.back().first - order[(order.size() - 1) / 2].first);
    }
    for (const auto& [rank, take] : round) {
      if (take.operation->finished_ns != 0) finished[rank] = scene.actors[take.actor].common(take.operation->finished_ns);
    }
  }
}

}  // namespace

std::uint64_t stuck_after_ns(const Scene& scene, const AnalyzeOptions& options) {
  std::uint64_t slowest = 0;
  for (const Actor& actor : scene.actors) slowest = std::max(slowest, usual_step_ns(actor));
  return std::max(options.stuck_floor_ns, options.stuck_steps * slowest);
}

std::vector<Finding> find_stuck(const Scene& scene, const std::vector<Wait>& waits, const std::set<std::int32_t>& gone,
                                const AnalyzeOptions& options) {
  std::set<std::int32_t> waiting;
  std::map<std::int32_t, std::vector<const Wait*>> awaited;
  for (const Wait& wait : waits) {
    waiting.insert(wait.from);
    awaited[wait.to].push_back(&wait);
  }
  const std::uint64_t failure = failure_ns(scene);
  std::vector<Finding> findings;
  for (const auto& [rank, by] : awaited) {
    const Actor* const actor = scene.find(rank);
    if (actor == nullptr || gone.count(rank) != 0 || waiting.count(rank) != 0) continue;
    if (actor->recording->ending == RecordingEnd::Left) {
      Finding finding{.kind = FindingKind::MissingOp, .ranks = {rank}, .group = {}, .time_ns = actor->last_sign_ns, .words = {}};
      set_place(finding, *oldest(by));
      finding.words = cat("rank ", rank, " left in good order without ", operation_text(*oldest(by)), ", in which others wait for it");
      findings.push_back(std::move(finding));
      continue;
    }
    const std::uint64_t last = last_deed_ns(*actor, failure);
    const std::uint64_t idle = failure > last ? failure - last : 0;
    const bool timed_out = std::ranges::any_of(by, [](const Wait* wait) { return wait->operation->status == RecordedStatus::TimedOut; });
    const bool absent_all_along = timed_out && last <= oldest(by)->since_ns + actor->error_ns;
    if (idle >= stuck_after_ns(scene, options) || absent_all_along) findings.push_back(stuck_finding(scene, *actor, by, idle));
  }
  return findings;
}

std::vector<Finding> find_cycles(const Scene& scene, const std::vector<Wait>& waits, const std::set<std::int32_t>& gone) {
  std::vector<Wait> living;
  for (const Wait& wait : waits) {
    if (gone.count(wait.from) == 0 && gone.count(wait.to) == 0 && scene.find(wait.to) != nullptr) living.push_back(wait);
  }
  std::vector<Finding> findings;
  for (const std::vector<std::int32_t>& circle : Circles(living).find()) findings.push_back(judge_circle(scene, circle, living));
  return findings;
}

std::vector<Finding> find_stragglers(const Scene& scene) {
  constexpr std::uint64_t kFewestRounds = 5;
  constexpr std::uint64_t kLeastNs = 1'000'000;
  std::map<std::int32_t, Arrivals> arrivals;
  for (const Ensemble* const ensemble : newest_ensembles(scene)) count_arrivals(scene, *ensemble, arrivals);
  std::vector<Finding> findings;
  for (const auto& [rank, its] : arrivals) {
    std::vector<std::uint64_t> others;
    for (const auto& [other, theirs] : arrivals) {
      if (other != rank) others.insert(others.end(), theirs.between_ns.begin(), theirs.between_ns.end());
    }
    const std::uint64_t late = median(its.late_ns), usual = median(std::move(others));
    const std::uint64_t least = std::max({kLeastNs, 2 * usual, 3 * scene.find(rank)->error_ns});
    if (its.rounds < kFewestRounds || its.last * 10 < its.rounds * 7 || late < least) continue;
    Finding finding{.kind = FindingKind::Straggler, .blames = false, .ranks = {rank}, .group = {}, .time_ns = scene.end_ns, .words = {}};
    finding.words = cat("rank ", rank, " is slow and healthy: it came last in ", its.last, " of ", its.rounds, " collectives, by ",
                        duration_text(late), ", where others take ", duration_text(usual));
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace resilin::dist
