// tests/dist/collective/schedule_run.h -- Internal: an executor of schedules in one process, whose order of events is drawn from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "resilin/dist/collective/schedule.h"

#include "tests/dist/simulation/world.h"

namespace resilin::dist::schedule_run {

using Bytes = std::vector<std::byte>;

/// What all ranks do.
struct Call {
  ScheduleKey key;
  ReduceOp op = ReduceOp::Sum;
  bool in_place = false;
};

struct Result {
  std::string violation;  // empty: nothing was read that was being written, nothing was written elsewhere, all came to an end
  std::vector<Bytes> outputs;
  std::uint64_t events = 0;
};

/// How many bytes of Input and Output a rank has.
std::uint64_t input_bytes(const ScheduleKey& key);
std::uint64_t output_bytes(const ScheduleKey& key);

/// Runs the schedules of all ranks at once. What is sent is read at any time up to the end of the send, receives write at any time between their
/// round's start and its combines, combines and what they read of peers take time; whatever is read and written at one time is a violation. A
/// rank whose lanes are done takes its memory away at once.
Result run(const Call& call, const std::vector<Schedule>& schedules, const std::vector<Bytes>& inputs, std::uint64_t seed);

class Runner {
 public:
  Runner(const Call& call, const std::vector<Schedule>& schedules, std::uint64_t seed);
  Result run(const std::vector<Bytes>& inputs);

 private:
  struct Region {
    std::size_t begin = 0, end = 0;
  };
  /// Memory in use by something that takes time.
  struct Use {
    Region region;
    bool is_write = false;
    std::uint64_t owner = 0;
  };
  struct Lane {
    std::size_t round = 0, combine = 0;
    std::size_t open_sends = 0, open_receives = 0;
    bool is_settling = false;
    bool is_done = false;
  };
  struct Rank {
    Bytes memory, before;
    Region input, output, scratch;
    std::vector<Use> uses;
    std::vector<Lane> lanes;
    std::vector<bool> receives_from;
    std::size_t missing = 0;  // peers to receive from that have not begun
    bool has_begun = false;
    bool has_left = false;
  };
  /// The k-th transfer from one rank to another in a lane.
  struct Message {
    bool is_sent = false, is_received = false, is_read = false;
    Region from, to;
    Bytes bytes;
  };
  struct Way {
    std::vector<Message> messages;
    std::size_t sent = 0, received = 0;
  };
  enum class Kind : std::uint8_t { Begin, StartRound, ReadSend, Deliver, StartCombine, EndCombine };
  struct Event {
    Kind kind;
    int rank = 0, lane = 0;
    int peer = 0;             // of ReadSend and Deliver: to whom
    std::size_t message = 0;  // likewise
  };

  void place(Rank& rank, int number, const Bytes& input) const;
  Event take();
  bool is_slow(const Event& event) const;
  void happen(const Event& event);
  void begin(int number);
  void next_round(int number, int lane);
  void start_round(int number, int lane);
  void read_send(const Event& event);
  void deliver(const Event& event);
  void next_combine(int number, int lane);
  void start_combine(int number, int lane);
  void end_combine(int number, int lane);
  void leave_if_done(int number);
  void check_end();

  const Schedule& schedule(int number) const { return schedules_[static_cast<std::size_t>(number)]; }
  Rank& rank(int number) { return ranks_[static_cast<std::size_t>(number)]; }
  Lane& lane_of(int number, int lane) { return rank(number).lanes[static_cast<std::size_t>(lane)]; }
  const Round& round_of(int number, int lane) {
    return schedule(number).lanes[static_cast<std::size_t>(lane)][lane_of(number, lane).round];
  }
  Way& way(int from, int to, int lane) { return ways_[{from, to, lane}]; }
  Message& message(Way& way, std::size_t index);
  bool is_idle(const Combine& combine, int number);
  Region resolve(int number, const Range& range);
  void use(int number, Region region, bool is_write, std::uint64_t owner);
  void release(int number, std::uint64_t owner);
  void scribble(int number, Region region);
  void fail(std::string text);
  static std::uint64_t owner_of(const Event& event);

  const Call& call_;
  const std::vector<Schedule>& schedules_;
  simulation::Chance chance_;
  std::uint64_t style_;
  int slow_rank_;
  std::vector<Rank> ranks_;
  std::map<std::tuple<int, int, int>, Way> ways_;
  std::vector<Event> events_;
  Result result_;
};

}  // namespace resilin::dist::schedule_run
