// tools/resilin/report_story.cpp -- what follows from the events of a run: markers, recoveries and the figures of its header.
#include "tools/resilin/report_story.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace resilin::tool {
namespace {

/// The last commit before this time; null pointer when there is none.
const CommitEvent* commit_before(const RunEvents& run, double t_s) {
  const CommitEvent* found = nullptr;
  for (const CommitEvent& commit : run.commits) {
    if (commit.t_s <= t_s) found = &commit;
  }
  return found;
}

/// The step that was under way at this time.
i64 step_at(const RunEvents& run, double t_s) {
  const CommitEvent* commit = commit_before(run, t_s);
  return commit == nullptr ? std::max<i64>(run.first_step, 0) : commit->step + 1;
}

Recovery recovery_of(const RunEvents& run, const KillEvent& kill) {
  Recovery recovery;
  recovery.kill = kill;
  const CommitEvent* before = commit_before(run, kill.t_s);
  i64 generation = -1, world = 0;
  for (const GenerationEvent& other : run.generations) {
    if (other.t_s <= kill.t_s) generation = other.generation, world = other.world;
  }
  if (before != nullptr) generation = std::max(generation, before->generation), world = std::max(world, before->world);
  for (const CommitEvent& commit : run.commits) {
    if (commit.t_s <= kill.t_s || commit.generation <= generation) continue;
    recovery.to_commit_ms = (commit.t_s - kill.t_s) * 1e3;
    recovery.commit_step = commit.step;
    break;
  }
  const auto next = run.lives.find({kill.rank, kill.life + 1});
  if (next == run.lives.end() || std::isnan(next->second.start_s)) return recovery;
  const double respawn_s = next->second.start_s;
  recovery.to_respawn_ms = (respawn_s - kill.t_s) * 1e3;
  for (const GenerationEvent& other : run.generations) {
    if (other.t_s < respawn_s || other.world < world || other.generation <= generation) continue;
    recovery.to_full_ms = (other.t_s - respawn_s) * 1e3;
    break;
  }
  for (const HealEvent& heal : run.heals) {
    if (heal.rank == kill.rank && heal.life == kill.life + 1) recovery.heal_ms = heal.ms, recovery.heal_bytes = heal.bytes;
  }
  return recovery;
}

std::vector<Marker> markers_of(const RunEvents& run) {
  std::vector<Marker> markers;
  for (const KillEvent& kill : run.kills) markers.push_back({MarkerKind::Kill, kill.t_s, kill.step, kill_text(kill)});
  for (const MarkerKind kind : {MarkerKind::Shrink, MarkerKind::Join, MarkerKind::Heal}) {
    const std::string_view name = enum_names(&kind)[static_cast<std::size_t>(kind)];
    for (const GenerationEvent& generation : run.generations) {
      if (generation.cause != name || (kind == MarkerKind::Heal && !run.heals.empty())) continue;
      markers.push_back({kind, generation.t_s, generation.step,
                         cat(name, ": generation ", generation.generation, " of ", generation.world, " ranks, step ", generation.step)});
    }
  }
  for (const HealEvent& heal : run.heals)
    markers.push_back({MarkerKind::Heal, heal.t_s, heal.step, cat("heal: rank ", heal.rank, " has its state, step ", heal.step)});
  return markers;
}

void add_shares(Story& story) {
  double ft_ms = 0, step_ms = 0, train_s = 0, all_s = 0;
  for (const CommitEvent& commit : story.run.commits) {
    if (!(commit.ft_ms >= 0) || !(commit.step_ms > 0)) continue;
    ft_ms += commit.ft_ms;
    step_ms += commit.step_ms;
  }
  if (step_ms > 0) story.ft_share = ft_ms / step_ms;
  for (const auto& [key, goodput] : story.run.goodput) {
    train_s += goodput.parts_s[0];
    all_s = std::accumulate(goodput.parts_s.begin(), goodput.parts_s.end(), all_s);
  }
  if (all_s > 0) story.goodput_share = train_s / all_s;
  for (const auto& [key, life] : story.run.lives) {
    if (!story.run.goodput.contains(key)) story.unreported.push_back(key);
  }
}

}  // namespace

double median_known(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return kUnknown;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string kill_text(const KillEvent& kill) {
  const std::string where = kill.step >= 0 ? cat(" at step ", kill.step) : "";
  return cat(kill.signal == 0 ? "end" : "kill", " of rank ", kill.rank, where);
}

Story make_story(RunEvents run) {
  Story story;
  for (KillEvent& kill : run.kills) kill.step = kill.step < 0 ? step_at(run, kill.t_s) : kill.step;
  story.run = std::move(run);
  story.markers = markers_of(story.run);
  std::vector<double> speeds, to_commit, to_full;
  for (const GenerationEvent& generation : story.run.generations) story.full_world = std::max(story.full_world, generation.world);
  for (const CommitEvent& commit : story.run.commits) story.full_world = std::max(story.full_world, commit.world);
  for (const CommitEvent& commit : story.run.commits) {
    if (commit.world == story.full_world) speeds.push_back(commit.tokens_per_s);
  }
  for (const KillEvent& kill : story.run.kills) {
    story.recoveries.push_back(recovery_of(story.run, kill));
    to_commit.push_back(story.recoveries.back().to_commit_ms);
    to_full.push_back(story.recoveries.back().to_full_ms);
  }
  story.tokens_per_s = median_known(speeds);
  story.median_to_commit_ms = median_known(to_commit);
  story.median_to_full_ms = median_known(to_full);
  add_shares(story);
  return story;
}

}  // namespace resilin::tool
