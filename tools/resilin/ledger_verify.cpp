// tools/resilin/ledger_verify.cpp -- merges the ledger files of a job and checks what must hold of them together.
#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "resilin/base/error.h"

#include "tools/resilin/ledger.h"
#include "tools/resilin/ledger_read.h"

namespace resilin::tool {
namespace {

/// Sums of hostile numbers end at the largest one.
i64 add_capped(i64 a, i64 b) {
  i64 sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<i64>::max() : sum;
}

struct PlacedTry {
  const LedgerFile* file;
  const LedgerTry* entry;
};
struct PlacedDone {
  const LedgerFile* file;
  const LedgerDone* entry;
};

/// The samples that committed steps of one epoch visited.
struct Epoch {
  std::unordered_map<i64, i64> step_of;  // sample -> the step that visited it first
  i64 steps = 0;
  i64 short_of = 0;  // what its steps lack to a whole batch
  i64 first_step = -1;
  i64 last_step = -1;
};

class Verifier {
 public:
  explicit Verifier(const std::vector<LedgerFile>& files) : files_(files) {}
  LedgerAccount run();

 private:
  void violate(const char* kind, LedgerViolation violation);
  void check_headers();
  void collect();
  void check_order(const LedgerFile& file);
  void check_steps();
  void check_gap(i64 from, i64 to);
  void check_one_step(i64 step, const std::vector<PlacedDone>& dones);
  void check_votes(const CommitId& id);
  void check_samples(const CommitId& id);
  void check_epochs();
  void count_epoch(i64 number, const Epoch& epoch, bool finished);
  i64 steps_per_epoch() const { return common_->samples_per_epoch / common_->batch; }

  const std::vector<LedgerFile>& files_;
  const LedgerHeader* common_ = nullptr;  // of the first file that has one
  std::map<CommitId, std::vector<PlacedTry>> tries_;
  std::map<i64, std::vector<PlacedDone>> dones_;  // by step
  std::map<i64, Epoch> epochs_;
  LedgerAccount account_;
};

void Verifier::violate(const char* kind, LedgerViolation violation) {
  violation.kind = kind;
  if (++account_.kinds[kind] <= LedgerAccount::kListed) account_.violations.push_back(std::move(violation));
}

LedgerAccount Verifier::run() {
  account_.files = static_cast<i64>(files_.size());
  check_headers();
  if (common_ == nullptr) return account_;
  account_.first_step = common_->first_step;
  account_.last_step = common_->first_step - 1;
  collect();
  check_steps();
  check_epochs();
  return account_;
}

void Verifier::check_headers() {
  for (const LedgerFile& file : files_) {
    account_.torn += file.torn ? 1 : 0;
    for (const LedgerFlaw& flaw : file.flaws) violate(flaw.kind, {.kind = {}, .file = file.name, .line = flaw.line, .text = flaw.text});
    if (!file.header) {
      if (!file.tries.empty() || !file.dones.empty())
        violate("header", {.kind = {}, .file = file.name, .line = 1, .text = "there are votes below no header"});
      continue;
    }
    if (common_ == nullptr) common_ = &*file.header;
    const LedgerHeader& a = *common_;
    const LedgerHeader& b = *file.header;
    if (a.job == b.job && a.first_step == b.first_step && a.batch == b.batch && a.samples_per_epoch == b.samples_per_epoch) continue;
    violate("header", {.kind = {},
                       .file = file.name,
                       .line = 1,
                       .text = cat("job \"", b.job.substr(0, 80), "\", first step ", b.first_step, ", batch ", b.batch, ", ",
                                   b.samples_per_epoch, " samples an epoch, but rank ", a.rank, ", life ", a.life, " says job \"",
                                   a.job.substr(0, 80), "\", first step ", a.first_step, ", batch ", a.batch, ", ", a.samples_per_epoch)});
  }
}

void Verifier::collect() {
  for (const LedgerFile& file : files_) {
    for (const LedgerTry& entry : file.tries) tries_[entry.id].push_back({&file, &entry});
    for (const LedgerDone& entry : file.dones) dones_[entry.id.step].push_back({&file, &entry});
    check_order(file);
  }
}

/// A life does steps in ascending order, each after its own vote on it.
void Verifier::check_order(const LedgerFile& file) {
  std::size_t read = 0;
  std::set<CommitId> tried;
  std::map<i64, const LedgerDone*> before;  // by step
  for (const LedgerDone& done : file.dones) {
    for (; read < file.tries.size() && file.tries[read].line < done.line; ++read) tried.insert(file.tries[read].id);
    const i64 step = done.id.step;
    if (const auto later = before.lower_bound(step); later != before.end()) {
      const char* how = later->first == step ? " is done twice by this life: it was as " : " is done out of order: after ";
      violate("order", {.kind = {},
                        .file = file.name,
                        .line = done.line,
                        .step = step,
                        .text = cat("step ", step, how, later->second->id, " of line ", later->second->line)});
    }
    if (!tried.contains(done.id)) {
      violate("order", {.kind = {},
                        .file = file.name,
                        .line = done.line,
                        .step = step,
                        .text = cat("step ", step, " is done as ", done.id, ", for which this life did not vote before")});
    }
    before.insert({step, &done});
  }
}

void Verifier::check_steps() {
  i64 expected = common_->first_step;
  for (const auto& [step, dones] : dones_) {
    if (step < common_->first_step) {
      violate("order", {.kind = {},
                        .file = dones[0].file->name,
                        .line = dones[0].entry->line,
                        .step = step,
                        .text = cat("step ", step, " is done; the job begins with step ", common_->first_step)});
      continue;
    }
    if (step > expected) check_gap(expected, step - 1);
    ++account_.steps;
    account_.last_step = step;
    check_one_step(step, dones);
    expected = add_capped(step, 1);
  }
}

void Verifier::check_gap(i64 from, i64 to) {
  account_.steps_missing = add_capped(account_.steps_missing, add_capped(to - from, 1));
  const std::string which = from == to ? cat("step ", from, " is") : cat("steps ", from, " to ", to, " are");
  violate("missing step", {.kind = {}, .file = {}, .step = from, .text = cat(which, " done by nobody, but step ", to + 1, " is")});
}

void Verifier::check_one_step(i64 step, const std::vector<PlacedDone>& dones) {
  const PlacedDone& first = dones[0];
  std::set<CommitId> commits;
  std::set<std::string> states;
  for (const PlacedDone& done : dones) {
    const std::string other = cat(first.file->name, ":", first.entry->line);
    if (commits.insert(done.entry->id).second && commits.size() > 1) {
      violate("lost commit", {.kind = {},
                              .file = done.file->name,
                              .line = done.entry->line,
                              .step = step,
                              .text = cat("step ", step, " is done as ", done.entry->id, ", but ", other, " did it as ", first.entry->id)});
    }
    if (states.insert(done.entry->state).second && states.size() > 1) {
      violate("state", {.kind = {},
                        .file = done.file->name,
                        .line = done.entry->line,
                        .step = step,
                        .text = cat("step ", step, " gave state ", done.entry->state.substr(0, 80), ", but by ", other, " ",
                                    first.entry->state.substr(0, 80))});
    }
  }
  account_.steps_twice += commits.size() > 1 ? 1 : 0;
  account_.states_differ += states.size() > 1 ? 1 : 0;
  for (const CommitId& id : commits) check_votes(id);
  // Of a lost commit the later one is what training went on from.
  check_samples(*commits.rbegin());
}

/// The first try that says which epoch it is of: one without samples has none, and writes anything there.
const PlacedTry& first_with_samples(const std::vector<PlacedTry>& tries) {
  const auto found = std::ranges::find_if(tries, [](const PlacedTry& vote) { return !vote.entry->samples.empty(); });
  return found == tries.end() ? tries[0] : *found;
}

/// One try of each of `world` group ranks, all of one epoch.
void Verifier::check_votes(const CommitId& id) {
  const auto found = tries_.find(id);
  if (found == tries_.end()) {
    violate("votes",
            {.kind = {}, .file = {}, .step = id.step, .text = cat("step ", id.step, " is done as ", id, ", for which nobody voted")});
    return;
  }
  const std::vector<PlacedTry>& tries = found->second;
  const PlacedTry& first = tries[0];
  const PlacedTry& dated = first_with_samples(tries);
  std::map<i64, const PlacedTry*> ranks;
  const auto complain = [&](const PlacedTry& vote, const std::string& text) {
    violate("votes", {.kind = {}, .file = vote.file->name, .line = vote.entry->line, .step = id.step, .text = cat("the vote ", id, text)});
  };
  for (const PlacedTry& vote : tries) {
    const LedgerTry& entry = *vote.entry;
    const std::string other = cat(first.file->name, ":", first.entry->line);
    if (entry.world != first.entry->world)
      complain(vote, cat(" is of a world of ", entry.world, ", but by ", other, " of ", first.entry->world));
    if (entry.epoch != dated.entry->epoch && !entry.samples.empty()) {
      complain(vote, cat(" is of epoch ", entry.epoch, ", but by ", dated.file->name, ":", dated.entry->line, " of ", dated.entry->epoch));
    }
    if (entry.group_rank >= entry.world) complain(vote, cat(" is of group rank ", entry.group_rank, " in a world of ", entry.world));
    const auto [earlier, is_new] = ranks.insert({entry.group_rank, &vote});
    if (!is_new) {
      complain(vote, cat(" is the second one of group rank ", entry.group_rank, "; the first is ", earlier->second->file->name, ":",
                         earlier->second->entry->line));
    }
  }
  if (static_cast<i64>(ranks.size()) < first.entry->world) {
    i64 absent = 0;
    while (ranks.contains(absent)) ++absent;
    complain(first, cat(" was committed with the tries of ", ranks.size(), " of ", first.entry->world, " group ranks; that of group rank ",
                        absent, " is missing"));
  }
}

/// The batch of a committed step, each id once and of this epoch.
void Verifier::check_samples(const CommitId& id) {
  const auto found = tries_.find(id);
  i64 visits = 0;
  const i64 number = found == tries_.end() ? 0 : first_with_samples(found->second).entry->epoch;
  Epoch* const epoch = found == tries_.end() ? nullptr : &epochs_[number];
  for (const PlacedTry& vote : epoch == nullptr ? std::vector<PlacedTry>() : found->second) {
    for (const i64 sample : vote.entry->samples) {
      const auto complain = [&](const std::string& text) {
        violate("samples", {.kind = {},
                            .file = vote.file->name,
                            .line = vote.entry->line,
                            .step = id.step,
                            .text = cat("step ", id.step, " has sample ", sample, text)});
      };
      if (sample < 0 || sample >= common_->samples_per_epoch) {
        complain(cat(", which is outside of 0 to ", common_->samples_per_epoch - 1));
        continue;
      }
      const auto [first, is_new] = epoch->step_of.insert({sample, id.step});
      // An id that an earlier step had is one of this step's batch all the same.
      visits += is_new || first->second != id.step ? 1 : 0;
      if (is_new) continue;
      ++account_.samples_twice;
      complain(first->second == id.step ? std::string(" twice") : cat(", which step ", first->second, " of epoch ", number, " had"));
      first->second = id.step;
    }
  }
  if (visits > common_->batch || visits < common_->batch) {
    violate("samples", {.kind = {},
                        .file = {},
                        .step = id.step,
                        .text = cat("step ", id.step, " has ", visits, " different samples; the batch is ", common_->batch)});
  }
  const i64 lacking = std::max<i64>(common_->batch - visits, 0);
  if (epoch == nullptr) {
    account_.samples_missing = add_capped(account_.samples_missing, lacking);
    return;
  }
  epoch->short_of = add_capped(epoch->short_of, lacking);
  if (epoch->steps++ == 0) epoch->first_step = id.step;
  epoch->last_step = id.step;
}

/// Epochs follow each other, and one that is over has visited all but the dropped rest.
void Verifier::check_epochs() {
  i64 expected = epochs_.empty() ? 0 : epochs_.begin()->first;
  if (common_->first_step == 0) expected = 0;
  i64 latest = -1;
  for (const auto& [number, epoch] : epochs_) {
    if (number > expected) {
      const i64 skipped = number - expected;
      i64 lost = 0;
      if (__builtin_mul_overflow(skipped, steps_per_epoch() * common_->batch, &lost)) lost = std::numeric_limits<i64>::max();
      account_.samples_missing = add_capped(account_.samples_missing, lost);
      const std::string which = skipped == 1 ? cat("epoch ", expected, " has") : cat("epochs ", expected, " to ", number - 1, " have");
      violate("epoch", {.kind = {}, .file = {}, .text = cat(which, " no step, but epoch ", number, " has begun")});
    }
    if (epoch.first_step < latest) {
      violate("epoch",
              {.kind = {},
               .file = {},
               .step = epoch.first_step,
               .text = cat("epoch ", number, " begins with step ", epoch.first_step, ", before step ", latest, " of an earlier epoch")});
    }
    latest = std::max(latest, epoch.last_step);
    count_epoch(number, epoch, number != epochs_.rbegin()->first);
    expected = add_capped(number, 1);
  }
}

void Verifier::count_epoch(i64 number, const Epoch& epoch, bool finished) {
  account_.samples = add_capped(account_.samples, static_cast<i64>(epoch.step_of.size()));
  // A job that was resumed had the beginning of its first epoch before.
  const bool whole = finished && (common_->first_step == 0 || number != epochs_.begin()->first);
  const i64 lacking = steps_per_epoch() * common_->batch - static_cast<i64>(epoch.step_of.size());
  account_.samples_missing = add_capped(account_.samples_missing, whole ? std::max<i64>(lacking, 0) : epoch.short_of);
  if (epoch.steps > steps_per_epoch() || (whole && epoch.steps < steps_per_epoch())) {
    violate("epoch", {.kind = {},
                      .file = {},
                      .step = epoch.last_step,
                      .text = cat("epoch ", number, " has ", epoch.steps, " steps; ", common_->samples_per_epoch, " samples in batches of ",
                                  common_->batch, " make ", steps_per_epoch())});
  }
}

}  // namespace

LedgerAccount verify_ledger(const std::string& folder) { return Verifier(read_ledger(folder)).run(); }

}  // namespace resilin::tool
