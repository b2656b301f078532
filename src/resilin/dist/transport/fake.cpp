// src/resilin/dist/transport/fake.cpp -- messages between ranks of one process.
#include "resilin/dist/transport/fake.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {
namespace {

struct Message {
  enum class Kind { Data, Note, Taken };  // Taken: the receiver has matched a large message
  std::uint64_t origin = 0;               // transport that sent it
  int sender = 0;                         // its rank
  Kind kind = Kind::Data;
  std::uint64_t tag = 0;
  std::uint64_t send = 0;  // number of a large message, of its sender; 0: a small one
  std::vector<std::byte> bytes = {};
};

/// The send of a longer message ends when it is matched, as engines have it.
constexpr std::size_t kEagerBytes = 16 << 10;

/// A transport as the others see it.
struct Node {
  int process = 0;
  std::deque<Message> inbox;
  int wake = -1;  // the transport's
};

constexpr std::string_view kPrefix = "fake:";

}  // namespace

struct FakeFabric::Shared {
  explicit Shared(std::uint64_t with_seed) : seed(with_seed), engine(with_seed) {}

  const std::uint64_t seed;
  std::mutex mutex;  // guards what follows
  std::mt19937_64 engine;
  std::map<std::uint64_t, Node> nodes;
  std::uint64_t last_node = 0;
  std::set<int> dead, silent;          // silent: dead, and nobody is told
  std::set<std::pair<int, int>> cuts;  // both orders

  void signal(Node& node) const {
    const std::uint64_t one = 1;
    static_cast<void>(::write(node.wake, &one, sizeof one));
  }
  void post(std::uint64_t target, Message message) {
    const std::map<std::uint64_t, Node>::iterator to = nodes.find(target);
    const std::map<std::uint64_t, Node>::iterator from = nodes.find(message.origin);
    if (to == nodes.end() || from == nodes.end()) return;
    const int a = from->second.process, b = to->second.process;
    if (dead.contains(a) || dead.contains(b) || cuts.contains({a, b})) return;
    to->second.inbox.push_back(std::move(message));
    signal(to->second);
  }
  /// What is handed over now: all, or, of an unruly fabric, about half of each sender's messages, the oldest ones.
  std::vector<Message> take(Node& node) {
    std::vector<Message> taken;
    if (dead.contains(node.process)) return taken;
    std::set<std::uint64_t> held;  // senders whose later messages must wait
    std::deque<Message> rest;
    for (Message& message : node.inbox) {
      if (seed != 0 && !held.contains(message.origin) && engine() % 2 == 0) held.insert(message.origin);
      if (held.contains(message.origin)) {
        rest.push_back(std::move(message));
      } else {
        taken.push_back(std::move(message));
      }
    }
    node.inbox = std::move(rest);
    return taken;
  }
};

namespace {

class FakeTransport final : public Transport {
 public:
  FakeTransport(std::shared_ptr<FakeFabric::Shared> shared, int process, TransportEvents events)
      : shared_(std::move(shared)), events_(std::move(events)), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!wake_) throw StoreError("fake transport: no descriptor is left for its wake-up");
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    id_ = ++shared_->last_node;
    shared_->nodes[id_] = {.process = process, .inbox = {}, .wake = wake_.get()};
  }
  ~FakeTransport() override { close(); }

  std::string address() const override {
    require_open();
    return cat(kPrefix, id_);
  }
  void join(int rank, int size) override {
    require_open();
    RESILIN_ASSERT(size_ == 0, "a transport joins once");
    rank_ = rank;
    size_ = size;
  }
  void connect(int peer, std::string_view address) override {
    require_open();
    if (!address.starts_with(kPrefix)) throw StoreError(cat("fake transport: not an address of its kind: \"", address, "\""));
    peers_[peer] = {.node = static_cast<std::uint64_t>(parse_integer(address.substr(kPrefix.size())))};
  }

  void send(int peer, const Tag& tag, std::span<const std::byte> bytes, Pending& pending) override {
    require_open();
    ++pending.open;
    if (is_lost(peer)) return pending.end(TransferFault::PeerLost, peer, 0);
    Message message{.origin = id_, .sender = rank_, .tag = pack_tag(tag, rank_), .bytes = {bytes.begin(), bytes.end()}};
    if (bytes.size() > kEagerBytes) {
      message.send = ++last_send_;
      sends_[message.send] = {peer, &pending};
    }
    post(peer, std::move(message));
    if (bytes.size() <= kEagerBytes) pending.end(TransferFault::None, peer, 0);
  }
  void receive(int peer, const Tag& tag, std::span<std::byte> bytes, Pending& pending) override {
    require_open();
    ++pending.open;
    const std::uint64_t packed = pack_tag(tag, peer);
    const std::list<Message>::iterator at = std::ranges::find(unmatched_, packed, &Message::tag);
    const Receive receive{packed, peer, bytes, &pending};
    if (at != unmatched_.end()) {
      deliver(receive, *at);
      unmatched_.erase(at);
    } else if (is_lost(peer)) {
      pending.end(TransferFault::PeerLost, peer, 0);
    } else {
      receives_.push_back(receive);
    }
  }
  void send_note(int peer, std::string_view bytes) override {
    require_open();
    RESILIN_ASSERT(bytes.size() <= kMostNoteBytes, cat("a note of ", bytes.size(), " bytes"));
    if (is_lost(peer)) return;
    const std::byte* data = reinterpret_cast<const std::byte*>(bytes.data());
    post(peer, {.origin = id_, .sender = rank_, .kind = Message::Kind::Note, .bytes = {data, data + bytes.size()}});
  }

  bool progress() override {
    require_open();
    std::vector<Message> messages;
    std::vector<int> gone;
    {
      const std::lock_guard<std::mutex> lock(shared_->mutex);
      messages = shared_->take(shared_->nodes.at(id_));
      for (const auto& [peer, way] : peers_) {
        if (!way.lost && peer_is_gone(way.node)) gone.push_back(peer);
      }
    }
    for (Message& message : messages) take(std::move(message));
    for (const int peer : gone) {
      if (!closed_) lose(peer, "its process is gone");
    }
    return !messages.empty() || !gone.empty();
  }
  void give_up(int peer, const std::string& why) override {
    require_open();
    lose(peer, why);
  }
  void close() override {
    if (std::exchange(closed_, true)) return;
    {
      const std::lock_guard<std::mutex> lock(shared_->mutex);
      shared_->nodes.erase(id_);
      for (auto& [id, node] : shared_->nodes) shared_->signal(node);
    }
    unmatched_.clear();
    for (const Receive& receive : std::exchange(receives_, {})) receive.pending->end(TransferFault::Cancelled, receive.peer, 0);
    for (const auto& [number, send] : std::exchange(sends_, {})) send.pending->end(TransferFault::Cancelled, send.peer, 0);
  }

  int wake_descriptor() const override {
    require_open();
    return wake_.get();
  }
  bool arm() override {
    require_open();
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    std::uint64_t count = 0;
    const bool was_woken = ::read(wake_.get(), &count, sizeof count) == sizeof count;
    return !was_woken && shared_->nodes.at(id_).inbox.empty();
  }
  void wake() override {
    require_open();
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_.get(), &one, sizeof one));
  }
  std::string lanes(int) const override {
    require_open();
    return "memory";
  }

 private:
  struct Way {
    std::uint64_t node = 0;
    bool lost = false;
  };
  struct Receive {
    std::uint64_t tag;
    int peer;
    std::span<std::byte> bytes;
    Pending* pending;
  };

  struct Send {
    int peer;
    Pending* pending;
  };

  /// Engines end the process when they are used after their end.
  void require_open() const { RESILIN_ASSERT(!closed_, "a transport that was closed is only destroyed"); }
  bool is_lost(int peer) const {
    const std::map<int, Way>::const_iterator at = peers_.find(peer);
    return at == peers_.end() || at->second.lost;
  }
  bool peer_is_gone(std::uint64_t node) const {
    const std::map<std::uint64_t, Node>::const_iterator at = shared_->nodes.find(node);
    if (at == shared_->nodes.end()) return true;
    return shared_->dead.contains(at->second.process) && !shared_->silent.contains(at->second.process);
  }
  void post(int peer, Message message) {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    shared_->post(peers_.at(peer).node, std::move(message));
  }
  void take(Message message) {
    if (closed_) return;  // a note has closed this
    if (message.kind == Message::Kind::Note) {
      if (events_.note) events_.note(message.sender, {reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()});
      return;
    }
    if (message.kind == Message::Kind::Taken) return end_send(message.send, TransferFault::None);
    const std::list<Receive>::iterator at = std::ranges::find(receives_, message.tag, &Receive::tag);
    if (at == receives_.end()) {
      unmatched_.push_back(std::move(message));
      return;
    }
    const Receive receive = *at;
    receives_.erase(at);
    deliver(receive, message);
  }
  void end_send(std::uint64_t number, TransferFault fault) {
    const std::map<std::uint64_t, Send>::iterator at = sends_.find(number);
    if (at == sends_.end()) return;
    const Send send = at->second;
    sends_.erase(at);
    send.pending->end(fault, send.peer, 0);
  }
  void deliver(const Receive& receive, const Message& message) {
    if (message.send != 0) post(receive.peer, {.origin = id_, .sender = rank_, .kind = Message::Kind::Taken, .send = message.send});
    if (message.bytes.size() > receive.bytes.size()) return receive.pending->end(TransferFault::TooLong, receive.peer, 0);
    if (!message.bytes.empty()) std::memcpy(receive.bytes.data(), message.bytes.data(), message.bytes.size());
    receive.pending->end(TransferFault::None, receive.peer, message.bytes.size());
  }
  void lose(int peer, const std::string& why) {
    Way& way = peers_[peer];
    if (way.lost) return;
    way.lost = true;
    for (std::list<Receive>::iterator at = receives_.begin(); at != receives_.end();) {
      const Receive receive = *at;
      at = receive.peer == peer ? receives_.erase(at) : std::next(at);
      if (receive.peer == peer) receive.pending->end(TransferFault::PeerLost, peer, 0);
    }
    std::vector<std::uint64_t> ended;
    for (const auto& [number, send] : sends_) {
      if (send.peer == peer) ended.push_back(number);
    }
    for (const std::uint64_t number : ended) end_send(number, TransferFault::PeerLost);
    if (events_.lost) events_.lost(peer, why);
  }

  const std::shared_ptr<FakeFabric::Shared> shared_;
  const TransportEvents events_;
  std::uint64_t id_ = 0;
  const Descriptor wake_;
  int rank_ = 0;
  int size_ = 0;
  bool closed_ = false;
  std::map<int, Way> peers_;
  std::list<Message> unmatched_;
  std::list<Receive> receives_;
  std::map<std::uint64_t, Send> sends_;  // that were not matched yet
  std::uint64_t last_send_ = 0;
};

}  // namespace

FakeFabric::FakeFabric(std::uint64_t seed) : shared_(std::make_shared<Shared>(seed)) {}

TransportMaker FakeFabric::maker(int process) {
  return
      [shared = shared_, process](TransportEvents events) { return std::make_unique<FakeTransport>(shared, process, std::move(events)); };
}

void FakeFabric::kill(int process, bool announced) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->dead.insert(process);
  if (!announced) shared_->silent.insert(process);
  for (auto& [id, node] : shared_->nodes) shared_->signal(node);
}

void FakeFabric::cut(int process, int other) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->cuts.insert({process, other});
  shared_->cuts.insert({other, process});
}

void FakeFabric::mend(int process, int other) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->cuts.erase({process, other});
  shared_->cuts.erase({other, process});
}

}  // namespace resilin::dist
