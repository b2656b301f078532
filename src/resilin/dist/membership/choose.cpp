// src/resilin/dist/membership/choose.cpp -- which list of members a Coordinator proposes next.
#include "resilin/dist/membership/choose.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace resilin::dist {
namespace {

constexpr std::size_t kMostExact = 20;

template <class Range>
bool has(const Range& range, std::uint64_t item) {
  return std::ranges::find(range, item) != range.end();
}

std::vector<std::uint64_t> instances_in(const std::vector<Pair>& pairs) {
  std::set<std::uint64_t> all;
  for (const Pair& pair : pairs) all.insert({pair.first, pair.second});
  return {all.begin(), all.end()};
}

/// How good it is to drop those of `all` whose bits are set; the smallest is best.
auto cost_of(std::uint32_t dropped, const std::vector<std::uint64_t>& all, const std::vector<std::uint64_t>& precious) {
  int lost = 0;
  std::uint32_t oldest_first = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((dropped >> i & 1) == 0) continue;
    if (has(precious, all[i])) ++lost;
    oldest_first |= std::uint32_t{1} << (all.size() - 1 - i);
  }
  return std::tuple(std::popcount(dropped), lost, oldest_first);
}

std::set<std::uint64_t> drop_exactly(const std::vector<Pair>& pairs, const std::vector<std::uint64_t>& all,
                                     const std::vector<std::uint64_t>& precious) {
  std::map<std::uint64_t, int> place;
  for (std::size_t i = 0; i < all.size(); ++i) place[all[i]] = static_cast<int>(i);
  std::uint32_t best = (std::uint32_t{1} << all.size()) - 1;
  for (std::uint32_t dropped = 0; dropped < std::uint32_t{1} << all.size(); ++dropped) {
    if (std::popcount(dropped) > std::popcount(best)) continue;
    const auto is_cut = [&](const Pair& pair) { return ((dropped >> place[pair.first] | dropped >> place[pair.second]) & 1) != 0; };
    if (std::ranges::all_of(pairs, is_cut) && cost_of(dropped, all, precious) < cost_of(best, all, precious)) best = dropped;
  }
  std::set<std::uint64_t> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if ((best >> i & 1) != 0) result.insert(all[i]);
  }
  return result;
}

std::set<std::uint64_t> drop_greedily(std::vector<Pair> pairs) {
  std::set<std::uint64_t> result;
  while (!pairs.empty()) {
    std::map<std::uint64_t, int> degree;
    for (const Pair& pair : pairs) ++degree[pair.first], ++degree[pair.second];
    const auto worst = std::max_element(degree.begin(), degree.end(), [](const auto& a, const auto& b) { return a.second <= b.second; });
    const std::uint64_t instance = worst->first;
    result.insert(instance);
    std::erase_if(pairs, [&](const Pair& pair) { return pair.first == instance || pair.second == instance; });
  }
  return result;
}

/// All who are alive: members of base in their order, then joiners by age.
Handles alive(const Situation& situation) {
  Handles handles;
  for (const std::uint64_t instance : situation.current.members) {
    if (!has(situation.suspects, instance)) handles.push_back({instance, situation.current.generation});
  }
  const std::set<std::uint64_t> joiners(situation.joiners.begin(), situation.joiners.end());
  for (const std::uint64_t instance : joiners) {
    if (!has(situation.suspects, instance) && !has(situation.current.members, instance)) handles.push_back({instance, 0});
  }
  return handles;
}

bool may_follow(const Handles& handles, const Situation& situation) {
  if (situation.fault == Fault::NoOverlap) return !handles.empty();
  return continues_base(handles, situation.current.generation);
}

/// Without those; when that would leave nobody of base, its oldest stays.
void leave_out(Handles& handles, const Situation& situation, const std::set<std::uint64_t>& out) {
  Handles rest = handles;
  std::erase_if(rest, [&](const Handle& handle) { return out.contains(handle.instance); });
  if (may_follow(rest, situation)) handles = rest;
}

}  // namespace

std::set<std::uint64_t> fewest_to_drop(const std::vector<Pair>& pairs, const std::vector<std::uint64_t>& precious) {
  const std::vector<std::uint64_t> all = instances_in(pairs);
  return all.size() <= kMostExact ? drop_exactly(pairs, all, precious) : drop_greedily(pairs);
}

Handles choose_handles(const Situation& situation) {
  const std::uint64_t base = situation.current.generation;
  const bool failed = situation.ended && situation.ended->verdict == Verdict::Abort && situation.ended->base == base;
  Handles handles = alive(situation);
  if (base == 0 && !failed && handles.size() < situation.first_size) return {};
  std::vector<Pair> broken = situation.broken;
  std::erase_if(broken, [&](const Pair& pair) { return rank_of(handles, pair.first) < 0 || rank_of(handles, pair.second) < 0; });
  leave_out(handles, situation, fewest_to_drop(broken, situation.current.members));
  leave_out(handles, situation, {situation.lost.begin(), situation.lost.end()});
  if (failed) leave_out(handles, situation, {situation.ended->culprits.begin(), situation.ended->culprits.end()});
  if (!may_follow(handles, situation)) return {};
  if (failed && handles == situation.plan.handles) {
    if (handles.size() == 1) return {};
    handles.pop_back();  // nobody is to blame: the youngest waits for another time
  }
  const bool is_same = std::ranges::equal(handles, situation.current.members, {}, &Handle::instance);
  return is_same && !situation.is_revoked ? Handles() : handles;
}

}  // namespace resilin::dist
