// tests/dist/simulation/world.h -- Internal: ranks, store and Coordinators on a virtual clock, with faults from a seed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "resilin/dist/membership/coordinator.h"
#include "resilin/dist/membership/detector.h"
#include "resilin/dist/membership/member.h"
#include "resilin/dist/membership/step_votes.h"
#include "resilin/dist/store/machine.h"

#include "tests/dist/simulation/invariants.h"

namespace resilin::dist::simulation {

/// A seeded stream of numbers.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + below(high - low + 1); }
  bool one_in(std::uint64_t count) { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

/// What a schedule came to.
struct Report {
  std::string violation;  // empty: all invariants held
  std::uint64_t events = 0;
  std::uint64_t steps = 0;        // committed
  std::uint64_t generations = 0;  // committed
  std::uint64_t aborts = 0;
  bool went_on = false;         // steps were committed after the last fault
  bool state_was_lost = false;  // all who had it died
  std::string story;            // what happened, one line an event, when asked for
};

/// Frames between ranks. Those of one way keep their order; a way that was cut loses them.
struct ContributionFrame {
  std::uint64_t rank = 0, generation = 0, vote = 0;
};
struct VoteFrame {
  std::uint64_t rank = 0, generation = 0, vote = 0;
  bool is_yes = false;
};
struct RevokeFrame {
  std::uint64_t generation = 0;
};
struct HealRequest {
  std::uint64_t generation = 0;
};
using Frame = std::variant<member_event::HelloHeard, member_event::DecisionHeard, ContributionFrame, VoteFrame, RevokeFrame, HealRequest,
                           step_event::Healed>;

class World {
 public:
  World(std::uint64_t seed, Fault fault, bool tells_story);
  Report run();

 private:
  // One that asks the store: its requests, which are sent again when they or their answers are lost.
  struct Client {
    std::uint64_t connection = 0;
    std::uint64_t writer = 0;
    bool is_alive = true;
    std::uint64_t stopped_until_us = 0;
    std::map<std::uint64_t, Request> open;
    std::uint64_t timer_us = 0;
    bool store_is_lost = false;
  };
  struct Rank {
    Rank(std::uint64_t instance, Fault fault);
    std::uint64_t instance;
    Client client;
    Member member;
    StepVotes votes;
    std::uint64_t attempt_since_us = 0;
    bool installs = false;    // the outcome of an install is being applied
    std::uint64_t mesh = 0;   // the attempt whose mesh this rank has beside the installed one
    bool mesh_fails = false;  // the next one
    Handles peers;            // of the installed generation
    Handles side_peers;       // of the attempt
  };
  struct Chief {
    Chief(CoordinatorOptions options) : coordinator(options) {}
    Client client;
    Coordinator coordinator;
    Detector detector;
    std::set<std::uint64_t> falsely_suspected;
  };

  // ---- what waits for its time
  struct ToStore {
    std::uint64_t connection, id;
  };
  struct FromStore {
    std::uint64_t connection, id;
    Reply reply;
  };
  struct Arrival {
    std::uint64_t from, to;
    Frame frame;
  };
  struct ToMember {
    std::uint64_t instance;
    MemberEvent event;
  };
  struct Computed {
    std::uint64_t instance;
    step_event::Computed event;
  };
  struct Timer {
    std::uint64_t connection;
  };
  struct Beat {
    std::uint64_t instance;
  };
  struct ChiefTick {
    std::size_t chief;
  };
  struct Disturb {};
  struct StoreReturns {};
  struct StoreTick {};
  struct TrustAgain {
    std::size_t chief;
    std::uint64_t instance;
  };
  struct Start {};
  struct Meddle {};
  struct Mend {
    Pair pair;
  };
  using Item = std::variant<ToStore, FromStore, Arrival, ToMember, Computed, Timer, Beat, ChiefTick, Disturb, StoreReturns, StoreTick,
                            TrustAgain, Start, Meddle, Mend>;
  struct Due {
    std::uint64_t time_us, order;
    std::size_t slot;
    bool operator>(const Due& other) const { return std::pair(time_us, order) > std::pair(other.time_us, other.order); }
  };

  void later(std::uint64_t delay_us, Item item) { at(now_us_ + delay_us, std::move(item)); }
  void at(std::uint64_t time_us, Item item);
  std::uint64_t delay_us();
  bool defer(const Client& client, Item& item);

  void happen(Item& item);
  void on(ToStore& item);
  void on(FromStore& item);
  void on(Arrival& item);
  void on(ToMember& item);
  void on(Computed& item);
  void on(Timer& item);
  void on(Beat& item);
  void on(ChiefTick& item);
  void on(Disturb& item);
  void on(StoreReturns& item);
  void on(StoreTick& item);
  void on(TrustAgain& item);
  void on(Start& item);
  void on(Meddle& item);
  void on(Mend& item);

  void step(Rank& rank, const MemberEvent& event);
  void act(Rank& rank, MemberAction& action);
  void act(Rank& rank, const std::vector<StepAction>& actions);
  void prepare(Rank& rank, const Attempt& attempt);
  void end_mesh(Rank& rank, std::uint64_t uuid);
  void step(Chief& chief, const CoordinatorEvent& event);
  void ask(Client& client, std::uint64_t id, Request request);
  void send(Rank& from, std::uint64_t to, Frame frame);
  void send_all(Rank& from, const Handles& peers, const Frame& frame);
  void set_timer(Client& client, std::uint64_t deadline_ms);
  void answer(const std::vector<StoreAnswer>& answers);

  void start_rank();
  Rank& draw_victim(const std::vector<Rank*>& live);
  void crash(Rank& rank);
  void notice(std::uint64_t lost, std::uint64_t witness);
  void cut(Rank& a, Rank& b);
  void stop_store();
  void suspect_falsely(Rank& rank);
  std::vector<Rank*> live_ranks();
  Rank* find(std::uint64_t instance);
  Client* client_of(std::uint64_t connection);
  void check_end();
  bool is_settled();
  void tell(const std::string& text);

  Chance chance_;
  Fault fault_;
  bool tells_story_;
  std::uint64_t now_us_ = 0;
  std::uint64_t order_ = 0;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<Item> slots_;
  std::vector<std::size_t> free_slots_;

  StoreMachine store_;
  bool store_is_up_ = true;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::unique_ptr<Chief>> chiefs_;
  std::map<Pair, std::uint64_t> last_arrival_us_;
  std::set<Pair> cuts_;
  std::uint64_t faults_left_ = 0;
  std::uint64_t last_fault_us_ = 0;
  std::uint64_t steps_at_last_fault_ = 0;
  std::uint64_t lossy_until_us_ = 0;
  Invariants invariants_;
  Report report_;
};

/// Runs one schedule.
Report simulate(std::uint64_t seed, Fault fault = Fault::None, bool tells_story = false);

}  // namespace resilin::dist::simulation
