// src/resilin/dist/membership/coordinator_driver.cpp -- a Coordinator that runs: its machine, a thread, and a real store.
#include "resilin/dist/membership/coordinator_driver.h"

#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/log.h"
#include "resilin/dist/membership/machine_driver.h"
#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {
namespace {

struct CoordinatorKind {
  using Machine = Coordinator;
  using Event = CoordinatorEvent;
  using StoreReplied = coordinator_event::StoreReplied;
  using TimePassed = coordinator_event::TimePassed;
};

}  // namespace

class CoordinatorDriver::Work {
 public:
  Work(const CoordinatorOptions& options, std::shared_ptr<Store> store, Moved moved, Clock& clock)
      : moved_(std::move(moved)), driver_(Coordinator(options), std::move(store), owner(), clock) {
    driver_.post(coordinator_event::Started{});
  }

  void tell(coordinator_event::SuspectsAre suspects) { driver_.post(std::move(suspects)); }
  void close() { driver_.close(); }
  bool is_forked() const { return life_ != process_life(); }

 private:
  using Driver = MachineDriver<CoordinatorKind>;

  Driver::Owner owner() {
    return {.stepped = [this](const Coordinator& coordinator) { notice(coordinator.current()); },
            .act = [this](CoordinatorRequest& order) { driver_.asker().ask(order.id, std::move(order.request)); },
            .broken = [](const std::string& why) { log(LogLevel::Error, cat("the Coordinator of this host ends: ", why)); },
            .store_lost = [](const std::string& why) { log(LogLevel::Warning, cat("the Coordinator cannot reach the store: ", why)); },
            .store_back = [] { log(LogLevel::Info, "the Coordinator reaches the store again"); }};
  }

  void notice(const Current& current) {
    if (current.generation == current_.generation) return;
    const Current before = std::exchange(current_, current);
    if (moved_) moved_(before, current_);
  }

  const std::uint64_t life_ = process_life();
  const Moved moved_;
  Current current_;  // of the driver's thread
  Driver driver_;    // its threads use all of the above
};

CoordinatorDriver::CoordinatorDriver(const CoordinatorOptions& options, std::shared_ptr<Store> store, Moved moved, Clock& clock)
    : work_(std::make_unique<Work>(options, std::move(store), std::move(moved), clock)) {}

CoordinatorDriver::~CoordinatorDriver() {
  if (work_->is_forked()) static_cast<void>(work_.release());  // its threads run in the parent only, and nobody may wait for them here
}

void CoordinatorDriver::tell(coordinator_event::SuspectsAre suspects) { work_->tell(std::move(suspects)); }
void CoordinatorDriver::close() { work_->close(); }

}  // namespace resilin::dist
