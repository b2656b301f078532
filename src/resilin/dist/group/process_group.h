// src/resilin/dist/group/process_group.h -- ProcessGroup: ranks that work together, and go on with other members without a restart.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "resilin/base/api.h"
#include "resilin/dist/collective/collective.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/group/hooks.h"
#include "resilin/dist/group/work.h"
#include "resilin/dist/store/store.h"
#include "resilin/dist/transport/transport.h"

namespace resilin::dist {

class Heartbeat;
class Recorder;

/// How members of a group come about.
enum class Membership {
  Listed,   // by `reconfigure`, with lists of the user's own
  Lineage,  // by the job's Coordinator: the first list when enough members are there, then without the dead and with those that come
};

/// A generation as all its members see it.
struct GenerationInfo {
  std::uint64_t generation = 0;            // 0: none yet
  std::uint64_t base = 0;                  // of a lineage: the one that it follows
  int rank = 0;                            // this process's
  std::vector<std::string> handles;        // by rank
  std::vector<std::string> blobs;          // what each member gave with `set_blob` or ChangeRules::closed
  std::vector<std::int64_t> launch_ranks;  // by rank: the launcher's numbers
};

/// What a program whose work must not be lost has to do with changes of members. The functions are called in a thread of the group's own, in order, and
/// wait for nothing.
struct ChangeRules {
  /// Nothing of the generation succeeds from here on, until it is reopened or another one is installed: what the other members are told, at most 200 bytes.
  std::function<std::string()> closed;
  /// The change came to nothing: the generation is what it was.
  std::function<void()> reopened;
  /// This is the generation now. Its first collective starts after that.
  std::function<void(const GenerationInfo&)> installed;
  /// A change that nothing has forced, as when somebody joins, waits so long for `admit_change`, at most half of the
  /// group's attempt_timeout: then the members lose no step under way.
  std::chrono::milliseconds hold{0};
};

struct GroupOptions {
  std::string name = "default";
  std::shared_ptr<Store> store;  // needed; of all members the same
  TransportMaker transport;      // needed
  Membership membership = Membership::Listed;
  std::uint64_t instance = 0;        // this life's number, of the store's counter "instances"; 0: a new one is taken
  std::int64_t launch_rank = 0;      // of this process, for recordings
  std::chrono::nanoseconds spin{0};  // how long `wait` polls before it sleeps
  std::chrono::milliseconds attempt_timeout{10'000};
  std::chrono::milliseconds store_grace{60'000};
  bool shares_memory = true;                       // with ranks of this host, where the system allows it
  std::shared_ptr<Recorder> recorder = nullptr;    // null: nothing is recorded
  std::shared_ptr<Heartbeat> heartbeat = nullptr;  // to the agent of this host; null: it hears nothing of this process
  bool tells_agent_of_leave = false;               // destroy() does: for an agent that is not the parent and sees no exit status
  ChangeRules changes = {};
};

struct ReconfigureOptions {
  std::uint64_t uuid = 0;            // each attempt needs its own; a number that was used once is refused for ever
  std::vector<std::string> handles;  // position = new rank
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;  // the group's attempt_timeout
};

/// A group of ranks of one process each. Nothing connects before the first reconfiguration; until then collectives throw.
///
/// A generation that fails (a member died, ranks disagreed, an operation's time was up, somebody called abort) fails on all its members, and the
/// group lives on: reconfigure makes the next generation, with whoever is there.
///
/// Threads  any thread may call; copies speak of the same group
class RESILIN_API ProcessGroup {
 public:
  ProcessGroup() = default;  // of nothing: every call throws ArgumentError
  /// ArgumentError when the store or the transport is missing; StoreError when no instance can be had.
  explicit ProcessGroup(GroupOptions options);

  /// 0 and 1 before the first generation.
  int rank() const;
  int size() const;
  std::uint64_t generation() const;
  GenerationInfo info() const;
  const std::string& name() const;
  const std::shared_ptr<Store>& store() const;
  /// What the way to a peer is made of, e.g. "posix tcp/lo"; throws what ended the generation once that works no more.
  std::string lanes(int peer) const;

  // ---- members

  static bool supports_reconfigure() { return true; }
  /// Names this process and its generation; another one after each install.
  std::string reconfigure_handle() const;
  /// Makes the next generation of the listed members, all of whom call this with the same uuid and list. Comes back when it is installed.
  ///
  /// Errors  ArgumentError for a list that cannot be; ReconfigureError when it did not come about, and the old generation is what it was, and in
  ///         a group that follows a lineage; EvictedError when this process is no member any more; WouldBlockError in a callback
  GenerationInfo reconfigure(const ReconfigureOptions& options);
  /// Waits for a generation after this one. In a group that follows a lineage no collective starts in a generation before this has told of it.
  /// TimeoutError when none comes; EvictedError when this process is no member any more; StoreError when the current one has failed, or there is
  /// none yet, and the store was away for the group's store_grace: such a process ends with kExitStoreLost, 75.
  GenerationInfo await_generation(std::uint64_t after, std::chrono::milliseconds timeout);
  /// What the other members are told with the next generation, where no ChangeRules say it: at most 200 bytes.
  void set_blob(std::string blob);
  /// The change that is held for this program (ChangeRules::hold), by a number that is alike on all members.
  std::optional<std::uint64_t> held_change() const;
  /// Lets a held change go on; all members do that at the same place of their work. Comes back at the end of the change: true when another generation
  /// stands, false when it came to nothing and this one goes on.
  bool admit_change(std::uint64_t change);
  /// Asks the agent of a rank to end its process, as one that has failed. StoreError when nobody can be asked.
  void evict(int rank, const std::string& reason);
  /// Tells the agent of this host which step begins now: where it is for others to see, and where planned faults strike.
  void report_step(i64 step) const;

  /// Ends the generation here and on all members. Its Works end; only reconfigure and destroy are left. Never waits for others.
  void abort(const std::string& reason);
  bool is_aborted() const;
  /// Leaves in good order: members that need nothing more of this one go on.
  void destroy();

  // ---- collectives: each returns its Work at once, and runs whether or not somebody waits

  Work start(Collective collective);
  /// x = op over all ranks of x.
  Work all_reduce(const Tensor& x, ReduceOp op = ReduceOp::Sum, std::chrono::milliseconds timeout = kCollectiveTimeout);
  Work all_reduce_coalesced(const std::vector<Tensor>& x, ReduceOp op = ReduceOp::Sum,
                            std::chrono::milliseconds timeout = kCollectiveTimeout);
  /// x = the root's x.
  Work broadcast(const Tensor& x, int root, std::chrono::milliseconds timeout = kCollectiveTimeout);
  /// output = the inputs of all ranks, one after the other.
  Work all_gather_single(const Tensor& output, const Tensor& input, std::chrono::milliseconds timeout = kCollectiveTimeout);
  /// output = this rank's part of op over all ranks of input.
  Work reduce_scatter_single(const Tensor& output, const Tensor& input, ReduceOp op = ReduceOp::Sum,
                             std::chrono::milliseconds timeout = kCollectiveTimeout);
  Work barrier(std::chrono::milliseconds timeout = kCollectiveTimeout);
  Work send(const Tensor& x, int peer, std::uint32_t tag = 0, std::chrono::milliseconds timeout = kCollectiveTimeout);
  Work recv(const Tensor& x, int peer, std::uint32_t tag = 0, std::chrono::milliseconds timeout = kCollectiveTimeout);

  // ---- hooks, in the order of their registration

  /// Before a collective is issued, in the caller's thread; what it throws, `start` throws, and nothing has begun.
  HookHandle register_pre_hook(CollectiveHook hook);
  /// After it was issued, in the caller's thread.
  HookHandle register_post_hook(CollectiveHook hook);
  /// After its end, in the thread of callbacks.
  HookHandle register_completion_hook(CollectiveHook hook);
  /// After a generation was torn down, in the thread of callbacks.
  HookHandle register_abort_hook(AbortHook hook);
  /// At each step of a reconfiguration, in the thread of callbacks.
  HookHandle register_membership_hook(MembershipHook hook);

  /// Internal.
  class Body;
  Body& body() const;

 private:
  std::shared_ptr<Body> body_;
};

}  // namespace resilin::dist
