// src/resilin/dist/recorder/align.cpp -- one clock for all ranks, from the collectives that they did together.
#include <algorithm>
#include <deque>
#include <limits>
#include <optional>

#include "resilin/dist/recorder/scene.h"

namespace resilin::dist {
namespace {

/// What is known of how far the clock of one rank is ahead of another's.
struct Bounds {
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> finishes = {};  // differences between the moments at which both finished
};

/// Neither rank can finish before the other has issued: issued(a) <= finished(b), and the other way round, in true time.
void narrow(Bounds& bounds, const Operation& a, const Operation& b) {
  if (!a.succeeded() || !b.succeeded() || a.issued.time_ns == 0 || b.issued.time_ns == 0) return;
  bounds.high = std::min(bounds.high, static_cast<std::int64_t>(b.finished_ns - a.issued.time_ns));
  bounds.low = std::max(bounds.low, static_cast<std::int64_t>(b.issued.time_ns - a.finished_ns));
  bounds.finishes.push_back(static_cast<std::int64_t>(b.finished_ns - a.finished_ns));
}

Bounds bounds_between(const Scene& scene, std::int32_t a, std::int32_t b) {
  Bounds bounds;
  for (const Ensemble& ensemble : scene.ensembles) {
    for (const auto& [sequence, round] : ensemble.rounds) {
      const auto first = round.find(a), second = round.find(b);
      if (first == round.end() || second == round.end()) continue;
      const Operation& one = *first->second.operation;
      if (is_synchronizing(one.issued.op) && one.issued.op == second->second.operation->issued.op)
        narrow(bounds, one, *second->second.operation);
    }
  }
  return bounds;
}

struct Offset {
  std::int64_t ahead_ns = 0;
  std::uint64_t error_ns = 0;
};

/// How far b is ahead of a. All finish at about the same time, while who is late says nothing of clocks: the median of the finishes,
/// held within the bounds.
std::optional<Offset> offset_between(const Scene& scene, const Actor& a, const Actor& b) {
  if (a.recording->clock_domain != 0 && a.recording->clock_domain == b.recording->clock_domain) return Offset{};
  Bounds bounds = bounds_between(scene, a.rank(), b.rank());
  if (bounds.finishes.empty()) return std::nullopt;
  std::sort(bounds.finishes.begin(), bounds.finishes.end());
  const std::int64_t median = bounds.finishes[bounds.finishes.size() / 2];
  const std::int64_t ahead = bounds.low <= bounds.high ? std::clamp(median, bounds.low, bounds.high) : median;
  // Half of the finishes lie within the quartiles; the clocks differ no more from the median than that, unless one rank is always late to see the end.
  const std::int64_t spread = bounds.finishes[bounds.finishes.size() * 3 / 4] - bounds.finishes[bounds.finishes.size() / 4];
  return Offset{ahead, static_cast<std::uint64_t>(spread)};
}

/// The wall clocks are all there is between ranks that did nothing together.
Offset offset_of_wall(const Actor& a, const Actor& b) {
  const auto base = [](const Actor& actor) {
    return static_cast<std::int64_t>(actor.recording->opened_ns) - static_cast<std::int64_t>(actor.recording->opened_wall_ns);
  };
  constexpr std::uint64_t kWallError = 1'000'000'000;
  return {base(b) - base(a), kWallError};
}

}  // namespace

void align_clocks(Scene& scene) {
  if (scene.actors.empty()) return;
  std::vector<bool> aligned(scene.actors.size(), false);
  const auto spread_from = [&](std::size_t start) {
    std::deque<std::size_t> pending = {start};
    aligned[start] = true;
    while (!pending.empty()) {
      const Actor& from = scene.actors[pending.front()];
      pending.pop_front();
      for (std::size_t i = 0; i < scene.actors.size(); ++i) {
        if (aligned[i]) continue;
        const std::optional<Offset> offset = offset_between(scene, from, scene.actors[i]);
        if (!offset) continue;
        scene.actors[i].ahead_ns = from.ahead_ns + offset->ahead_ns;
        scene.actors[i].error_ns = from.error_ns + offset->error_ns;
        aligned[i] = true;
        pending.push_back(i);
      }
    }
  };
  for (std::size_t i = 0; i < scene.actors.size(); ++i) {
    if (aligned[i]) continue;
    if (i != 0) {
      const Offset offset = offset_of_wall(scene.actors[0], scene.actors[i]);
      scene.actors[i].ahead_ns = scene.actors[0].ahead_ns + offset.ahead_ns;
      scene.actors[i].error_ns = offset.error_ns;
    }
    spread_from(i);
  }
}

}  // namespace resilin::dist
