// src/resilin/dist/membership/coordinator_driver.h -- Internal: a Coordinator that runs: its machine, a thread, and a real store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "resilin/dist/environment.h"
#include "resilin/dist/membership/coordinator.h"
#include "resilin/dist/store/store.h"

namespace resilin::dist {

/// Steps a Coordinator in a thread of its own. While nobody asks to join, it only watches: it writes nothing into the store.
///
/// Threads  any may call; `close` is not for `moved`; a forked child finds it empty
class CoordinatorDriver {
 public:
  /// The lineage has moved, as far as was seen: generations in between may be left out. Called in the driver's thread; it must not throw.
  using Moved = std::function<void(const Current& before, const Current& now)>;

  CoordinatorDriver(const CoordinatorOptions& options, std::shared_ptr<Store> store, Moved moved, Clock& clock = machine_clock());
  ~CoordinatorDriver();
  CoordinatorDriver(const CoordinatorDriver&) = delete;
  CoordinatorDriver& operator=(const CoordinatorDriver&) = delete;

  void tell(coordinator_event::SuspectsAre suspects);
  /// Comes back when `moved` does not run and will not any more.
  void close();

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace resilin::dist
