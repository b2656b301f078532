// src/resilin/dist/group/mesh.h -- Internal: one generation of a group: its connections and the collectives that run over them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "resilin/dist/environment.h"
#include "resilin/dist/group/failure.h"
#include "resilin/dist/group/note.h"
#include "resilin/dist/group/work_body.h"
#include "resilin/dist/os/descriptor.h"
#include "resilin/dist/transport/transport.h"

namespace resilin::dist {

/// What a mesh tells its group, from inside `poll`: in any thread, with the mesh locked. The group takes notice and does nothing else there.
struct MeshEvents {
  std::function<void(int peer, const note::Hello&)> hello;
  std::function<void(int peer, const std::string& why)> unreachable;
  std::function<void(const Attempt&)> decision;
  std::function<void(std::uint64_t generation, const Failure&)> failed;
  std::function<void(const std::shared_ptr<WorkBody>&)> ended;
  /// Runs the task later, in a thread where it may do what it likes.
  std::function<void(std::function<void()> task)> callback;
};

struct MeshOptions {
  std::string group = "default";
  std::uint64_t instance = 0;
  std::int64_t launch_rank = 0;
  std::chrono::nanoseconds spin{0};    // how long a waiting thread polls before it sleeps
  std::shared_ptr<Recorder> recorder;  // null: nothing is recorded
};

/// One rank's side of one generation. It connects while the generation is being made, runs collectives once it is installed, and ends by a
/// failure, by the next generation or by `close`.
///
/// Threads  any thread may call; one at a time moves bytes, and a thread that waits does so itself
class Mesh : public std::enable_shared_from_this<Mesh> {
 public:
  Mesh(MeshOptions options, const TransportMaker& maker, MeshEvents events, Clock& clock);
  ~Mesh();

  // While it is made.
  std::string address();
  /// The attempt whose generation this is to be, and this rank's number in it.
  void join(const Attempt& attempt, int rank);
  /// Connects and says hello.
  void connect(int peer, std::string_view address);
  void tell_peers(const Attempt& decision);
  /// This process can read the memory of every peer that has said hello.
  bool reads_all_peers();
  /// From now on collectives may start.
  void install(const Attempt& decided, Reach reach);

  // While it works.
  std::shared_ptr<WorkBody> start(Collective collective);
  /// Ends when the work has or the patience is over, which it tells by false.
  bool wait(WorkBody& work, std::optional<std::chrono::nanoseconds> patience);
  /// As `wait`, for what a handler of notes brings, which wakes those that wait for the key. Also ends with the generation.
  void wait_until(const void* key, const std::function<bool()>& done);
  /// Nothing succeeds until `thaw`; what is started meanwhile waits for it, or ends with the generation.
  void freeze();
  void thaw();
  /// The generation ends with this failure, of which the first counts; at the latest the next poll tears it down. Never waits.
  void fail(Failure failure);
  /// As `fail`, and comes back when everything has ended.
  void close(Failure failure);
  /// Says that this rank goes in good order, and comes back when every peer has what was sent to it, has gone itself, or has been silent for too
  /// long. Does not wait while works are under way, which end with `close`.
  void leave();

  /// What a thread that nobody waits for finds.
  struct Look {
    bool is_busy = false;                    // another thread is at it, and moves it
    bool keeps_moving = false;               // there is more to do
    std::array<int, 2> descriptors{-1, -1};  // else: what ends a sleep, since there is something to move or it has failed
  };
  /// Moves what can be moved, for a while.
  Look look();
  bool attended() const { return waiters_.load(std::memory_order_acquire) > 0; }
  bool has_open_works() const { return open_works_.load(std::memory_order_acquire) > 0; }
  bool is_closed() const { return closed_.load(std::memory_order_acquire); }
  /// Calls back with the Work, or at once when it has ended.
  void call_back(const std::shared_ptr<WorkBody>& work, std::function<void(const Work&)> callback);

  // Messages of windows.
  using WindowHandler = std::function<void(int peer, const note::WindowMessage&)>;
  /// Messages of this window go to the handler, with the mesh locked, in any thread.
  void take_window(std::uint64_t window, WindowHandler handler);
  void forget_window(std::uint64_t window);
  void tell(int peer, const note::WindowMessage& message);
  /// From inside a handler.
  void tell_locked(int peer, const note::WindowMessage& message);
  void wake_sleepers(const void* key);
  bool shares_memory() const { return reach_ == Reach::SameHost; }

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::uint64_t generation() const { return attempt_.generation; }
  const Attempt& attempt() const { return attempt_; }
  const std::string& group() const { return options_.group; }
  const std::vector<std::int64_t>& launch_ranks() const { return launch_ranks_; }
  std::string lanes(int peer);
  /// The failure that ended it; of kind None while it works.
  Failure failure() const;

 private:
  struct Sleeper {
    const void* key;  // a work, or what else is waited for
    int descriptor;
  };
  using PairKey = std::tuple<int, std::uint32_t, bool>;  // peer, tag, sends

  bool poll_locked();
  std::optional<std::array<int, 2>> arm_locked();
  bool poll_works();
  void step(const std::shared_ptr<WorkBody>& work);
  void end(const std::shared_ptr<WorkBody>& work, WorkState state, const Failure& failure);
  void tear_down();
  void take_note(int peer, std::string_view bytes);
  void take(int peer, const note::Hello& hello);
  void take(int peer, const note::Revoke& revoke);
  void take(int peer, const note::Decision& decision);
  void take(int peer, const note::Leave& leave);
  void take(int peer, const note::Farewell& farewell);
  void need_no_more(int peer);
  void take(int peer, const note::WindowMessage& message);
  void lost(int peer, const std::string& why);
  void tell_all(const note::Note& note);
  void require_working(const Collective& collective) const;
  std::shared_ptr<const PreparedSchedule> schedule_of(const ScheduleKey& key);
  ExecutionJob job_of(WorkBody& work);
  void record_issue(WorkBody& work) const;
  std::unique_ptr<Execution> take_execution();
  Failure failure_of(const WorkBody& work, const ExecutionFault& fault) const;
  Failure timeout_of(const WorkBody& work) const;
  bool attend(const void* key, std::chrono::nanoseconds until, const std::function<bool()>& done, WorkBody* work);
  void sleep(const void* key, std::chrono::nanoseconds until, const std::function<bool()>& done, WorkBody* work);

  const MeshOptions options_;
  const MeshEvents events_;
  Clock& clock_;
  std::atomic<int> waiters_{0};
  std::atomic<int> open_works_{0};
  std::atomic<bool> failing_{false};
  std::atomic<bool> closed_{false};
  std::atomic<int> needy_{0};         // peers that may lack something of a rank that leaves
  const Descriptor alarm_;            // readable from the failure on
  mutable std::mutex failure_mutex_;  // guards failure_
  Failure failure_;

  std::mutex mutex_;  // guards what follows
  std::unique_ptr<Transport> transport_;
  Attempt attempt_;
  int rank_ = 0;
  int size_ = 0;
  Reach reach_ = Reach::Network;
  bool installed_ = false;
  bool frozen_ = false;
  std::vector<char> connected_, readable_, left_;  // by rank
  std::vector<char> is_needy_;                     // while this rank leaves
  std::vector<std::pair<int, std::string>> lost_while_frozen_;
  std::vector<std::int64_t> launch_ranks_;
  std::uint64_t sequence_ = 0;              // of the last collective
  std::map<PairKey, std::uint64_t> pairs_;  // of the last message
  std::vector<std::shared_ptr<WorkBody>> works_;
  std::vector<std::unique_ptr<Execution>> spare_;
  std::vector<std::pair<ScheduleKey, std::shared_ptr<const PreparedSchedule>>> schedules_;
  std::vector<Sleeper> sleepers_;
  std::map<std::uint64_t, WindowHandler> windows_;
};

}  // namespace resilin::dist
