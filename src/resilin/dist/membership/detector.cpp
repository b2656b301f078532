// src/resilin/dist/membership/detector.cpp -- who is silent, stuck or slow, from heartbeats, as a pure machine.
#include "resilin/dist/membership/detector.h"

#include <algorithm>

namespace resilin::dist {

void Detector::watch(std::uint64_t instance, std::uint64_t now_ms) {
  watched_.try_emplace(instance, Watched{.beat_ms = now_ms, .moved_ms = now_ms, .began_ms = now_ms});
}

void Detector::beat(std::uint64_t instance, std::uint64_t now_ms, const Progress& progress) {
  const std::map<std::uint64_t, Watched>::iterator at = watched_.find(instance);
  if (at == watched_.end()) return;
  Watched& watched = at->second;
  watched.beat_ms = now_ms;
  if (progress.step == watched.progress.step && progress.sequence == watched.progress.sequence) return;
  watched.moved_ms = now_ms;
  if (progress.step > watched.progress.step) {
    const std::uint64_t steps = static_cast<std::uint64_t>(progress.step - watched.progress.step);
    if (watched.progress.step >= 0) watched.step_ms = (now_ms - std::min(now_ms, watched.began_ms)) / steps;
    watched.began_ms = now_ms;
  }
  watched.progress = progress;
}

std::vector<HealthChange> Detector::tick(std::uint64_t now_ms) {
  const std::uint64_t gap_ms = now_ms - std::min(now_ms_, now_ms);
  const bool was_away = has_ticked_ && gap_ms > options_.silent_ms / 2;
  if (!has_ticked_ || was_away) {
    // But for what was heard of since it is back.
    for (auto& [instance, watched] : watched_) {
      watched.beat_ms = std::min(watched.beat_ms + gap_ms, std::max(now_ms, watched.beat_ms));
      watched.moved_ms = std::min(watched.moved_ms + gap_ms, std::max(now_ms, watched.moved_ms));
    }
  }
  now_ms_ = std::max(now_ms_, now_ms);
  has_ticked_ = true;
  if (was_away) return {};
  std::uint64_t greatest = 0;
  for (const auto& [instance, watched] : watched_) greatest = std::max(greatest, watched.progress.sequence);
  const std::uint64_t step_ms = median_step_ms();
  std::vector<HealthChange> changes;
  for (auto& [instance, watched] : watched_) {
    const Health health = judge(watched, greatest, step_ms);
    if (health != watched.health) changes.push_back({instance, health});
    watched.health = health;
  }
  return changes;
}

Health Detector::judge(const Watched& watched, std::uint64_t greatest, std::uint64_t step_ms) const {
  if (since(watched.beat_ms) >= options_.silent_ms) return Health::Silent;
  if (watched.progress.sequence >= greatest) return Health::Well;  // nobody waits for it
  const std::uint64_t still_ms = since(watched.moved_ms);
  if (still_ms >= std::max(options_.stuck_ms, options_.stuck_steps * step_ms)) return Health::Stuck;
  return still_ms >= std::max(options_.slow_ms, options_.slow_steps * step_ms) ? Health::Slow : Health::Well;
}

std::uint64_t Detector::median_step_ms() const {
  std::vector<std::uint64_t> steps;
  for (const auto& [instance, watched] : watched_) {
    if (watched.step_ms != 0) steps.push_back(watched.step_ms);
  }
  if (steps.empty()) return 0;
  std::ranges::nth_element(steps, steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2));
  return steps[steps.size() / 2];
}

Health Detector::health(std::uint64_t instance) const {
  const std::map<std::uint64_t, Watched>::const_iterator at = watched_.find(instance);
  return at == watched_.end() ? Health::Well : at->second.health;
}

std::uint64_t Detector::silent_for_ms(std::uint64_t instance) const {
  const std::map<std::uint64_t, Watched>::const_iterator at = watched_.find(instance);
  return at == watched_.end() ? 0 : since(at->second.beat_ms);
}

std::uint64_t Detector::still_for_ms(std::uint64_t instance) const {
  const std::map<std::uint64_t, Watched>::const_iterator at = watched_.find(instance);
  return at == watched_.end() ? 0 : since(at->second.moved_ms);
}

std::vector<std::uint64_t> Detector::suspects() const {
  std::vector<std::uint64_t> result;
  for (const auto& [instance, watched] : watched_) {
    if (watched.health == Health::Silent || watched.health == Health::Stuck) result.push_back(instance);
  }
  return result;
}

}  // namespace resilin::dist
