// tools/resilin/run_result.cpp -- the figures of a finished run.
#include "tools/resilin/run_result.h"

#include <algorithm>

#include "resilin/base/json.h"

namespace resilin::tool {
namespace {

std::optional<double> number_of(const Event& event, std::string_view name) {
  const Json* const found = event.find(name);
  return found != nullptr && found->is_number() ? std::optional(found->number()) : std::nullopt;
}

std::vector<Event> only(const std::vector<Event>& events, std::string_view what) {
  std::vector<Event> found;
  std::ranges::copy_if(events, std::back_inserter(found), [&](const Event& event) { return event.what == what; });
  std::ranges::stable_sort(found, {}, &Event::t_us);
  return found;
}

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double ms_between(const Event& from, const Event& to) { return static_cast<double>(to.t_us - from.t_us) * 1e-3; }

/// The first commit after the kill by votes of a generation that began after it.
std::optional<double> kill_to_next_commit_ms(const std::vector<Event>& kills, const std::vector<Event>& commits) {
  const auto is_lethal = [](const Event& kill) { return number_of(kill, "signal") == 9; };
  const auto kill = std::ranges::find_if(kills, is_lethal);
  if (kill == kills.end()) return std::nullopt;
  double generation = 0;
  for (const Event& commit : commits) {
    if (commit.t_us <= kill->t_us) generation = number_of(commit, "generation").value_or(0);
  }
  for (const Event& commit : commits) {
    if (commit.t_us > kill->t_us && number_of(commit, "generation").value_or(0) > generation) return ms_between(*kill, commit);
  }
  return std::nullopt;
}

std::optional<double> respawn_to_full_ms(const std::vector<Event>& starts, const std::vector<Event>& commits) {
  const auto respawn = std::ranges::find_if(starts, [](const Event& start) { return start.life > 0; });
  if (respawn == starts.end() || commits.empty()) return std::nullopt;
  const std::optional<double> full = number_of(commits.front(), "world");
  for (const Event& commit : commits) {
    if (commit.t_us > respawn->t_us && number_of(commit, "world") >= full) return ms_between(*respawn, commit);
  }
  return std::nullopt;
}

/// All tokens of the steps after the first, over the time that they took.
std::optional<double> tokens_per_s(const std::vector<Event>& runs, const std::vector<Event>& commits) {
  if (runs.empty() || commits.size() < 2) return std::nullopt;
  const double seconds = ms_between(commits.front(), commits.back()) * 1e-3;
  const double steps = number_of(commits.back(), "step").value_or(0) - number_of(commits.front(), "step").value_or(0);
  if (seconds <= 0) return std::nullopt;
  return steps * number_of(runs.front(), "tokens_per_step").value_or(0) / seconds;
}

std::optional<double> ft_percent(const std::vector<Event>& commits) {
  double protects_ms = 0, all_ms = 0;
  for (const Event& commit : commits) {
    protects_ms += number_of(commit, "ft_ms").value_or(0);
    all_ms += number_of(commit, "step_ms").value_or(0);
  }
  return all_ms > 0 ? std::optional(100 * protects_ms / all_ms) : std::nullopt;
}

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

RunResult run_result(const std::vector<Event>& events, const LedgerAccount& account, i64 launches) {
  const std::vector<Event> commits = only(events, "commit"), starts = only(events, "start"), held_out = only(events, "held_out");
  RunResult result;
  if (!held_out.empty()) {
    result.heldout_loss = number_of(held_out.back(), "loss");
    result.bigram_entropy = number_of(held_out.back(), "bigram_entropy");
  }
  result.steps = account.steps;
  result.committed_steps_lost = account.steps_twice + account.steps_missing;
  result.samples_missing = account.samples_missing;
  result.samples_twice = account.samples_twice;
  result.kill_to_next_commit_ms = kill_to_next_commit_ms(only(events, "kill"), commits);
  std::vector<double> step_ms;
  for (const Event& commit : commits) step_ms.push_back(number_of(commit, "step_ms").value_or(0));
  result.step_ms_median = median_of(std::move(step_ms));
  result.respawn_to_full_ms = respawn_to_full_ms(starts, commits);
  result.restarts = launches - 1;
  result.respawns = std::ranges::count_if(starts, [](const Event& start) { return start.life > 0; });
  result.tokens_per_s = tokens_per_s(only(events, "run"), commits);
  result.attributed_ft_percent = ft_percent(commits);
  return result;
}

std::string result_json(const RunResult& result) {
  const Json::Object members = {{"heldout_loss", json_of(result.heldout_loss)},
                                {"bigram_entropy", json_of(result.bigram_entropy)},
                                {"steps", result.steps},
                                {"committed_steps_lost", result.committed_steps_lost},
                                {"samples_missing", result.samples_missing},
                                {"samples_twice", result.samples_twice},
                                {"kill_to_next_commit_ms", json_of(result.kill_to_next_commit_ms)},
                                {"step_ms_median", json_of(result.step_ms_median)},
                                {"respawn_to_full_ms", json_of(result.respawn_to_full_ms)},
                                {"restarts", result.restarts},
                                {"respawns", result.respawns},
                                {"tokens_per_s", json_of(result.tokens_per_s)},
                                {"attributed_ft_percent", json_of(result.attributed_ft_percent)},
                                {"report", result.report}};
  std::string text = "{";
  for (std::size_t i = 0; i < members.size(); ++i)
    text += cat(i == 0 ? "\n" : ",\n", "  ", write_json(members[i].first), ": ", write_json(members[i].second));
  return text + "\n}\n";
}

}  // namespace resilin::tool
