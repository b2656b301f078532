// src/resilin/dist/membership/coordinator.h -- Internal: who proposes the next generation of a lineage, as a pure machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "resilin/dist/membership/choose.h"
#include "resilin/dist/membership/fault.h"
#include "resilin/dist/membership/records.h"
#include "resilin/dist/store/request.h"

namespace resilin::dist {

struct CoordinatorOptions {
  std::size_t first_size = 1;                 // instances that the first generation waits for
  std::uint64_t attempt_timeout_ms = 15'000;  // after that an attempt is aborted; longer than a member's
  std::uint64_t gather_ms = 30;               // how long a member that lost another waits for a detector's word on it
  std::uint64_t watch_ms = 60'000;
  Fault fault = Fault::None;
};

namespace coordinator_event {
struct Started {};
struct StoreReplied {
  std::uint64_t id = 0;
  Reply reply;
};
/// All instances that the detector suspects now, all that are known to have left in good order, which is no reason to revoke anything, and all
/// whose processes have ended, however.
struct SuspectsAre {
  std::vector<std::uint64_t> instances;
  std::vector<std::uint64_t> left = {};
  std::vector<std::uint64_t> ended = {};
  std::size_t lacking = 0;  // nobody takes the place of so many: a first generation does not wait for them
};
struct TimePassed {
  std::uint64_t now_ms = 0;
};
}  // namespace coordinator_event
using CoordinatorEvent = std::variant<coordinator_event::Started, coordinator_event::StoreReplied, coordinator_event::SuspectsAre,
                                      coordinator_event::TimePassed>;

struct CoordinatorRequest {
  std::uint64_t id = 0;
  Request request;
};

/// Watches the lineage and opens attempts: when a member is suspected, when a generation's Work has failed, when somebody wants to join.
/// A suspected member's generation is revoked at once: who waits for it learns that before there is a plan. When all members have ended there
/// is nobody who could take in another one, and it says so to those that wait.
///
/// Every effect is a transaction against the versions it read, so any number of Coordinators may run: the slower one's is refused. It decides
/// nothing: an attempt it opened is decided by its members, or aborted by anyone.
class Coordinator {
 public:
  explicit Coordinator(CoordinatorOptions options = {}) : options_(options) {}

  std::vector<CoordinatorRequest> step(const CoordinatorEvent& event);
  /// When a TimePassed would do something; the greatest number when never.
  std::uint64_t next_deadline_ms() const;

  const Plan& plan() const { return plan_; }
  const Current& current() const { return current_; }

 private:
  enum class Purpose { Watch, Read, Propose, Missing, Abort, Revoke, End };

  void handle(const coordinator_event::Started&) { watch(); }
  void handle(const coordinator_event::StoreReplied& event);
  void handle(const coordinator_event::SuspectsAre& event);
  void handle(const coordinator_event::TimePassed& event);
  void ask(Purpose purpose, Request request);
  void watch();
  void seen(const Reply& reply);
  void read_revocation(const StoreValue& value);
  void written(const Reply& reply);
  void revoked(const Reply& reply);
  bool knows_enough() const;
  bool is_gathering() const;
  std::vector<std::uint64_t> new_losses() const;
  void revoke();
  void end_lineage();
  void evaluate();
  void guard_attempt();
  void blame(const Reply& reply);
  void abort(AbortReason reason, std::vector<std::uint64_t> culprits);
  void propose(const Reply& reply);
  std::set<std::uint64_t> waiting_joiners() const;
  std::vector<Write> writes_of(const Attempt& attempt, std::uint64_t top, const UsedUuids& used) const;
  Situation situation() const;

  CoordinatorOptions options_;
  std::uint64_t now_ms_ = 0;
  std::vector<std::uint64_t> suspects_;
  std::vector<std::uint64_t> left_;
  std::vector<std::uint64_t> ended_;
  std::size_t lacking_ = 0;
  std::vector<CoordinatorRequest> out_;  // of this step
  std::map<std::uint64_t, Purpose> asked_;
  std::uint64_t last_id_ = 0;
  bool is_busy_ = false;      // a proposal or an abort is under way
  bool is_revoking_ = false;  // and this beside it
  bool is_ending_ = false;    // the lineage's end is said, or being said

  // As last seen, with versions.
  Plan plan_;
  Current current_;
  std::vector<std::uint64_t> joiners_;
  std::optional<Attempt> attempt_;  // the plan's
  bool is_revoked_ = false;
  std::vector<std::uint64_t> lost_;   // whom a Coordinator revoked it for
  std::uint64_t gather_ends_ms_ = 0;  // a member revoked it for another one
  std::uint64_t plan_version_ = 0, current_version_ = 0, joiners_version_ = 0, attempt_version_ = 0, revoke_version_ = 0;
  bool has_seen_ = false;
  std::uint64_t awaited_version_ = 0;         // of a write whose effect the watch has yet to tell
  std::uint64_t awaited_revoke_version_ = 0;  // likewise, of a revocation
  std::uint64_t deadline_ms_ = 0;             // of the plan's attempt
  std::vector<Pair> broken_;                  // on this base
};

}  // namespace resilin::dist
