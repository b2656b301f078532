// src/resilin/dist/membership/detector.h -- Internal: who is silent, stuck or slow, from heartbeats, as a pure machine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

namespace resilin::dist {

struct DetectorOptions {
  std::uint64_t silent_ms = 1000;   // no beat for so long
  std::uint64_t stuck_ms = 60'000;  // no progress for so long, and for stuck_steps median steps, while others wait
  std::uint64_t stuck_steps = 20;
  std::uint64_t slow_ms = 1000;
  std::uint64_t slow_steps = 3;
};

/// Slow: beats and moves, but others wait for it; named, never evicted. Stuck: beats, but does not move while others wait. Silent: no beats.
enum class Health { Well, Slow, Stuck, Silent };
constexpr std::array<std::string_view, 4> enum_names(Health*) { return {"well", "slow", "stuck", "silent"}; }

struct HealthChange {
  std::uint64_t instance = 0;
  Health health = Health::Well;
};

/// How far a heartbeat says its instance is: the step that it is in, and the number of the last collective that it has started.
struct Progress {
  std::int64_t step = -1;
  std::uint64_t sequence = 0;
};

/// Watches instances by their heartbeats. A tick that comes late by more than half the silence says nothing: the detector itself was away, so
/// everybody gets the gap.
class Detector {
 public:
  explicit Detector(DetectorOptions options = {}) : options_(options) {}

  /// Begins to watch an instance, as if it had just beaten.
  void watch(std::uint64_t instance, std::uint64_t now_ms);
  void forget(std::uint64_t instance) { watched_.erase(instance); }
  void beat(std::uint64_t instance, std::uint64_t now_ms, const Progress& progress);
  /// The changes since the last tick.
  std::vector<HealthChange> tick(std::uint64_t now_ms);

  Health health(std::uint64_t instance) const;
  /// Since its last beat, and since it last moved, as of the last tick; 0 for one that is not watched.
  std::uint64_t silent_for_ms(std::uint64_t instance) const;
  std::uint64_t still_for_ms(std::uint64_t instance) const;
  /// The instances that are silent or stuck.
  std::vector<std::uint64_t> suspects() const;

 private:
  struct Watched {
    std::uint64_t beat_ms = 0;
    std::uint64_t moved_ms = 0;  // when its progress last changed
    std::uint64_t began_ms = 0;  // its step
    Progress progress = {};
    std::uint64_t step_ms = 0;  // the length of its last step
    Health health = Health::Well;
  };
  std::uint64_t since(std::uint64_t then_ms) const { return now_ms_ - std::min(now_ms_, then_ms); }
  std::uint64_t median_step_ms() const;
  Health judge(const Watched& watched, std::uint64_t greatest, std::uint64_t step_ms) const;

  DetectorOptions options_;
  std::uint64_t now_ms_ = 0;
  bool has_ticked_ = false;
  std::map<std::uint64_t, Watched> watched_;
};

}  // namespace resilin::dist
