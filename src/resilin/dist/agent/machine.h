// src/resilin/dist/agent/machine.h -- Internal: what an agent decides, as a machine of events and actions without processes.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "resilin/dist/agent/chaos.h"
#include "resilin/dist/agent/first_cause.h"
#include "resilin/dist/agent/process_end.h"
#include "resilin/dist/membership/detector.h"

namespace resilin::dist {

/// Time since some fixed moment; it never goes back.
using Moment = std::chrono::nanoseconds;

/// What follows on the death of a rank. Shrink: the others go on without it. Respawn: a new process takes its number.
enum class Policy { Shrink, Respawn };
constexpr std::array<std::string_view, 2> enum_names(Policy*) { return {"shrink", "respawn"}; }

struct AgentOptions {
  i64 first_rank = 0;
  i64 local_ranks = 1;
  Policy policy = Policy::Respawn;
  i64 max_restarts = 0;  // of all ranks of this host together
  i64 min_ranks = 1;     // Shrink: fewer than this many on this host, and the job has failed
  Moment heartbeat_timeout = std::chrono::seconds(1);
  Moment stuck_timeout = std::chrono::seconds(60);
  Moment stop_grace = std::chrono::seconds(30);  // from SIGTERM to SIGKILL
  Moment gather = std::chrono::milliseconds(100);
  ChaosPlan chaos;
};

/// What an agent hears. A slot is the number of a rank on its host; `life` counts the processes that had the slot, from 0, so that what is
/// heard late of an earlier one is known as such.
struct Begin {};
struct Adopt {  // a process that another launcher started has this slot from now on
  i64 slot = 0;
  i64 rank = 0;
};
struct Spawned {  // the process of a Spawn runs
  i64 slot = 0;
  i64 life = 0;
};
struct SpawnFailed {
  i64 slot = 0;
  std::string reason;
};
struct Exited {
  i64 slot = 0;
  i64 life = 0;
  ProcessEnd end;
  std::string error;  // what the process wrote about its failure
  bool reported_other = false;
};
struct Beat {
  i64 slot = 0;
  i64 life = 0;
  i64 step = 0;
  std::uint64_t sequence = 0;  // of the last collective that it started
  bool leaving = false;        // it goes in good order: its end is no failure
};
struct Evict {
  i64 slot = 0;
  i64 life = 0;
  std::string reason;
  bool spares_leaving = false;  // one that goes in good order is left to go
};
struct Stop {      // the agent was told to end the job: by a signal, or because it failed on another host
  int signal = 0;  // for the ranks
  int exit_code = 0;
  std::string reason;
};
struct Tick {};
using AgentEvent = std::variant<Begin, Adopt, Spawned, SpawnFailed, Exited, Beat, Evict, Stop, Tick>;

/// What an agent does.
enum class RankState { Running, Suspected, Evicted, Dead, Left, Done };
constexpr std::array<std::string_view, 6> enum_names(RankState*) { return {"running", "suspected", "evicted", "dead", "left", "done"}; }

struct Spawn {
  i64 slot = 0;
  i64 life = 0;
};
struct SendSignal {
  i64 slot = 0;
  i64 life = 0;
  int signal = 0;
  std::optional<i64> fault_step = std::nullopt;  // of a fault on purpose: the step that the rank had reported
};
struct Publish {  // what others should know of a rank
  i64 slot = 0;
  i64 life = 0;
  RankState state = RankState::Running;
  std::string text;
};
struct Say {
  enum class Level { Info, Warning, Error };
  Level level = Level::Info;
  std::string text;
};
struct Fail {  // the job has failed: other hosts end too
  std::string reason;
};
struct Finish {
  int exit_code = 0;
};
using AgentAction = std::variant<Spawn, SendSignal, Publish, Say, Fail, Finish>;

/// The decisions of an agent. It is told the time with each event and asks to be told again at `deadline`.
class AgentMachine {
 public:
  explicit AgentMachine(const AgentOptions& options);

  std::vector<AgentAction> step(Moment now, const AgentEvent& event);
  /// When a Tick is due; nothing while nothing is.
  std::optional<Moment> deadline() const;
  bool finished() const { return finished_; }

 private:
  enum class SlotState { Idle, Running, Evicted, Over };
  struct Slot {
    SlotState state = SlotState::Idle;
    i64 life = -1;
    bool succeeded = false;
    bool leaving = false;
    bool suspected = false;
    bool beats = false;  // once it did: before, silence says nothing
    i64 step = -1;
    std::uint64_t sequence = 0;
    Moment step_began{0};
    std::vector<Moment> step_lengths;  // of the last steps
    std::string fault;                 // injected into this life and fatal
    std::string evicted_for;
  };
  struct Strike {  // a signal of a fault that is due
    Moment due{0};
    i64 slot = 0;
    i64 life = 0;
    int signal = 0;
    std::string fault;
  };

  void on(const Begin&);
  void on(const Adopt& event);
  void on(const Spawned& event);
  void on(const SpawnFailed& event);
  void on(const Exited& event);
  void on(const Beat& event);
  void on(const Evict& event);
  void on(const Stop& event);
  void on(const Tick&);

  Slot* living(i64 slot, i64 life);
  void spawn(i64 slot);
  void begin_life(i64 slot);
  void die(i64 slot, Death death);
  void close_incident();
  void start_stopping(int signal);
  void kill_all();
  void plan_faults(i64 slot);
  void strike();
  void judge();
  void finish_when_over();
  Moment median_step(const Slot& slot) const;
  std::uint64_t now_ms() const;
  i64 rank_of(i64 slot) const { return ranks_[static_cast<std::size_t>(slot)]; }
  i64 count(SlotState state) const;
  i64 succeeded() const;
  void publish(i64 slot, RankState state, std::string text);

  const AgentOptions options_;
  Moment now_{0};
  std::vector<AgentAction> actions_;
  Detector detector_;  // of slots
  std::vector<Slot> slots_;
  std::vector<i64> ranks_;  // of the slots
  std::vector<bool> fault_planned_;
  std::vector<Strike> strikes_;
  std::vector<Death> incident_;          // deaths since the first one that is not yet judged
  std::optional<Moment> incident_end_;   // when they are
  std::optional<Moment> silence_check_;  // when the detector ticks next, if nobody beats before
  std::optional<Moment> kill_at_;        // end of the grace of a stopping job
  bool failing_ = false;                 // the job fails as soon as its cause is known
  bool stopping_ = false;
  bool finished_ = false;
  i64 restarts_ = 0;
  i64 incidents_ = 0;
  int exit_code_ = 0;
};

}  // namespace resilin::dist
