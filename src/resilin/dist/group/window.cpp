// src/resilin/dist/group/window.cpp -- windows over shared memory, and over messages where there is none.
#include "resilin/dist/group/window.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/collective/peer_memory.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/group/group_body.h"
#include "resilin/dist/group/mesh.h"
#include "resilin/dist/os/shared_segment.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Before the memory itself: the slots of signals.
constexpr std::size_t kControlBytes = 4096;
static_assert(kControlBytes >= Window::kSlots * sizeof(std::uint64_t));
/// Of a put or a get that travels as notes.
constexpr std::size_t kNoteBytes = 3072;
/// Of the pieces of one get: as many are under way, so that the distance to the target counts once for all of them and neither side's queues grow long.
constexpr std::size_t kMostAsked = 256;
/// How long a wait sleeps before it looks whether the generation still works.
constexpr nanoseconds kLook = milliseconds(5);

/// What ranks tell each other when a window is made.
struct Offer {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;
  std::uint64_t bytes = 0;
};

Tensor tensor_over(const std::shared_ptr<SharedSegment>& segment) {
  const std::span<std::byte> data = segment->bytes().subspan(kControlBytes);
  const i64 bytes = static_cast<i64>(data.size());
  return Tensor::view(Storage::external(data.data(), bytes, [segment] {}), DType::U8, 0, Shape{bytes}, Strides{1});
}

std::atomic_ref<std::uint64_t> number_at(std::byte* address) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(address));
}

}  // namespace

class Window::Body {
 public:
  Body(ProcessGroup group, std::shared_ptr<SharedSegment> own);
  ~Body() { mesh_->forget_window(id_); }

  bool is_passive() const { return passive_; }
  std::uint64_t size_bytes(int rank) const { return offers_[checked_rank(rank)].bytes; }
  const std::shared_ptr<SharedSegment>& own() const { return segments_[static_cast<std::size_t>(mesh_->rank())]; }
  std::optional<std::span<std::byte>> map_remote(int rank) const;
  void put(int rank, std::uint64_t offset, std::span<const std::byte> bytes);
  void get(int rank, std::uint64_t offset, std::span<std::byte> bytes);
  std::uint64_t update(int rank, note::WindowMessage message);
  void flush(int rank);
  void signal(int rank, int slot);
  void wait_signal(int slot, std::uint64_t count, milliseconds timeout);
  ProcessGroup& group() { return group_; }

 private:
  std::size_t checked_rank(int rank) const;
  int checked_slot(int slot) const;
  std::byte* checked(int rank, std::uint64_t offset, std::uint64_t bytes) const;
  void require_working() const;
  void take(int peer, const note::WindowMessage& message);
  std::uint64_t apply(const note::WindowMessage& message);
  std::uint64_t ask(int rank, note::WindowMessage message);
  std::string await_reply(std::uint64_t operation);

  ProcessGroup group_;
  std::shared_ptr<Mesh> mesh_;
  std::uint64_t id_ = 0;
  bool passive_ = false;
  std::vector<Offer> offers_;                             // by rank
  std::vector<std::shared_ptr<SharedSegment>> segments_;  // by rank; null where it cannot be mapped
  std::mutex mutex_;                                      // guards what follows
  std::uint64_t last_operation_ = 0;
  std::map<std::uint64_t, std::string> replies_;  // that nobody has taken yet
};

Window::Body::Body(ProcessGroup group, std::shared_ptr<SharedSegment> memory) : group_(std::move(group)), mesh_(group_.body().mesh()) {
  if (mesh_ == nullptr) throw CancelledError(cat("window: group ", group_.name(), " has no members yet; reconfigure it first"));
  const std::size_t size = static_cast<std::size_t>(mesh_->size()), rank = static_cast<std::size_t>(mesh_->rank());
  segments_.resize(size);
  std::memset(memory->bytes().data(), 0, kControlBytes);
  segments_[rank] = std::move(memory);
  const std::uint64_t bytes = own()->bytes().size() - kControlBytes;
  const Tensor mine = Tensor::allocate(Shape{3}, DType::I64), all = Tensor::allocate(Shape{3 * static_cast<i64>(size)}, DType::I64);
  const Offer offer{own_process(), own()->descriptor(), bytes};
  std::memcpy(mine.data(), &offer, sizeof offer);
  const Work exchange = group_.all_gather_single(all, mine);
  exchange.wait();
  id_ = exchange.sequence();
  offers_.resize(size);
  std::memcpy(offers_.data(), all.data(), size * sizeof(Offer));
  const Tensor maps_all = Tensor::allocate(Shape{1}, DType::I64);
  *static_cast<i64*>(maps_all.data()) = 1;
  for (std::size_t i = 0; i < size; ++i) {
    if (i == rank) continue;
    if (mesh_->shares_memory()) {
      segments_[i] = std::make_shared<SharedSegment>(
          SharedSegment::open(offers_[i].process, static_cast<int>(offers_[i].descriptor), kControlBytes + offers_[i].bytes));
    }
    if (segments_[i] == nullptr || !*segments_[i]) *static_cast<i64*>(maps_all.data()) = 0;
  }
  mesh_->take_window(id_, [this](int peer, const note::WindowMessage& message) { take(peer, message); });
  try {
    // After it everybody takes messages, and either all reach each other's memory or nobody does.
    group_.all_reduce(maps_all, ReduceOp::Min).wait();
  } catch (...) {
    mesh_->forget_window(id_);
    throw;
  }
  passive_ = *static_cast<i64*>(maps_all.data()) == 1;
}

std::size_t Window::Body::checked_rank(int rank) const {
  if (rank < 0 || rank >= mesh_->size()) throw IndexError(cat("window: no rank ", rank, " among ", mesh_->size()));
  return static_cast<std::size_t>(rank);
}

int Window::Body::checked_slot(int slot) const {
  if (slot < 0 || slot >= kSlots) throw IndexError(cat("window: no slot ", slot, "; there are ", kSlots));
  return slot;
}

/// Where the bytes lie in this process; null where they are reached by messages.
std::byte* Window::Body::checked(int rank, std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t size = offers_[checked_rank(rank)].bytes;
  if (offset > size || bytes > size - offset) {
    throw IndexError(cat("window: bytes ", offset, " to ", offset, " + ", bytes, " of rank ", rank, "; it has ", size));
  }
  require_working();
  if (!passive_ && rank != mesh_->rank()) return nullptr;
  return segments_[static_cast<std::size_t>(rank)]->bytes().data() + kControlBytes + offset;
}

void Window::Body::require_working() const {
  const Failure failure = mesh_->failure();
  if (failure.kind == FailureKind::None) return;
  const DistPlace place{.group = mesh_->group(), .generation = mesh_->generation(), .ranks = {}};
  if (failure.kind == FailureKind::Replaced)
    throw StaleError(cat("window: it is of generation ", mesh_->generation(), ": ", failure.text), place);
  throw_failure(failure, "window", place);
}

std::optional<std::span<std::byte>> Window::Body::map_remote(int rank) const {
  checked_rank(rank);
  if (!passive_ && rank != mesh_->rank()) return std::nullopt;
  return segments_[static_cast<std::size_t>(rank)]->bytes().subspan(kControlBytes);
}

// ---- at the origin

void Window::Body::put(int rank, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (std::byte* to = checked(rank, offset, bytes.size())) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    return;
  }
  while (!bytes.empty()) {
    const std::span<const std::byte> piece = bytes.first(std::min(bytes.size(), kNoteBytes));
    mesh_->tell(rank, note::WindowMessage{.window = id_,
                                          .kind = note::WindowMessage::Kind::Put,
                                          .offset = offset,
                                          .bytes = {reinterpret_cast<const char*>(piece.data()), piece.size()}});
    offset += piece.size();
    bytes = bytes.subspan(piece.size());
  }
}

void Window::Body::get(int rank, std::uint64_t offset, std::span<std::byte> bytes) {
  if (const std::byte* from = checked(rank, offset, bytes.size())) {
    if (!bytes.empty()) std::memcpy(bytes.data(), from, bytes.size());
    return require_working();
  }
  std::deque<std::pair<std::uint64_t, std::span<std::byte>>> asked;  // operations, and where their bytes go
  while (!bytes.empty() || !asked.empty()) {
    if (!bytes.empty() && asked.size() < kMostAsked) {
      const std::span<std::byte> piece = bytes.first(std::min(bytes.size(), kNoteBytes));
      asked.emplace_back(ask(rank, {.window = id_, .kind = note::WindowMessage::Kind::Get, .offset = offset, .first = piece.size()}),
                         piece);
      offset += piece.size();
      bytes = bytes.subspan(piece.size());
      continue;
    }
    const auto [operation, piece] = asked.front();
    asked.pop_front();
    const std::string got = await_reply(operation);
    std::memcpy(piece.data(), got.data(), std::min(got.size(), piece.size()));
  }
}

std::uint64_t Window::Body::update(int rank, note::WindowMessage message) {
  if (message.offset % sizeof(std::uint64_t) != 0)
    throw IndexError(cat("window: a number at byte ", message.offset, "; it must be a multiple of 8"));
  const bool reaches = checked(rank, message.offset, sizeof(std::uint64_t)) != nullptr;
  message.window = id_;
  if (reaches) {
    message.rank = static_cast<std::uint64_t>(rank);
    return apply(message);
  }
  const std::string got = await_reply(ask(rank, std::move(message)));
  std::uint64_t before = 0;
  std::memcpy(&before, got.data(), std::min(got.size(), sizeof before));
  return before;
}

void Window::Body::flush(int rank) {
  if (checked(rank, 0, 0) != nullptr) return;
  await_reply(ask(rank, {.window = id_, .kind = note::WindowMessage::Kind::Flush}));
}

void Window::Body::signal(int rank, int slot) {
  const note::WindowMessage message{.window = id_,
                                    .kind = note::WindowMessage::Kind::Signal,
                                    .rank = static_cast<std::uint64_t>(checked_rank(rank)),
                                    .offset = static_cast<std::uint64_t>(checked_slot(slot))};
  if (checked(rank, 0, 0) != nullptr) {
    apply(message);
  } else {
    mesh_->tell(rank, message);
  }
}

void Window::Body::wait_signal(int slot, std::uint64_t count, milliseconds timeout) {
  std::byte* address = own()->bytes().data() + static_cast<std::size_t>(checked_slot(slot)) * sizeof(std::uint64_t);
  const std::atomic_ref<std::uint64_t> number = number_at(address);
  const nanoseconds end = machine_clock().now() + timeout;
  while (true) {
    std::uint64_t seen = number.load(std::memory_order_acquire);
    while (seen >= count) {
      if (number.compare_exchange_weak(seen, seen - count, std::memory_order_acq_rel)) return;
    }
    require_working();
    const nanoseconds now = machine_clock().now();
    if (now >= end) {
      throw TimeoutError(cat("window: slot ", slot, " has counted ", seen, " of ", count, " signals after ", timeout.count(), " ms"));
    }
    wait_for_change(reinterpret_cast<const std::uint64_t*>(address), seen, std::min(kLook, end - now).count());
  }
}

/// The number of the operation that is now under way.
std::uint64_t Window::Body::ask(int rank, note::WindowMessage message) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    message.operation = ++last_operation_;
  }
  mesh_->tell(rank, message);
  return message.operation;
}

std::string Window::Body::await_reply(std::uint64_t operation) {
  std::optional<std::string> reply;
  mesh_->wait_until(this, [&] {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::map<std::uint64_t, std::string>::iterator at = replies_.find(operation);
    if (at != replies_.end()) reply = std::move(replies_.extract(at).mapped());
    return reply.has_value();
  });
  if (!reply) require_working();
  return std::move(reply).value();
}

// ---- at the target, in whichever thread moves bytes

void Window::Body::take(int peer, const note::WindowMessage& message) {
  using Kind = note::WindowMessage::Kind;
  if (message.kind == Kind::Reply) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      replies_[message.operation] = message.bytes;
    }
    return mesh_->wake_sleepers(this);
  }
  // Peers check before they send; what is out of bounds all the same is damaged, and has no effect.
  const std::uint64_t size = offers_[static_cast<std::size_t>(mesh_->rank())].bytes;
  const std::uint64_t wanted = message.kind == Kind::Put   ? message.bytes.size()
                               : message.kind == Kind::Get ? message.first
                                                           : sizeof(std::uint64_t);
  const bool has_memory =
      message.kind == Kind::Put || message.kind == Kind::Get || message.kind == Kind::FetchAdd || message.kind == Kind::CompareSwap;
  if (has_memory && (message.offset > size || wanted > size - message.offset || wanted > kNoteBytes)) return;
  if (message.kind == Kind::Signal && message.offset >= static_cast<std::uint64_t>(kSlots)) return;
  std::byte* data = own()->bytes().data() + kControlBytes + (has_memory ? message.offset : 0);
  note::WindowMessage reply{.window = message.window, .kind = Kind::Reply, .operation = message.operation};
  switch (message.kind) {
    case Kind::Put: std::memcpy(data, message.bytes.data(), message.bytes.size()); return;
    case Kind::Get: reply.bytes.assign(reinterpret_cast<const char*>(data), message.first); break;
    case Kind::FetchAdd:
    case Kind::CompareSwap: {
      if (message.offset % sizeof(std::uint64_t) != 0) return;
      note::WindowMessage own_message = message;
      own_message.rank = static_cast<std::uint64_t>(mesh_->rank());
      const std::uint64_t before = apply(own_message);
      reply.bytes.assign(reinterpret_cast<const char*>(&before), sizeof before);
      break;
    }
    case Kind::Signal: {
      note::WindowMessage own_message = message;
      own_message.rank = static_cast<std::uint64_t>(mesh_->rank());
      apply(own_message);
      return;
    }
    case Kind::Flush:
    case Kind::Reply: break;
  }
  mesh_->tell_locked(peer, reply);
}

/// To memory that is mapped here.
std::uint64_t Window::Body::apply(const note::WindowMessage& message) {
  using Kind = note::WindowMessage::Kind;
  std::byte* segment = segments_[message.rank]->bytes().data();
  if (message.kind == Kind::Signal) {
    std::byte* slot = segment + message.offset * sizeof(std::uint64_t);
    const std::uint64_t before = number_at(slot).fetch_add(1, std::memory_order_acq_rel);
    tell_change(reinterpret_cast<const std::uint64_t*>(slot));
    return before;
  }
  const std::atomic_ref<std::uint64_t> number = number_at(segment + kControlBytes + message.offset);
  if (message.kind == Kind::FetchAdd) return number.fetch_add(message.first, std::memory_order_acq_rel);
  std::uint64_t expected = message.first;
  number.compare_exchange_strong(expected, message.second, std::memory_order_acq_rel);
  return expected;
}

// ---- the face

WindowMemory::WindowMemory(std::uint64_t bytes) : segment_(std::make_shared<SharedSegment>(SharedSegment::create(kControlBytes + bytes))) {}
std::uint64_t WindowMemory::size_bytes() const { return segment_->bytes().size() - kControlBytes; }
Tensor WindowMemory::tensor() const { return tensor_over(segment_); }

Window::Window(ProcessGroup group, std::uint64_t bytes) : Window(std::move(group), WindowMemory(bytes)) {}
Window::Window(ProcessGroup group, const WindowMemory& memory) {
  if (!memory.defined()) throw ArgumentError("window: the memory is of nothing");
  body_ = std::make_shared<Body>(std::move(group), memory.segment_);
}
bool Window::is_passive() const { return body_->is_passive(); }
std::uint64_t Window::size_bytes(int rank) const { return body_->size_bytes(rank); }
Tensor Window::tensor() const { return tensor_over(body_->own()); }
std::optional<std::span<std::byte>> Window::map_remote(int rank) const { return body_->map_remote(rank); }
void Window::put(int rank, std::uint64_t offset, std::span<const std::byte> bytes) const { body_->put(rank, offset, bytes); }
void Window::get(int rank, std::uint64_t offset, std::span<std::byte> bytes) const { body_->get(rank, offset, bytes); }
std::uint64_t Window::fetch_add(int rank, std::uint64_t offset, std::uint64_t amount) const {
  return body_->update(rank, {.kind = note::WindowMessage::Kind::FetchAdd, .offset = offset, .first = amount});
}
std::uint64_t Window::compare_swap(int rank, std::uint64_t offset, std::uint64_t expected, std::uint64_t desired) const {
  return body_->update(rank, {.kind = note::WindowMessage::Kind::CompareSwap, .offset = offset, .first = expected, .second = desired});
}
void Window::flush(int rank) const { body_->flush(rank); }
void Window::signal(int rank, int slot) const { body_->signal(rank, slot); }
void Window::wait_signal(int slot, std::uint64_t count, std::chrono::milliseconds timeout) const {
  body_->wait_signal(slot, count, timeout);
}
void Window::destroy() {
  if (body_ == nullptr) return;
  body_->group().barrier().wait();
  body_.reset();
}

}  // namespace resilin::dist
