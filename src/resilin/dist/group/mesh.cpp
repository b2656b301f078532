// src/resilin/dist/group/mesh.cpp -- collectives over a mesh: start, move, wait, end.
#include "resilin/dist/group/mesh.h"

#include <algorithm>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kMostSchedules = 64;
constexpr std::size_t kMostSpareExecutions = 16;
constexpr int kPollsPerLook = 16;  // at the clock, and at other threads that want the lock
constexpr nanoseconds kLongestSleep = milliseconds(100);

/// What wakes this thread alone.
int own_wake_descriptor() {
  thread_local const Descriptor descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  return descriptor.get();
}

void write_wake(int descriptor) {
  const std::uint64_t one = 1;
  static_cast<void>(::write(descriptor, &one, sizeof one));
}

ScheduleKey key_of(const Signature& signature, int size) {
  const bool coalesced = signature.kind == CollectiveKind::AllReduceCoalesced;
  return {.kind = coalesced ? CollectiveKind::AllReduce : signature.kind,
          .algorithm = signature.algorithm,
          .dtype = signature.dtype,
          .size = size,
          .root = signature.root,
          .elements = signature.elements};
}

/// One message, of this rank to the peer or back.
Schedule pair_schedule(int peer, bool sends, std::uint64_t bytes) {
  Round round;
  const Transfer transfer{.peer = peer, .range = {.memory = sends ? Memory::Input : Memory::Output, .bytes = bytes}};
  (sends ? round.sends : round.receives).push_back(transfer);
  return {.lanes = {{round}}};
}

RecordedStatus status_of(WorkState state, FailureKind kind) {
  if (state == WorkState::Success) return RecordedStatus::Success;
  switch (kind) {
    case FailureKind::PeerLost: return RecordedStatus::PeerLost;
    case FailureKind::PeerLeft: return RecordedStatus::PeerLeft;
    case FailureKind::Timeout: return RecordedStatus::TimedOut;
    case FailureKind::Mismatch: return RecordedStatus::Mismatch;
    default: return state == WorkState::Cancelled ? RecordedStatus::Cancelled : RecordedStatus::Failed;
  }
}

}  // namespace

// ---- start

std::shared_ptr<WorkBody> Mesh::start(Collective asked) {
  const std::shared_ptr<WorkBody> work = std::make_shared<WorkBody>();
  work->mesh = shared_from_this();
  work->call = make_call(asked, rank_, size_);
  work->collective = std::move(asked);
  const Collective& collective = work->collective;
  const std::lock_guard<std::mutex> lock(mutex_);
  require_working(collective);
  const bool is_pair = is_point_to_point(collective.kind);
  const bool sends = collective.kind == CollectiveKind::Send;
  work->sequence = is_pair ? ++pairs_[{collective.peer, collective.tag, sends}] : ++sequence_;
  work->generation = attempt_.generation;
  work->begin = clock_.now();
  work->deadline = work->begin + collective.timeout;
  const CollectiveCall& call = work->call;
  const CollectiveKind ruled = collective.kind == CollectiveKind::AllReduceCoalesced ? CollectiveKind::AllReduce : collective.kind;
  work->signature = {.kind = is_pair ? CollectiveKind::Send : collective.kind,
                     .op = call.op,
                     .dtype = call.dtype,
                     .algorithm = is_pair ? Algorithm::Direct : choose_algorithm(ruled, call.op, call.dtype, size_, call.elements, reach_),
                     .root = collective.root,
                     .elements = call.elements};
  record_issue(*work);
  work->execution = take_execution();
  works_.push_back(work);
  open_works_.fetch_add(1, std::memory_order_release);
  work->execution->start(job_of(*work));
  if (options_.recorder != nullptr) options_.recorder->start(work->mark);
  if (!frozen_) step(work);
  return work;
}

void Mesh::require_working(const Collective& collective) const {
  const std::string_view name = enum_name(collective.kind);
  const DistPlace place{.group = options_.group, .generation = attempt_.generation, .ranks = {}};
  if (failing_.load(std::memory_order_acquire)) {
    throw_failure(failure(), cat(name, ": generation ", attempt_.generation, " of group ", options_.group, " works no more"), place);
  }
  if (!installed_) throw CancelledError(cat(name, ": group ", options_.group, " has no members yet; reconfigure it first"), place);
}

ExecutionJob Mesh::job_of(WorkBody& work) {
  const Collective& collective = work.collective;
  const bool is_pair = is_point_to_point(collective.kind);
  ExecutionJob job{.signature = work.signature,
                   .generation = work.generation,
                   .sequence = work.sequence,
                   .input = work.call.input_bytes(),
                   .output = work.call.output_bytes(),
                   .average_over = work.call.op == ReduceOp::Avg ? size_ : 0};
  if (is_pair) {
    const std::uint64_t bytes = work.call.elements * static_cast<std::uint64_t>(size_bytes(work.call.dtype));
    job.prepared = std::make_shared<PreparedSchedule>(pair_schedule(collective.peer, collective.kind == CollectiveKind::Send, bytes));
    const std::uint64_t number = std::uint64_t{collective.tag} << 1;
    job.frame_tag = {.traffic = Tag::Traffic::PointToPoint, .number = number};
    job.payload_tag = {.traffic = Tag::Traffic::PointToPoint, .number = number + 1};
  } else {
    job.prepared = schedule_of(key_of(work.signature, size_));
    const std::uint64_t number = (work.sequence & 0xffffff) << 12;
    job.frame_tag = {.traffic = Tag::Traffic::Frame, .number = number};
    job.payload_tag = {.traffic = Tag::Traffic::Payload, .number = number};
  }
  return job;
}

std::shared_ptr<const PreparedSchedule> Mesh::schedule_of(const ScheduleKey& key) {
  for (const auto& [known, schedule] : schedules_) {
    if (known == key) return schedule;
  }
  if (schedules_.size() >= kMostSchedules) schedules_.erase(schedules_.begin());
  schedules_.emplace_back(key, std::make_shared<const PreparedSchedule>(make_schedule(key, rank_)));
  return schedules_.back().second;
}

std::unique_ptr<Execution> Mesh::take_execution() {
  if (spare_.empty()) return std::make_unique<Execution>(*transport_);
  std::unique_ptr<Execution> taken = std::move(spare_.back());
  spare_.pop_back();
  return taken;
}

// ---- move

Mesh::Look Mesh::look() {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock) return {.is_busy = true};
  for (int i = 0; i < kPollsPerLook; ++i) {
    if (poll_locked()) continue;
    if (const std::optional<std::array<int, 2>> armed = arm_locked()) return {.descriptors = *armed};
  }
  return {.keeps_moving = !is_closed()};
}

bool Mesh::poll_locked() {
  if (is_closed()) return false;
  if (failing_.load(std::memory_order_acquire)) {
    tear_down();
    return true;
  }
  const bool moved = transport_->progress();
  const bool is_busy = !frozen_ && !works_.empty() && poll_works();
  return moved || is_busy;
}

/// True when a work has more to do by itself.
bool Mesh::poll_works() {
  bool busy = false;
  const nanoseconds now = clock_.now();
  for (std::size_t i = 0; i < works_.size();) {
    const std::shared_ptr<WorkBody> work = works_[i];
    step(work);
    busy = busy || (work->execution != nullptr && work->execution->is_busy());
    if (!work->is_done() && now >= work->deadline) fail(timeout_of(*work));
    if (i < works_.size() && works_[i] == work) ++i;
  }
  return busy;
}

void Mesh::step(const std::shared_ptr<WorkBody>& work) {
  if (!work->execution->step()) return;
  const ExecutionFault& fault = work->execution->fault();
  if (fault.kind != ExecutionFault::Kind::None) return fail(failure_of(*work, fault));
  work->call.finish();
  if (spare_.size() < kMostSpareExecutions) spare_.push_back(std::move(work->execution));
  std::erase(works_, work);
  end(work, WorkState::Success, {});
}

void Mesh::end(const std::shared_ptr<WorkBody>& work, WorkState state, const Failure& failure) {
  work->failure = failure;
  work->execution.reset();
  if (options_.recorder != nullptr) options_.recorder->finish(work->mark, status_of(state, failure.kind));
  work->state.store(state, std::memory_order_release);
  open_works_.fetch_sub(1, std::memory_order_release);
  wake_sleepers(work.get());
  events_.ended(work);
  for (std::function<void(const Work&)>& callback : std::exchange(work->callbacks, {})) {
    events_.callback([callback = std::move(callback), work] { callback(Work(work)); });
  }
}

Failure Mesh::failure_of(const WorkBody& work, const ExecutionFault& fault) const {
  switch (fault.kind) {
    case ExecutionFault::Kind::PeerLost:
      if (left_[static_cast<std::size_t>(fault.peer)]) {
        return {FailureKind::PeerLeft, cat("rank ", fault.peer, " has left the group"), {fault.peer}, rank_};
      }
      return {FailureKind::PeerLost, cat("rank ", fault.peer, " is gone: ", fault.text), {fault.peer}, rank_};
    case ExecutionFault::Kind::Mismatch: {
      // Alike on all ranks, whoever finds out.
      std::pair<int, std::string> low{rank_, print_signature(work.signature)}, high{fault.peer, fault.text};
      if (low.first > high.first) std::swap(low, high);
      return {FailureKind::Mismatch,
              cat("ranks run different collectives as number ", work.sequence, ": rank ", low.first, " runs ", low.second, ", rank ",
                  high.first, " runs ", high.second),
              {low.first, high.first},
              rank_};
    }
    case ExecutionFault::Kind::Damaged:
      return {FailureKind::Mismatch,
              cat("rank ", fault.peer, " sent what does not fit number ", work.sequence, ": ", fault.text),
              {fault.peer},
              rank_};
    case ExecutionFault::Kind::None:
    case ExecutionFault::Kind::Cancelled: break;
  }
  return {FailureKind::Aborted, fault.text, {}, rank_};
}

Failure Mesh::timeout_of(const WorkBody& work) const {
  const std::vector<int> awaited = work.execution->awaited();
  Failure failure{FailureKind::Timeout,
                  cat(work.describe(), " timed out after ", work.collective.timeout.count(), " ms; it waits for ranks ", awaited),
                  {awaited.begin(), awaited.end()},
                  rank_};
  return failure;
}

// ---- wait

bool Mesh::wait(WorkBody& work, std::optional<nanoseconds> patience) {
  if (work.is_done()) return true;
  if (options_.recorder != nullptr) options_.recorder->begin_wait(work.mark);
  const nanoseconds until = patience ? clock_.now() + *patience : nanoseconds::max();
  const bool ended = attend(
      &work, until, [&work] { return work.is_done(); }, &work);
  if (ended && options_.recorder != nullptr) options_.recorder->end_wait(work.mark);
  return ended;
}

void Mesh::wait_until(const void* key, const std::function<bool()>& done) {
  attend(
      key, nanoseconds::max(), [&] { return is_closed() || done(); }, nullptr);
}

/// Moves bytes in this thread until it is done or the time is over, which it tells by false.
bool Mesh::attend(const void* key, nanoseconds until, const std::function<bool()>& done, WorkBody* work) {
  struct Attendance {
    explicit Attendance(std::atomic<int>& counter) : count(counter) { count.fetch_add(1, std::memory_order_acq_rel); }
    ~Attendance() { count.fetch_sub(1, std::memory_order_acq_rel); }
    std::atomic<int>& count;
  };
  const Attendance attendance(waiters_);
  nanoseconds spin_until = clock_.now() + options_.spin;
  while (true) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (int i = 0; i < kPollsPerLook && !done(); ++i) {
        if (poll_locked()) i = 0;
      }
    }
    if (done()) return true;
    const nanoseconds now = clock_.now();
    if (now >= until) return false;
    if (now < spin_until) continue;
    sleep(key, std::min(until, now + kLongestSleep), done, work);
    spin_until = clock_.now() + options_.spin;
  }
}

void Mesh::sleep(const void* key, nanoseconds until, const std::function<bool()>& done, WorkBody* work) {
  const int own = own_wake_descriptor();
  std::vector<std::int32_t> awaited;  // launch ranks
  std::array<pollfd, 3> ready{pollfd{own, POLLIN, 0}};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::optional<std::array<int, 2>> armed = done() ? std::nullopt : arm_locked();
    if (!armed) return;
    for (std::size_t i = 0; i < armed->size(); ++i) ready[i + 1] = {(*armed)[i], POLLIN, 0};
    sleepers_.push_back({key, own});
    if (work != nullptr) {
      if (!frozen_) until = std::min(until, work->deadline);
      if (options_.recorder != nullptr) {
        for (const int peer : work->execution->awaited())
          awaited.push_back(static_cast<std::int32_t>(launch_ranks_[static_cast<std::size_t>(peer)]));
      }
    }
    for (const std::int32_t rank : awaited) options_.recorder->begin_peer_wait(rank, work->mark);
  }
  const nanoseconds left = std::max(until - clock_.now(), nanoseconds(0));
  const timespec timeout{.tv_sec = static_cast<time_t>(left / std::chrono::seconds(1)),
                         .tv_nsec = static_cast<long>((left % std::chrono::seconds(1)).count())};
  static_cast<void>(::ppoll(ready.data(), ready.size(), &timeout, nullptr));
  if (ready[0].revents != 0) {
    std::uint64_t count = 0;
    static_cast<void>(::read(own, &count, sizeof count));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(sleepers_, [&](const Sleeper& sleeper) { return sleeper.key == key && sleeper.descriptor == own; });
  if (failing_.load(std::memory_order_acquire)) return;  // a wait that fails tells later who was waited for
  for (const std::int32_t rank : awaited) options_.recorder->end_peer_wait(rank);
}

void Mesh::wake_sleepers(const void* key) {
  for (const Sleeper& sleeper : sleepers_) {
    if (sleeper.key == key) write_wake(sleeper.descriptor);
  }
}

std::optional<std::array<int, 2>> Mesh::arm_locked() {
  if (is_closed() || failing_.load(std::memory_order_acquire) || !transport_->arm()) return std::nullopt;
  return std::array{transport_->wake_descriptor(), alarm_.get()};
}

void Mesh::call_back(const std::shared_ptr<WorkBody>& work, std::function<void(const Work&)> callback) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!work->is_done()) {
      work->callbacks.push_back(std::move(callback));
      return;
    }
  }
  events_.callback([callback = std::move(callback), work] { callback(Work(work)); });
}

// ---- end

void Mesh::freeze() {
  const std::lock_guard<std::mutex> lock(mutex_);
  frozen_ = true;
}
void Mesh::thaw() {
  const std::lock_guard<std::mutex> lock(mutex_);
  frozen_ = false;
  if (!is_closed()) transport_->wake();  // what has come meanwhile
  for (const auto& [peer, why] : std::exchange(lost_while_frozen_, {})) lost(peer, why);
}

void Mesh::fail(Failure failure) {
  {
    const std::lock_guard<std::mutex> lock(failure_mutex_);
    if (failure_.kind != FailureKind::None) return;
    failure_ = std::move(failure);
  }
  failing_.store(true, std::memory_order_release);
  write_wake(alarm_.get());
}

void Mesh::close(Failure failure) {
  fail(std::move(failure));
  const std::lock_guard<std::mutex> lock(mutex_);
  tear_down();
}

void Mesh::tear_down() {
  if (is_closed()) return;
  const Failure why = failure();
  if (revokes(why.kind)) {
    tell_all(note::Revoke{attempt_.generation, why});
    for (int i = 0; i < kPollsPerLook; ++i) transport_->progress();
  } else if (why.kind == FailureKind::Replaced) {
    tell_all(note::Leave{attempt_.generation});
    transport_->progress();
  }
  transport_->close();
  closed_.store(true, std::memory_order_release);
  const bool cancelled = why.kind >= FailureKind::Aborted;
  for (const std::shared_ptr<WorkBody>& work : std::exchange(works_, {})) {
    end(work, cancelled ? WorkState::Cancelled : WorkState::Failed, why);
  }
  for (const Sleeper& sleeper : sleepers_) write_wake(sleeper.descriptor);
  events_.failed(attempt_.generation, why);
}

Failure Mesh::failure() const {
  const std::lock_guard<std::mutex> lock(failure_mutex_);
  return failure_;
}

}  // namespace resilin::dist
