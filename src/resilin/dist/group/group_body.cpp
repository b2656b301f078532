// src/resilin/dist/group/group_body.cpp -- a group between its member's machine and its meshes.
#include "resilin/dist/group/group_body.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/log.h"
#include "resilin/base/text.h"
#include "resilin/dist/agent/heartbeat.h"
#include "resilin/dist/group/callbacks.h"
#include "resilin/dist/group/progress.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;

constexpr const char* kInstancesKey = "instances";
constexpr milliseconds kSoon{1000};

std::uint64_t ms_of(milliseconds time) { return static_cast<std::uint64_t>(time.count()); }

std::uint64_t instance_of(const GroupOptions& options) {
  if (options.store == nullptr) throw ArgumentError(cat("group ", options.name, ": no store is given"));
  if (options.transport == nullptr) throw ArgumentError(cat("group ", options.name, ": no transport is given"));
  return options.instance != 0 ? options.instance : static_cast<std::uint64_t>(options.store->add(kInstancesKey, 1));
}

/// The job's Coordinator looks after the one lineage of a job; lists of different groups are apart.
std::shared_ptr<Store> store_of(const GroupOptions& options) {
  return options.membership == Membership::Lineage ? options.store : make_prefix_store(cat("group/", options.name), options.store);
}

}  // namespace

ProcessGroup::Body::Body(GroupOptions options)
    : options_(std::move(options)), instance_(instance_of(options_)), store_(store_of(options_)) {
  const MemberOptions member{.instance = instance_,
                             .follows = options_.membership == Membership::Lineage,
                             .attempt_timeout_ms = ms_of(options_.attempt_timeout),
                             .store_grace_ms = ms_of(options_.store_grace)};
  driver_ = std::make_unique<MemberDriver>(member, store_, [this](const MemberAction& action) { act(action); });
  driver_->post(member_event::Started{});
}

ProcessGroup::Body::~Body() { destroy(); }

std::shared_ptr<Mesh> ProcessGroup::Body::mesh() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return current_;
}

GenerationInfo ProcessGroup::Body::info() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return info_locked();
}

GenerationInfo ProcessGroup::Body::info_locked() const { return current_ == nullptr ? GenerationInfo() : info_of(*current_); }

GenerationInfo ProcessGroup::Body::info_of(const Mesh& mesh) {
  GenerationInfo info;
  const Attempt& attempt = mesh.attempt();
  info.generation = attempt.generation;
  info.base = attempt.base;
  info.rank = mesh.rank();
  info.launch_ranks = mesh.launch_ranks();
  for (const Handle& handle : attempt.handles) info.handles.push_back(print_handle({handle.instance, attempt.generation}));
  for (const std::string& blob : attempt.blobs) info.blobs.push_back(decode<ReadyBlob>(blob).text);
  return info;
}

GenerationInfo ProcessGroup::Body::reconfigure(const ReconfigureOptions& options) {
  if (in_callback()) throw WouldBlockError("reconfigure: a callback waits for it; it may end only after the callback");
  if (options_.membership == Membership::Lineage) {
    throw ReconfigureError(cat("reconfigure: group ", options_.name,
                               " follows the lineage of its job, whose Coordinator makes its generations; await_generation waits for one"));
  }
  Handles handles;
  for (const std::string& handle : options.handles) handles.push_back(parse_handle(handle));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (destroyed_) throw ReconfigureError(cat("reconfigure: group ", options_.name, " has been finalized"));
    if (!asked_.try_emplace(options.uuid).second) {
      throw ReconfigureError(cat("reconfigure: already in progress: another thread asks for attempt ", options.uuid));
    }
  }
  try {
    driver_->reconfigure(options.uuid, std::move(handles), options.timeout ? ms_of(*options.timeout) : 0);
  } catch (const Error&) {
    const std::lock_guard<std::mutex> lock(mutex_);
    asked_.erase(options.uuid);
    throw;
  }
  std::unique_lock<std::mutex> lock(mutex_);
  const std::optional<Ended>& answer = asked_.at(options.uuid);
  // The machine itself ends every attempt in time.
  changed_.wait(lock, [&] { return answer || !gone_.empty() || destroyed_; });
  const std::optional<Ended> ended = asked_.extract(options.uuid).mapped();
  if (!ended) throw_gone("reconfigure");
  if (ended->verdict != Verdict::Commit) throw ReconfigureError(cat("reconfigure: ", ended->text));
  return info_locked();
}

void ProcessGroup::Body::throw_gone(const std::string& what) const {
  if (store_is_gone_) throw StoreError(cat(what, ": ", gone_));
  throw EvictedError(cat(what, ": ", gone_.empty() ? "the group was destroyed meanwhile" : gone_));
}

GenerationInfo ProcessGroup::Body::await_generation(std::uint64_t after, milliseconds timeout) {
  if (in_callback()) throw WouldBlockError("await_generation: a callback waits for it; it may come only after the callback");
  std::unique_lock<std::mutex> lock(mutex_);
  const std::chrono::nanoseconds until = machine_clock().now() + timeout;
  while (true) {
    if (current_ != nullptr && current_->generation() > after) {
      known_generation_ = current_->generation();
      return info_locked();
    }
    if (!gone_.empty()) throw_gone(cat("group ", options_.name));
    if (destroyed_) throw CancelledError(cat("group ", options_.name, " was destroyed"));
    if (machine_clock().now() >= until) {
      throw TimeoutError(cat("group ", options_.name, ": no generation after ", after, " came in ", timeout.count(), " ms"));
    }
    machine_clock().wait_until(changed_, lock, until);
  }
}

void ProcessGroup::Body::set_blob(std::string blob) {
  if (blob.size() > kMostUserBlobBytes) {
    throw ArgumentError(
        cat("group ", options_.name, ": a blob of ", blob.size(), " bytes; at most ", kMostUserBlobBytes, " go with a generation"));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  blob_ = std::move(blob);
}

std::optional<std::uint64_t> ProcessGroup::Body::held_change() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return held_ == 0 ? std::nullopt : std::optional(held_);
}

bool ProcessGroup::Body::admit_change(std::uint64_t change) {
  if (in_callback()) throw WouldBlockError("admit_change: a callback waits for it; it may end only after the callback");
  std::unique_lock<std::mutex> lock(mutex_);
  const std::uint64_t before = current_ == nullptr ? 0 : current_->generation();
  if (held_ == change) admits_held_ = true;
  changed_.notify_all();
  // The machine itself ends every attempt in time.
  changed_.wait(lock, [&] { return changing_ != change || !gone_.empty() || destroyed_; });
  if (!gone_.empty()) throw_gone(cat("group ", options_.name));
  return current_ != nullptr && current_->generation() != before;
}

// ---- collectives

CollectiveEvent ProcessGroup::Body::event_of(const Mesh& mesh, const Collective& collective) const {
  CollectiveEvent event;
  event.group = options_.name;
  event.rank = mesh.rank();
  event.size = mesh.size();
  event.generation = mesh.generation();
  event.collective = collective;
  return event;
}

/// The mesh of a generation that the program was told of: else it would run the step of another one in it.
std::shared_ptr<Mesh> ProcessGroup::Body::known_mesh(const Collective& collective) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string_view name = enum_name(collective.kind);
  if (!gone_.empty()) throw_gone(cat(name, ": group ", options_.name));
  if (current_ == nullptr) throw CancelledError(cat(name, ": group ", options_.name, " has no members yet; reconfigure it first"));
  const std::uint64_t generation = current_->generation();
  if (options_.membership == Membership::Lineage && generation != known_generation_) {
    throw CancelledError(cat(name, ": group ", options_.name, " is in generation ", generation,
                             " now; await_generation says who its members are, and only then collectives start in it"),
                         {.group = options_.name, .generation = generation, .ranks = {}});
  }
  return current_;
}

Work ProcessGroup::Body::start(Collective collective) {
  const std::shared_ptr<Mesh> current = known_mesh(collective);
  if (collective.timeout < kSoon) look_now();  // which may sleep longer
  if (!pre_hooks->empty()) pre_hooks->call(event_of(*current, collective));
  const std::shared_ptr<WorkBody> work = current->start(std::move(collective));
  if (!post_hooks->empty()) {
    CollectiveEvent event = event_of(*current, work->collective);
    event.sequence = work->sequence;
    post_hooks->call(event);
  }
  return Work(work);
}

// ---- the end

void ProcessGroup::Body::abort(const std::string& reason) {
  if (const std::shared_ptr<Mesh> current = mesh()) {
    current->close({FailureKind::Aborted, cat("rank ", current->rank(), " aborted the group: ", reason), {}, current->rank()});
  }
}

void ProcessGroup::Body::destroy() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(destroyed_, true)) return;
    if (gone_.empty() && options_.tells_agent_of_leave && options_.heartbeat != nullptr) options_.heartbeat->leave();
  }
  changed_.notify_all();
  driver_->close();
  end_hold();
  // A group that ends while an exception is on its way does not leave in good order.
  if (options_.recorder != nullptr && std::uncaught_exceptions() == 0) options_.recorder->leave();
  const Failure failure{FailureKind::Destroyed, cat("group ", options_.name, " was destroyed"), {}, -1};
  std::shared_ptr<Mesh> next, current;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    next = next_;
    current = current_;
  }
  if (next != nullptr) next->close(failure);
  if (current == nullptr) return;
  current->leave();  // others may ask meanwhile
  current->close(failure);
}

// ---- what the member's machine asks for, in the driver's thread

void ProcessGroup::Body::act(const MemberAction& action) {
  std::visit([this](const auto& one) { perform(one); }, action);
}

void ProcessGroup::Body::tell_membership(MembershipPhase phase, const Attempt& attempt) {
  if (options_.recorder != nullptr) {
    options_.recorder->change_membership({.phase = phase, .generation = attempt.generation, .incident = attempt.uuid, .culprit = kNoRank});
  }
  if (membership_hooks->empty()) return;
  const MembershipChange change{options_.name, phase, attempt.uuid, attempt.generation};
  run_callback([hooks = membership_hooks, change] { hooks->call(change); });
}

MeshEvents ProcessGroup::Body::mesh_events(const Attempt& attempt) {
  const Handles handles = attempt.handles;
  const std::uint64_t uuid = attempt.uuid;
  const auto instance = [handles](int peer) { return handles[static_cast<std::size_t>(peer)].instance; };
  MeshEvents events;
  events.hello = [this](int, const note::Hello& hello) {
    driver_->post(member_event::HelloHeard{hello.instance, hello.uuid, hello.generation, hello.digest});
  };
  events.unreachable = [this, uuid, instance](int peer, const std::string& why) {
    log(LogLevel::Warning, cat("group ", options_.name, ": rank ", peer, " of the next generation cannot be reached: ", why));
    driver_->post(member_event::PeerUnreachable{uuid, instance(peer)});
  };
  events.decision = [this](const Attempt& decision) { driver_->post(member_event::DecisionHeard{decision}); };
  events.failed = [this, instance](std::uint64_t generation, const Failure& failure) {
    changed_.notify_all();  // a change that is held waits no longer
    if (revokes(failure.kind)) {
      std::vector<std::uint64_t> lost;
      const bool is_death = failure.kind == FailureKind::PeerLost || failure.kind == FailureKind::PeerLeft;
      for (const i64 rank : failure.ranks) {
        if (is_death) lost.push_back(instance(static_cast<int>(rank)));
      }
      driver_->post(member_event::GenerationFailed{generation, lost});
    }
    if (options_.recorder != nullptr) options_.recorder->revoke(generation, static_cast<std::int32_t>(failure.origin), 0);
    if (abort_hooks->empty()) return;
    const AbortEvent event{options_.name, generation, failure.text, failure.ranks};
    run_callback([hooks = abort_hooks, event] { hooks->call(event); });
  };
  events.ended = [this](const std::shared_ptr<WorkBody>& work) {
    if (completion_hooks->empty()) return;
    CollectiveEvent event = event_of(*work->mesh, work->collective);
    event.sequence = work->sequence;
    event.state = work->state.load(std::memory_order_acquire);
    event.duration = machine_clock().now() - work->begin;
    run_callback([hooks = completion_hooks, event] { hooks->call(event); });
  };
  events.callback = [](std::function<void()> task) { run_callback(std::move(task)); };
  return events;
}

void ProcessGroup::Body::perform(const member_action::PrepareMesh& action) {
  tell_membership(MembershipPhase::Open, action.attempt);
  try {
    const MeshOptions mesh_options{.group = options_.name,
                                   .instance = instance_,
                                   .launch_rank = options_.launch_rank,
                                   .spin = options_.spin,
                                   .recorder = options_.recorder};
    const std::shared_ptr<Mesh> mesh =
        std::make_shared<Mesh>(mesh_options, options_.transport, mesh_events(action.attempt), machine_clock());
    mesh->join(action.attempt, rank_of(action.attempt.handles, instance_));
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      next_ = mesh;
      changing_ = action.attempt.uuid;
    }
    look_after(mesh);
    driver_->post(member_event::MeshPrepared{action.attempt.uuid, mesh->address()});
  } catch (const Error& error) {
    driver_->post(member_event::MeshFailed{action.attempt.uuid, error.what()});
  }
}

void ProcessGroup::Body::perform(const member_action::Connect& action) {
  const std::shared_ptr<Mesh> next = next_;
  if (next == nullptr || next->attempt().uuid != action.uuid) return;
  try {
    next->connect(rank_of(next->attempt().handles, action.peer.instance), action.address);
  } catch (const Error& error) {
    log(LogLevel::Warning, cat("group ", options_.name, ": no way to instance ", action.peer.instance, ": ", error.what()));
    driver_->post(member_event::PeerUnreachable{action.uuid, action.peer.instance});
  }
}

void ProcessGroup::Body::perform(const member_action::CloseAdmission& action) {
  end_hold();
  if (holds_changes()) return hold(action);
  close_admission(action);
}

/// Nothing has forced the change, and the program wants to say when.
bool ProcessGroup::Body::holds_changes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return options_.changes.hold.count() > 0 && current_ != nullptr && current_->failure().kind == FailureKind::None;
}

void ProcessGroup::Body::hold(const member_action::CloseAdmission& action) {
  const std::shared_ptr<Mesh> current = mesh();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = action.uuid;
    admits_held_ = false;
  }
  hold_ = std::thread([this, action, current] {
    // The attempt itself has an end, at which nobody may be to blame for waiting.
    const std::chrono::nanoseconds until = machine_clock().now() + std::min(options_.changes.hold, options_.attempt_timeout / 2);
    std::unique_lock<std::mutex> lock(mutex_);
    while (held_ == action.uuid && !admits_held_ && machine_clock().now() < until && current->failure().kind == FailureKind::None)
      machine_clock().wait_until(changed_, lock, until);
    if (held_ != action.uuid) return;
    held_ = 0;
    lock.unlock();
    close_admission(action);
  });
}

/// The attempt is over, or the group: nobody waits for the program's word any more.
void ProcessGroup::Body::end_hold() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = 0;
  }
  changed_.notify_all();
  if (hold_.joinable()) hold_.join();
}

void ProcessGroup::Body::close_admission(const member_action::CloseAdmission& action) {
  std::string text;
  std::shared_ptr<Mesh> next;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    next = next_;
    if (next == nullptr || next->attempt().uuid != action.uuid) return;  // it was dropped meanwhile
    if (current_ != nullptr) current_->freeze();
    text = blob_;
  }
  if (options_.changes.closed) text = options_.changes.closed();
  tell_membership(MembershipPhase::Promised, next->attempt());
  driver_->post(member_event::AdmissionClosed{action.uuid, encode(ReadyBlob{options_.shares_memory && next->reads_all_peers(), text})});
}

void ProcessGroup::Body::perform(const member_action::OpenAdmission&) {
  end_hold();
  if (options_.changes.reopened) options_.changes.reopened();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (current_ != nullptr) current_->thaw();
}

void ProcessGroup::Body::perform(const member_action::DropMesh&) {
  end_hold();
  std::shared_ptr<Mesh> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    dropped = std::exchange(next_, nullptr);
    changing_ = 0;
  }
  changed_.notify_all();
  if (dropped == nullptr) return;
  tell_membership(MembershipPhase::Abort, dropped->attempt());
  dropped->close({FailureKind::Destroyed, "the attempt came to nothing", {}, -1});
}

void ProcessGroup::Body::perform(const member_action::TellPeers& action) {
  if (next_ != nullptr) next_->tell_peers(action.attempt);
}

void ProcessGroup::Body::perform(const member_action::Install& action) {
  tell_membership(MembershipPhase::Commit, action.attempt);
  const bool all_read =
      std::ranges::all_of(action.attempt.blobs, [](const std::string& blob) { return decode<ReadyBlob>(blob).reads_all_peers; });
  std::shared_ptr<Mesh> old;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    old = current_;
  }
  if (old != nullptr)
    old->close({FailureKind::Replaced, cat("generation ", old->generation(), " was replaced by ", action.attempt.generation), {}, -1});
  next_->install(action.attempt, all_read ? Reach::SameHost : Reach::Network);
  if (options_.changes.installed) options_.changes.installed(info_of(*next_));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    current_ = std::exchange(next_, nullptr);
    changing_ = 0;
  }
  tell_membership(MembershipPhase::Install, action.attempt);
  changed_.notify_all();
}

void ProcessGroup::Body::perform(const member_action::Revoke& action) {
  const std::shared_ptr<Mesh> current = mesh();
  if (current == nullptr || current->generation() != action.generation) return;
  std::vector<i64> ranks;
  for (const std::uint64_t instance : action.lost) {
    const int rank = rank_of(current->attempt().handles, instance);
    if (rank < 0) continue;
    ranks.push_back(rank);
    const std::int64_t launch_rank = current->launch_ranks()[static_cast<std::size_t>(rank)];
    if (options_.recorder != nullptr) {
      options_.recorder->lose_peer(static_cast<std::int32_t>(launch_rank), LossEvidence::Heartbeat, action.generation);
    }
  }
  if (ranks.empty()) {
    current->fail({FailureKind::Aborted, cat("generation ", action.generation, " was revoked by another member"), {}, -1});
  } else {
    const std::string text = cat("rank ", ranks[0], " is gone: the job's agents say so");
    current->fail(
        {FailureKind::PeerLost, ranks.size() == 1 ? text : cat("ranks ", ranks, " are gone: the job's agents say so"), ranks, -1});
  }
}

void ProcessGroup::Body::perform(const member_action::Finished& action) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::map<std::uint64_t, std::optional<Ended>>::iterator at = asked_.find(action.uuid);
    if (at != asked_.end()) at->second = {action.verdict, action.text};
  }
  changed_.notify_all();
}

void ProcessGroup::Body::perform(const member_action::Leave& action) {
  std::shared_ptr<Mesh> current;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    gone_ = action.text.empty() ? "this process is no member any more" : action.text;
    store_is_gone_ = action.store_is_gone;
    current = current_;
  }
  if (current != nullptr) current->close({action.store_is_gone ? FailureKind::Destroyed : FailureKind::Evicted, gone_, {}, -1});
  changed_.notify_all();
}

}  // namespace resilin::dist
