// src/resilin/dist/recorder/scene.cpp -- laying recordings side by side, and words for what is in them.
#include "resilin/dist/recorder/scene.h"

#include <algorithm>

#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

using GroupKey = std::pair<std::uint32_t, std::uint64_t>;  // group, generation

/// The newest life of each rank.
std::map<std::int32_t, const Recording*> newest_of_each(std::span<const Recording> recordings) {
  std::map<std::int32_t, const Recording*> newest;
  for (const Recording& recording : recordings) {
    const Recording*& chosen = newest[recording.rank];
    if (chosen == nullptr || chosen->opened_wall_ns < recording.opened_wall_ns) chosen = &recording;
  }
  return newest;
}

/// The definition that any rank has; a rank may have lost its own.
const RecordedGroup* definition_of(const Scene& scene, GroupKey key) {
  for (const Actor& actor : scene.actors) {
    if (const RecordedGroup* const group = actor.recording->find_group(key.first, key.second)) return group;
  }
  return nullptr;
}

void gather(Scene& scene) {
  std::map<GroupKey, Ensemble> ensembles;
  for (std::size_t i = 0; i < scene.actors.size(); ++i) {
    for (const Operation& operation : scene.actors[i].history.operations) {
      if (is_point_to_point(operation.issued.op)) continue;
      Ensemble& ensemble = ensembles[{operation.issued.group, operation.issued.generation}];
      ensemble.rounds[operation.issued.sequence][scene.actors[i].rank()] = {i, &operation};
    }
  }
  for (auto& [key, ensemble] : ensembles) {
    ensemble.group = key.first;
    ensemble.generation = key.second;
    if (const RecordedGroup* const group = definition_of(scene, key)) {
      ensemble.name = group->name;
      ensemble.members = group->members;
    } else {
      // Nobody kept the definition: whoever took part is a member.
      ensemble.name = cat(key.first);
      for (const auto& [sequence, round] : ensemble.rounds) {
        for (const auto& [rank, take] : round) {
          if (std::find(ensemble.members.begin(), ensemble.members.end(), rank) == ensemble.members.end()) ensemble.members.push_back(rank);
        }
      }
    }
    scene.ensembles.push_back(std::move(ensemble));
  }
}

}  // namespace

Scene make_scene(std::span<const Recording> recordings) {
  Scene scene;
  for (const auto& [rank, recording] : newest_of_each(recordings)) {
    scene.by_rank[rank] = scene.actors.size();
    Actor& actor = scene.actors.emplace_back();
    actor.recording = recording;
    actor.history = make_history(*recording);
  }
  gather(scene);
  align_clocks(scene);
  for (Actor& actor : scene.actors) {
    actor.last_sign_ns = actor.common(actor.recording->last_sign_ns());
    scene.end_ns = std::max(scene.end_ns, actor.last_sign_ns);
  }
  return scene;
}

std::string describe(const Record& issued) {
  if (issued.time_ns == 0) return cat(name_of(issued.op));
  std::string text = cat(name_of(issued.op), " ", issued.dtype, "[");
  const std::size_t known = std::min<std::size_t>(issued.axes, kRecordedDims);
  for (std::size_t i = 0; i < known; ++i) text += cat(i == 0 ? "" : ", ", issued.dims[i]);
  if (known == 0 && issued.input_elements != 0) text += cat(issued.input_elements);
  text += ']';
  if (issued.reduce != ReduceOp::None) text += cat(" ", name_of(issued.reduce));
  if (issued.root != kNoRank) text += cat(" root ", issued.root);
  return text;
}

std::string place_of(const Record& issued, const Ensemble& ensemble) {
  return cat(name_of(issued.op), " #", issued.sequence, " of group ", ensemble.name);
}

std::string ranks_text(const std::vector<std::int32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += cat(i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  return text;
}

std::string duration_text(std::uint64_t duration_ns) {
  const std::uint64_t ms = duration_ns / 1'000'000;
  if (ms >= 10'000) return cat(ms / 1000, " s");
  if (ms >= 1000) return cat(ms / 1000, ".", ms % 1000 / 100, " s");
  if (ms >= 10) return cat(ms, " ms");
  return cat(duration_ns / 1000, " us");
}

}  // namespace resilin::dist
