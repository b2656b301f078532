// src/resilin/base/hook_list.h -- an ordered list of hooks and the handle that takes one out again.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "resilin/base/api.h"

namespace resilin {

/// Internal: what a handle needs of a list.
class HookTable {
 public:
  virtual ~HookTable() = default;
  virtual void remove(std::uint64_t id) = 0;
};

/// Takes its hook out of the list. Copies speak of the same hook; a handle may outlive what it was registered on.
class RESILIN_API HookHandle {
 public:
  HookHandle() = default;
  HookHandle(std::weak_ptr<HookTable> table, std::uint64_t id) : table_(std::move(table)), id_(id) {}
  /// Nothing when the hook is gone already.
  void remove();

 private:
  std::weak_ptr<HookTable> table_;
  std::uint64_t id_ = 0;
};

/// Internal: hooks in the order of their registration.
template <class Hook>
class HookList final : public HookTable {
 public:
  std::uint64_t add(Hook hook) {
    hooks_.emplace_back(++last_id_, std::move(hook));
    return last_id_;
  }
  void remove(std::uint64_t id) override {
    std::erase_if(hooks_, [&](const std::pair<std::uint64_t, Hook>& entry) { return entry.first == id; });
  }
  /// A copy, since a hook may change the list.
  std::vector<std::pair<std::uint64_t, Hook>> hooks() const { return hooks_; }

 private:
  std::vector<std::pair<std::uint64_t, Hook>> hooks_;
  std::uint64_t last_id_ = 0;
};

/// Internal: adds a hook to the list behind the pointer, which is made at the first.
template <class Hook>
HookHandle add_hook(std::shared_ptr<HookList<Hook>>& list, Hook hook) {
  if (list == nullptr) list = std::make_shared<HookList<Hook>>();
  const std::uint64_t id = list->add(std::move(hook));
  return {list, id};
}

}  // namespace resilin
