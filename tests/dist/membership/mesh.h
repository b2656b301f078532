// tests/dist/membership/mesh.h -- Internal: members that run in threads of a test, over a mesh that is a table of addresses.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resilin/dist/membership/member_driver.h"

namespace resilin::dist::live {

class LiveMember;

/// Who is reached at which address.
class Exchange {
 public:
  void open(const std::string& address, LiveMember& member);
  void close(const std::string& address);
  void close_all(const LiveMember& member);
  /// False when nobody is there.
  bool deliver(const std::string& address, const MemberEvent& event);

 private:
  std::mutex mutex_;  // guards what follows
  std::map<std::string, LiveMember*> open_;
};

/// A driver and its end of each mesh; what it did is kept.
class LiveMember {
 public:
  struct Story {
    std::vector<Attempt> installed;
    std::vector<std::uint64_t> revoked;
    std::vector<member_action::Finished> finished;
    std::optional<member_action::Leave> left;
  };

  LiveMember(Exchange& exchange, std::shared_ptr<Store> store, MemberOptions options);
  /// As a process that dies: it answers nobody any more.
  ~LiveMember();

  MemberDriver& driver() { return driver_; }
  std::uint64_t instance() const { return options_.instance; }
  Story story() const;
  /// Waits until the story is so; false after ten seconds.
  bool comes_to(const std::function<bool(const Story&)>& is_so) const;
  bool comes_to_generation_of(const std::vector<std::uint64_t>& instances) const;
  /// The end of this attempt.
  member_action::Finished end_of(std::uint64_t uuid) const;

 private:
  void act(const MemberAction& action);
  std::string address_in(std::uint64_t uuid) const;
  template <class Change>
  void note(Change change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change(story_);
    changed_.notify_all();
  }

  Exchange& exchange_;
  const MemberOptions options_;
  std::vector<std::string> peers_;  // addresses in the attempt; of the driver's thread
  mutable std::mutex mutex_;        // guards story_
  mutable std::condition_variable changed_;
  Story story_;
  MemberDriver driver_;
};

}  // namespace resilin::dist::live
