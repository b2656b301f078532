// src/resilin/dist/membership/member_driver.h -- Internal: a member that runs: its machine, a thread, and a real store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "resilin/dist/environment.h"
#include "resilin/dist/membership/member.h"
#include "resilin/dist/store/store.h"

namespace resilin::dist {

/// Steps a Member in a thread of its own: what is posted, the time, and the store's answers. All else that the machine does is handed to `act` in
/// that thread, in order: the mesh's part (see member_action), Revoke, Finished and Leave. Nothing happens before Started is posted.
///
/// `act` posts its answers, then or later, from any thread. It must not throw, and must not wait for another event of this driver. A machine that
/// fails, because the store holds what it cannot read, ends with Leave.
///
/// The store's own grace decides when it counts as lost: a few seconds are enough, for its requests are repeated all the same.
///
/// Threads  any may call; `reconfigure` and `close` are not for `act`; a forked child finds it empty
class MemberDriver {
 public:
  using Act = std::function<void(const MemberAction&)>;

  MemberDriver(const MemberOptions& options, std::shared_ptr<Store> store, Act act, Clock& clock = machine_clock());
  ~MemberDriver();
  MemberDriver(const MemberDriver&) = delete;
  MemberDriver& operator=(const MemberDriver&) = delete;

  /// A Reconfigure is as `reconfigure`.
  void post(MemberEvent event);
  /// Comes back when the attempt has begun; Finished tells its end. ReconfigureError while another is under way, after the end and in `act`;
  /// ArgumentError on a list that cannot be.
  void reconfigure(std::uint64_t uuid, Handles handles, std::uint64_t timeout_ms = 0);
  /// Comes back when `act` does not run and will not any more. What is posted later is dropped.
  void close();

  /// As after the last step; in `act`, after the step whose action it is.
  Handle handle() const;
  Phase phase() const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace resilin::dist
