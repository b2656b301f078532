// src/resilin/dist/recorder/divergence.cpp -- ranks whose operations are not those of their group.
#include <algorithm>
#include <map>

#include "resilin/base/hash.h"
#include "resilin/base/text.h"
#include "resilin/dist/recorder/verdicts.h"

namespace resilin::dist {
namespace {

constexpr std::size_t kLongestHabit = 64;

/// The members of the group by what they did, or counted; those whose answer most others gave are right.
template <class Answer>
std::optional<Answer> majority(const std::map<std::int32_t, Answer>& answers) {
  std::map<Answer, std::size_t> votes;
  for (const auto& [rank, answer] : answers) ++votes[answer];
  std::size_t most = 0, at_most = 0;
  std::optional<Answer> best;
  for (const auto& [answer, count] : votes) {
    if (count == most) ++at_most;
    if (count <= most) continue;
    most = count;
    at_most = 1;
    best = answer;
  }
  return at_most == 1 ? best : std::nullopt;
}

/// One rank's operations in one group, in order.
struct Line {
  std::vector<std::uint64_t> sequences;
  std::vector<std::uint64_t> keys;
  std::vector<const Operation*> operations;

  std::size_t place_of(std::uint64_t sequence) const {
    return static_cast<std::size_t>(std::lower_bound(sequences.begin(), sequences.end(), sequence) - sequences.begin());
  }
};

Line line_of(const Ensemble& ensemble, std::int32_t rank) {
  Line line;
  for (const auto& [sequence, round] : ensemble.rounds) {
    const auto found = round.find(rank);
    if (found == round.end() || found->second.operation->issued.time_ns == 0) continue;
    line.sequences.push_back(sequence);
    line.keys.push_back(operation_key(found->second.operation->issued));
    line.operations.push_back(found->second.operation);
  }
  return line;
}

/// Whether the culprit's operation is what comes after the one that its group is at: the same operation, in the same step.
bool is_the_next(const Line& culprit, std::size_t c, const Line& right, std::size_t r) {
  const std::uint64_t done = culprit.keys[c], step = culprit.operations[c]->step;
  if (r + 1 < right.keys.size()) return right.keys[r + 1] == done && right.operations[r + 1]->step == step;
  const std::optional<std::size_t> next = predict_next(right.keys, r + 1);
  if (!next || right.keys[*next] != done) return false;
  const std::uint64_t steps_between = right.operations[*next]->step - right.operations[*next - 1]->step;
  return right.operations[r]->step + steps_between == step;
}

/// The operation of the culprit at `sequence`, against those of a rank that did what was to be done.
FindingKind kind_of(const Line& culprit, const Line& right, std::uint64_t sequence) {
  const std::size_t c = culprit.place_of(sequence), r = right.place_of(sequence);
  const Record& its = culprit.operations[c]->issued;
  const Record& theirs = right.operations[r]->issued;
  if (c + 1 < culprit.keys.size() && culprit.keys[c + 1] == right.keys[r]) return FindingKind::ExtraOp;
  if (is_the_next(culprit, c, right, r)) return FindingKind::MissingOp;
  if (c > 0 && culprit.keys[c - 1] == culprit.keys[c]) return FindingKind::ExtraOp;  // once more
  if (its.op == theirs.op) return FindingKind::Mismatch;
  // Another operation on the same data was meant to be this one; on other data it is one more.
  const bool same_data = its.input_elements == theirs.input_elements && its.dtype == theirs.dtype;
  return same_data ? FindingKind::Mismatch : FindingKind::ExtraOp;
}

std::string words_of(FindingKind kind, const std::vector<std::int32_t>& ranks, const Record& its, const Record& theirs,
                     const Ensemble& ensemble) {
  const std::string who = ranks_text(ranks);
  const std::string where = cat("operation #", theirs.sequence, " of group ", ensemble.name);
  if (kind == FindingKind::MissingOp) return cat(who, " left out ", describe(theirs), ", ", where, ", and went on to ", describe(its));
  if (kind == FindingKind::ExtraOp)
    return cat(who, " issued ", describe(its), ", which no other rank has, where ", where, " is ", describe(theirs));
  return cat(who, " issued ", describe(its), " as ", where, "; the others issued ", describe(theirs));
}

/// Who is right in a round that its members did differently: most of them, else those who did what they used to do.
std::optional<std::uint64_t> right_key(const Scene& scene, const std::map<std::int32_t, Take>& round) {
  std::map<std::int32_t, std::uint64_t> keys, usual;
  for (const auto& [rank, take] : round) {
    if (take.operation->issued.time_ns == 0) continue;
    keys[rank] = operation_key(take.operation->issued);
    if (!breaks_habit(scene.actors[take.actor], *take.operation)) usual[rank] = keys[rank];
  }
  const std::optional<std::uint64_t> most = majority(keys);
  return most ? most : majority(usual);
}

std::optional<Finding> conflict_in(const Scene& scene, const Ensemble& ensemble, std::uint64_t sequence) {
  const std::map<std::int32_t, Take>& round = ensemble.rounds.at(sequence);
  std::map<std::uint64_t, std::vector<std::int32_t>> by_key;
  for (const auto& [rank, take] : round) {
    if (take.operation->issued.time_ns != 0) by_key[operation_key(take.operation->issued)].push_back(rank);
  }
  if (by_key.size() < 2) return std::nullopt;
  Finding finding{
      .kind = FindingKind::Mismatch, .group = ensemble.name, .generation = ensemble.generation, .sequence = sequence, .words = {}};
  const std::optional<std::uint64_t> right = right_key(scene, round);
  if (!right) {
    for (const auto& [rank, take] : round) finding.ranks.push_back(rank);
    finding.time_ns = scene.issued_ns(round.begin()->second);
    finding.words = cat(ranks_text(finding.ranks), " did different things as operation #", sequence, " of group ", ensemble.name,
                        "; neither side is in the majority");
    for (const auto& [rank, take] : round) finding.evidence.push_back(cat("rank ", rank, ": ", describe(take.operation->issued)));
    return finding;
  }
  const std::int32_t witness = by_key.at(*right).front();
  for (const auto& [key, ranks] : by_key) {
    if (key != *right) finding.ranks.insert(finding.ranks.end(), ranks.begin(), ranks.end());
  }
  std::sort(finding.ranks.begin(), finding.ranks.end());
  const Take& first = round.at(finding.ranks.front());
  finding.kind = kind_of(line_of(ensemble, finding.ranks.front()), line_of(ensemble, witness), sequence);
  finding.time_ns = scene.issued_ns(first);
  finding.words = words_of(finding.kind, finding.ranks, first.operation->issued, round.at(witness).operation->issued, ensemble);
  return finding;
}

/// How many operations of a group a rank issued in a step; `whole` when no more can follow.
struct StepCount {
  std::uint64_t count = 0;
  bool whole = false;
  std::uint64_t began_ns = 0;
};

std::map<std::uint64_t, std::map<std::int32_t, StepCount>> count_steps(const Scene& scene, const Ensemble& ensemble) {
  std::map<std::uint64_t, std::map<std::int32_t, StepCount>> counts;
  for (const std::int32_t rank : ensemble.members) {
    const Actor* const actor = scene.find(rank);
    if (actor == nullptr) continue;
    std::map<std::uint64_t, int> begun;
    for (const RecordedStep& step : actor->history.steps) {
      counts[step.step][rank] = {0, step.whole || actor->recording->ending == RecordingEnd::Left, actor->common(step.began_ns)};
      ++begun[step.step];
    }
    for (const Operation& operation : actor->history.operations) {
      if (operation.issued.group != ensemble.group || operation.issued.generation != ensemble.generation) continue;
      const auto found = counts.find(operation.step);
      if (operation.issued.time_ns == 0 || is_point_to_point(operation.issued.op) || found == counts.end()) continue;
      if (found->second.count(rank) != 0) ++found->second[rank].count;
    }
    // A step that was tried again has no count.
    for (const auto& [step, times] : begun) {
      if (times > 1) counts[step].erase(rank);
    }
  }
  return counts;
}

/// A rank that ended a step with fewer or more operations than the others. `before` is the count on which all agreed last.
std::optional<Finding> uneven_step(const Ensemble& ensemble, std::uint64_t step, const std::map<std::int32_t, StepCount>& counts,
                                   std::optional<std::uint64_t> before) {
  std::optional<std::uint64_t> least_whole;
  for (const auto& [rank, count] : counts) {
    if (count.whole) least_whole = std::min(least_whole.value_or(count.count), count.count);
  }
  if (!least_whole) return std::nullopt;
  std::map<std::int32_t, std::uint64_t> votes;
  for (const auto& [rank, count] : counts) {
    if (count.whole || count.count > *least_whole) votes[rank] = count.count;
  }
  std::optional<std::uint64_t> right = majority(votes);
  if (!right) right = before;
  if (!right) return std::nullopt;
  Finding finding{.kind = FindingKind::MissingOp, .group = ensemble.name, .generation = ensemble.generation, .words = {}};
  for (const auto& [rank, vote] : votes) {
    if (vote == *right || (vote < *right && !counts.at(rank).whole)) continue;
    finding.kind = vote < *right ? FindingKind::MissingOp : FindingKind::ExtraOp;
    finding.ranks.push_back(rank);
    finding.time_ns = counts.at(rank).began_ns;
    finding.words = cat(ranks_text(finding.ranks), " issued ", vote, " operations of group ", ensemble.name, " in step ", step,
                        "; the others issued ", *right);
  }
  if (finding.ranks.empty()) return std::nullopt;
  return finding;
}

std::optional<Finding> first_uneven_step(const Scene& scene, const Ensemble& ensemble) {
  std::optional<std::uint64_t> before;
  for (const auto& [step, counts] : count_steps(scene, ensemble)) {
    if (std::optional<Finding> finding = uneven_step(ensemble, step, counts, before)) return finding;
    std::set<std::uint64_t> whole;
    for (const auto& [rank, count] : counts) {
      if (count.whole) whole.insert(count.count);
    }
    if (whole.size() == 1 && counts.size() == ensemble.members.size()) before = *whole.begin();
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t operation_key(const Record& issued) {
  if (issued.signature != 0) return issued.signature;
  std::uint64_t key = hash_mix(static_cast<std::uint64_t>(issued.op), static_cast<std::uint64_t>(issued.dtype));
  key = hash_mix(key, static_cast<std::uint64_t>(issued.reduce));
  return hash_mix(hash_mix(key, static_cast<std::uint64_t>(issued.root)), issued.input_elements);
}

std::optional<std::size_t> predict_next(const std::vector<std::uint64_t>& keys, std::size_t count) {
  std::size_t longest = 0;
  std::optional<std::size_t> next;
  for (std::size_t end = count; end-- > 1;) {
    std::size_t alike = 0;
    while (alike < std::min(end, kLongestHabit) && keys[end - 1 - alike] == keys[count - 1 - alike]) ++alike;
    if (alike <= longest) continue;
    longest = alike;
    next = end;
  }
  return next;
}

bool breaks_habit(const Actor& actor, const Operation& operation) {
  std::vector<std::uint64_t> keys;
  for (const Operation& other : actor.history.operations) {
    if (other.issued.time_ns == 0) continue;
    const std::uint64_t key = hash_mix(other.issued.group, operation_key(other.issued));
    if (&other == &operation) {
      const std::optional<std::size_t> expected = predict_next(keys, keys.size());
      return expected && keys[*expected] != key;
    }
    keys.push_back(key);
  }
  return false;
}

std::vector<Finding> find_divergences(const Scene& scene) {
  std::vector<Finding> findings;
  for (const Ensemble* const ensemble : newest_ensembles(scene)) {
    std::optional<Finding> conflict;
    for (const auto& [sequence, round] : ensemble->rounds) {
      conflict = conflict_in(scene, *ensemble, sequence);
      if (conflict) break;
    }
    std::optional<Finding> uneven = first_uneven_step(scene, *ensemble);
    // Both tell of one fault; what came first is nearer to it.
    const bool keep_uneven = uneven && (!conflict || uneven->time_ns < conflict->time_ns);
    if (keep_uneven)
      findings.push_back(std::move(*uneven));
    else if (conflict)
      findings.push_back(std::move(*conflict));
  }
  // A rank that strayed in one group strays in others later: the first place counts.
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) { return a.time_ns < b.time_ns; });
  if (findings.size() > 1) findings.resize(1);
  return findings;
}

}  // namespace resilin::dist
