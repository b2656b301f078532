// src/resilin/dist/membership/member.h -- Internal: a member's part of reconfigure as a pure machine.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resilin/dist/membership/fault.h"
#include "resilin/dist/membership/member_event.h"
#include "resilin/dist/membership/records.h"
#include "resilin/dist/store/request.h"

namespace resilin::dist {

/// How far a member has come in its attempt. DECIDE, LEARN and INSTALL are steps, not places to be.
enum class Phase {
  Idle,       // in no attempt
  Open,       // reads what the store knows of the uuid, or opens it
  Joined,     // published its address; the new mesh comes up beside the old one
  Connected,  // every peer answered; no obligation yet
  Promised,   // admission of the old generation is closed; only the decision ends this
  Gone,       // evicted, or without a store for too long
};
constexpr std::array<std::string_view, 6> enum_names(Phase*) { return {"idle", "open", "joined", "connected", "promised", "gone"}; }

struct MemberOptions {
  std::uint64_t instance = 0;
  bool follows = true;  // joins what the Coordinator opens, and announces itself as a joiner
  std::uint64_t attempt_timeout_ms = 10'000;
  std::uint64_t store_grace_ms = 60'000;
  std::uint64_t watch_ms = 60'000;  // how long one request waits at the store before it is asked again
  Fault fault = Fault::None;
};

/// The exit code of a rank that leaves because its store is gone.
inline constexpr int kStoreGoneExitCode = 75;

/// One instance in a group. Safety rests on one write-once key per attempt, try/U: the machine's own deadlines and suspicions decide when it
/// proposes an end, never what the end is. The same events give the same actions.
class Member {
 public:
  explicit Member(MemberOptions options) : options_(options) {}

  std::vector<MemberAction> step(const MemberEvent& event);

  Phase phase() const { return phase_; }
  /// The installed generation, 0 before the first.
  std::uint64_t generation() const { return generation_; }
  Handle handle() const { return {options_.instance, generation_}; }
  /// The attempt under way; meaningful from Joined to Promised.
  const Attempt& attempt() const { return attempt_; }
  /// When a TimePassed would do something; the greatest number when never.
  std::uint64_t next_deadline_ms() const;

 private:
  /// What a request was asked for.
  enum class Purpose {
    Follow,
    Tell,  // the reply says nothing new
    Read,
    OpenIt,
    Addresses,
    Readies,
    Decide,
    Watch,
    Vanished,
    WhoIsMissing,
    Abort,
    Tidy,
    LastOne
  };
  static bool waits_for_attempt(Purpose purpose) {
    return purpose == Purpose::Addresses || purpose == Purpose::Readies || purpose == Purpose::Watch;
  }
  struct Asked {
    Purpose purpose = Purpose::Tell;
    std::uint64_t uuid = 0;
  };

  void handle(const member_event::Started& event);
  void handle(const member_event::Reconfigure& event);
  void handle(const member_event::StoreReplied& event);
  void handle(const member_event::StoreLost& event);
  void handle(const member_event::StoreBack& event);
  void handle(const member_event::MeshPrepared& event);
  void handle(const member_event::MeshFailed& event);
  void handle(const member_event::AdmissionClosed& event);
  void handle(const member_event::HelloHeard& event);
  void handle(const member_event::PeerUnreachable& event);
  void handle(const member_event::DecisionHeard& event);
  void handle(const member_event::GenerationFailed& event);
  void handle(const member_event::Suspected& event);
  void handle(const member_event::TimePassed& event);

  void ask(Purpose purpose, Request request) { ask_about(uuid_, purpose, std::move(request)); }
  void ask_about(std::uint64_t uuid, Purpose purpose, Request request);
  void forget(const std::function<bool(const Asked&)>& is_idle);
  void answer(const Asked& asked, const Reply& reply);
  void announce();
  void follow();
  void followed(const Reply& reply);
  void revoke(std::vector<std::uint64_t> lost);
  void limit_wait();
  void publish_revocation();
  void pursue_plan();
  void leave(const std::string& text, bool store_is_gone = false);

  void begin(std::uint64_t uuid);
  void read();
  void have_read(const Reply& reply);
  std::string text_of_end(const StoreValue& over) const;
  void open(const Reply& state);
  void join(const Attempt& attempt, std::uint64_t version);
  void await_addresses();
  void connect(const Reply& addresses);
  void advance();
  void await_readies();
  void decide(const Reply& readies);
  void decide_again(const Reply& refused);
  void watch_decision();
  void see_decision(const StoreValue& value);
  void resolve_by_current(const StoreValue& value, const StoreValue& over);
  void propose_abort(AbortReason reason, std::vector<std::uint64_t> culprits, std::vector<Pair> pairs = {}, std::string text = {});
  void ask_who_is_missing();
  void blame(const Reply& reply);
  void learn(const Attempt& decision);
  void install(const Attempt& decision);
  void conclude(const std::string& text);
  void leave_attempt();
  void tidy();
  void look_for_others(std::uint64_t uuid);
  void remove_attempt(std::uint64_t uuid);
  std::vector<std::string> keys_of(std::string (*key)(std::uint64_t, std::uint64_t), bool with_mine) const;
  bool is_in_attempt() const { return phase_ == Phase::Joined || phase_ == Phase::Connected || phase_ == Phase::Promised; }
  /// It has promised nothing yet, so it may give an attempt up by itself.
  bool is_free() const { return phase_ == Phase::Open || phase_ == Phase::Joined || phase_ == Phase::Connected; }

  MemberOptions options_;
  Phase phase_ = Phase::Idle;
  std::uint64_t generation_ = 0;
  std::uint64_t now_ms_ = 0;
  std::vector<MemberAction> out_;  // of this step

  std::map<std::uint64_t, Asked> asked_;
  std::uint64_t last_id_ = 0;

  // What the lineage looks like, for one that follows it.
  Plan plan_;
  Current current_;
  std::uint64_t plan_version_ = 0;
  std::uint64_t current_version_ = 0;
  std::uint64_t revoke_version_ = 0;
  std::uint64_t pursued_ = 0;             // the plan's uuid that was begun last
  bool is_revoked_ = false;               // the installed generation
  std::optional<Revocation> revocation_;  // of which this member is a witness, to be written

  // The attempt.
  std::uint64_t uuid_ = 0;
  std::optional<Handles> wanted_;  // the user's own list
  Attempt attempt_;
  Attempt commit_, abort_;             // as this member has proposed them
  Attempt last_abort_;                 // of a list, as it was decided
  std::uint64_t attempt_version_ = 0;  // of try/U while it is open
  std::uint64_t deadline_ms_ = 0;
  std::set<std::uint64_t> heard_;  // peers that answered
  bool has_mesh_ = false;          // PrepareMesh was said
  bool closes_admission_ = false;
  bool abort_asked_ = false;
  bool store_is_lost_ = false;
  std::optional<std::uint64_t> grace_ends_ms_;  // the store is away while this member can do nothing without it
};

}  // namespace resilin::dist
