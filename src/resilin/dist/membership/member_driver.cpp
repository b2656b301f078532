// src/resilin/dist/membership/member_driver.cpp -- a member that runs: its machine, a thread, and a real store.
#include "resilin/dist/membership/member_driver.h"

#include <mutex>
#include <utility>
#include <variant>

#include "resilin/base/error.h"
#include "resilin/base/log.h"
#include "resilin/base/overloaded.h"
#include "resilin/dist/membership/machine_driver.h"
#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {
namespace {

struct MemberKind {
  using Machine = Member;
  using Event = MemberEvent;
  using StoreReplied = member_event::StoreReplied;
  using TimePassed = member_event::TimePassed;
};

}  // namespace

class MemberDriver::Work {
 public:
  Work(const MemberOptions& options, std::shared_ptr<Store> store, Act act, Clock& clock)
      : instance_(options.instance),
        act_(std::move(act)),
        state_{{options.instance, 0}},
        driver_(Member(options), std::move(store), owner(), clock) {}

  void post(MemberEvent event) {
    if (member_event::Reconfigure* const order = std::get_if<member_event::Reconfigure>(&event)) return reconfigure(std::move(*order));
    driver_.post(std::move(event));
  }

  void reconfigure(member_event::Reconfigure order) {
    if (driver_.is_own_thread()) {
      throw ReconfigureError(cat("reconfigure: attempt ", order.uuid, " is asked for by what the member does; another thread must ask"));
    }
    driver_.call(std::move(order));
  }

  void close() { driver_.close(); }
  bool is_forked() const { return life_ != process_life(); }

  struct State {
    Handle handle;
    Phase phase = Phase::Idle;
  };
  State state() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return state_;
  }

 private:
  using Driver = MachineDriver<MemberKind>;

  Driver::Owner owner() {
    return {.stepped =
                [this](const Member& member) {
                  keep({member.handle(), member.phase()});
                },
            .act = [this](MemberAction& action) { act(action); },
            .broken = [this](const std::string& why) { end(why); },
            .store_lost = [this](const std::string& why) { lose_store(why); },
            .store_back = [this] { driver_.post(member_event::StoreBack{}); }};
  }

  void keep(const State& state) {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_ = state;
  }

  void act(MemberAction& action) {
    std::visit(Overloaded{[this](member_action::AskStore& order) { driver_.asker().ask(order.id, std::move(order.request)); },
                          [this](member_action::ForgetStore& order) { driver_.asker().forget(order.id); }, [&](auto&) { act_(action); }},
               action);
  }

  void lose_store(const std::string& why) {
    log(LogLevel::Warning, cat("instance ", instance_, " cannot reach its store: ", why));
    driver_.post(member_event::StoreLost{});
  }

  void end(const std::string& why) {
    log(LogLevel::Error, cat("instance ", instance_, " ends: ", why));
    keep({state().handle, Phase::Gone});
    try {
      act_(member_action::Leave{.text = why});
    } catch (const std::exception& error) {
      log(LogLevel::Error, cat("instance ", instance_, " could not leave: ", error.what()));
    }
  }

  const std::uint64_t instance_;
  const std::uint64_t life_ = process_life();
  const Act act_;
  mutable std::mutex mutex_;  // guards state_
  State state_;
  Driver driver_;  // its threads use all of the above
};

MemberDriver::MemberDriver(const MemberOptions& options, std::shared_ptr<Store> store, Act act, Clock& clock)
    : work_(std::make_unique<Work>(options, std::move(store), std::move(act), clock)) {}

MemberDriver::~MemberDriver() {
  if (work_->is_forked()) static_cast<void>(work_.release());  // its threads run in the parent only, and nobody may wait for them here
}

void MemberDriver::post(MemberEvent event) { work_->post(std::move(event)); }
void MemberDriver::reconfigure(std::uint64_t uuid, Handles handles, std::uint64_t timeout_ms) {
  work_->reconfigure({uuid, std::move(handles), timeout_ms});
}
void MemberDriver::close() { work_->close(); }
Handle MemberDriver::handle() const { return work_->state().handle; }
Phase MemberDriver::phase() const { return work_->state().phase; }

}  // namespace resilin::dist
