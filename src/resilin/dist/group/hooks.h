// src/resilin/dist/group/hooks.h -- what a group tells whoever asks to be told.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/base/hook_list.h"
#include "resilin/dist/collective/collective.h"
#include "resilin/dist/group/work.h"
#include "resilin/dist/recorder/record.h"

namespace resilin::dist {

/// A collective of a group.
struct CollectiveEvent {
  std::string group;
  int rank = 0;  // of this process in the group
  int size = 1;
  std::uint64_t generation = 0;
  std::uint64_t sequence = 0;  // 0 before it is issued
  Collective collective;
  WorkState state = WorkState::Running;
  std::chrono::nanoseconds duration{0};  // from its start to its end
};

/// A generation that works no more.
struct AbortEvent {
  std::string group;
  std::uint64_t generation = 0;
  std::string reason;
  std::vector<i64> ranks;  // the culprits, as far as they are known
};

/// A step of a reconfiguration.
struct MembershipChange {
  std::string group;
  MembershipPhase phase = MembershipPhase::Open;
  std::uint64_t uuid = 0;
  std::uint64_t generation = 0;  // the one being made
};

using CollectiveHook = std::function<void(const CollectiveEvent&)>;
using AbortHook = std::function<void(const AbortEvent&)>;
using MembershipHook = std::function<void(const MembershipChange&)>;

/// Internal: a list of hooks that any thread may call and change. Hooks run in the order of their registration, without a lock.
template <class Event>
class SharedHooks final : public HookTable {
 public:
  using Hook = std::function<void(const Event&)>;

  static HookHandle add(const std::shared_ptr<SharedHooks>& hooks, Hook hook) {
    const std::lock_guard<std::mutex> lock(hooks->mutex_);
    const std::uint64_t id = hooks->list_.add(std::move(hook));
    hooks->count_ = hooks->list_.hooks().size();
    return {hooks, id};
  }
  void remove(std::uint64_t id) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    list_.remove(id);
    count_ = list_.hooks().size();
  }
  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }
  void call(const Event& event) const {
    std::vector<std::pair<std::uint64_t, Hook>> hooks;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      hooks = list_.hooks();
    }
    for (const auto& [id, hook] : hooks) hook(event);
  }

 private:
  std::atomic<std::size_t> count_{0};
  mutable std::mutex mutex_;  // guards list_
  HookList<Hook> list_;
};

}  // namespace resilin::dist
