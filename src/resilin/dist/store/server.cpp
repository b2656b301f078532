// src/resilin/dist/store/server.cpp -- connections to the machine of the store, and its snapshots.
#include "resilin/dist/store/server.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <unistd.h>

#include "resilin/base/file.h"
#include "resilin/base/log.h"
#include "resilin/dist/os/event_loop.h"
#include "resilin/dist/os/thread.h"
#include "resilin/dist/security/connection.h"
#include "resilin/dist/store/check.h"
#include "resilin/dist/store/wire.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

constexpr std::uint64_t kTickMs = 200;  // well below the gap after which the machine calls a tick late
constexpr std::size_t kMostReasons = 64;
constexpr std::chrono::milliseconds kAcceptPause{100};  // when no descriptor is left for a client

/// The reply means that something lasting is written.
bool is_lasting(const Request& request) {
  if (!changes_store(request)) return false;
  if (request.op != StoreOp::Txn) return true;
  return std::ranges::any_of(request.writes,
                             [](const Write& write) { return write.kind == WriteKind::Remove || write.life == Life::Lasting; });
}

}  // namespace

class StoreServer::Service {
 public:
  Service(const JobSecret& secret, const StoreServerOptions& options, Clock& clock)
      : options_(options), secret_(secret), clock_(clock), machine_(restored()), life_(process_life()) {
    std::vector<Address> wanted = options.addresses;
    if (wanted.empty()) wanted.push_back({Address::Kind::Tcp, "127.0.0.1", 0});
    for (const Address& address : wanted) {
      listeners_.push_back(listen_on(address));
      addresses_.push_back(listeners_.back().address);
    }
    for (Listener& listener : listeners_) {
      loop_.add(listener.socket.get(), [this, &listener](EventLoop::Ready) { accept(listener); });
    }
    thread_ = start_thread([this] { run(); });
  }

  ~Service() {
    if (life_ != process_life()) {
      thread_.detach();  // it runs in the parent only
      return;
    }
    ending_ = true;
    loop_.wake();
    thread_.join();
    for (const Address& address : addresses_) {
      if (address.kind == Address::Kind::Unix) unlink(address.host.c_str());
    }
  }

  const std::vector<Address>& addresses() const { return addresses_; }

 private:
  struct Client {
    Client(Descriptor socket, Channel channel, std::string where_from)
        : connection(std::move(socket), std::move(channel)), where(std::move(where_from)) {}
    Connection connection;
    std::string where;
    std::optional<std::chrono::nanoseconds> challenge_end;  // while it has not proved itself
    bool watches_writing = false;
  };

  StoreMachine restored() const {
    if (options_.snapshot_file.empty() || access(options_.snapshot_file.c_str(), F_OK) != 0) return StoreMachine(options_.limits);
    return StoreMachine::restore(read_file(options_.snapshot_file), options_.limits, clock_.now_ms());
  }

  void run() {
    try {
      while (!ending_) serve_once();
    } catch (const std::exception& error) {
      log(LogLevel::Error, cat("the store ends: ", error.what()));
      clients_.clear();  // nobody waits for a store that is gone
      listeners_.clear();
    }
  }

  /// A round: what came is read and decided, then kept, then answered. So one snapshot serves all writes of a round.
  void serve_once() {
    loop_.run_once(time_to_wait());
    tell_time();
    resume_listeners();
    close_silent_strangers();
    do {
      keep();
      for (const StoreAnswer& answer : std::exchange(answers_, {})) reply(answer);
      flush_all();  // what breaks here may be what others wait for
    } while (!answers_.empty());
  }

  std::optional<std::chrono::nanoseconds> time_to_wait() const {
    std::optional<std::chrono::nanoseconds> wait;
    if (machine_.next_deadline_ms() != std::numeric_limits<std::uint64_t>::max()) {
      const std::chrono::milliseconds due(std::min(machine_.next_deadline_ms(), clock_.now_ms() + kTickMs));
      wait = std::max(due - clock_.now(), std::chrono::nanoseconds(0));
    }
    if (strangers_ > 0 || !paused_listeners_.empty()) wait = std::min(wait.value_or(kAcceptPause), std::chrono::nanoseconds(kAcceptPause));
    return wait;
  }

  /// Before anything is decided: a wait that begins now ends by the time that is told now.
  void tell_time() {
    const std::uint64_t now_ms = clock_.now_ms();
    if (std::exchange(told_ms_, now_ms) != now_ms) decide(TimeTold{now_ms});
  }

  void accept(const Listener& listener) {
    while (clients_.size() < options_.most_connections) {
      std::optional<Descriptor> socket = accept_client(listener.socket);
      if (!socket) {
        // Without a free descriptor the client stays in the queue and the loop must not spin over it.
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) pause(listener, "no descriptor is left");
        return;
      }
      greet(std::move(*socket), listener);
    }
    pause(listener, cat("there are ", clients_.size(), " connections"));
  }

  void greet(Descriptor socket, const Listener& listener) {
    const int descriptor = socket.get();
    const std::uint64_t id = ++last_client_;
    const Channel::Options options{.payload_bytes = kStorePayloadBytes};
    Client& client =
        clients_.try_emplace(id, std::move(socket), Channel(Channel::Side::Server, secret_, options), print_address(listener.address))
            .first->second;
    client.challenge_end = clock_.now() + options_.challenge_timeout;
    ++strangers_;
    loop_.add(descriptor, [this, id](EventLoop::Ready) { serve(id); });
  }

  void pause(const Listener& listener, std::string_view why) {
    warn_once(cat("the store takes no more clients for now: ", why, ": ", print_address(listener.address)));
    loop_.remove(listener.socket.get());
    paused_listeners_.push_back(&listener);
    resume_at_ = clock_.now() + kAcceptPause;
  }

  void resume_listeners() {
    if (paused_listeners_.empty() || clock_.now() < resume_at_) return;
    for (const Listener* listener : std::exchange(paused_listeners_, {})) {
      loop_.add(listener->socket.get(), [this, listener](EventLoop::Ready) { accept(*listener); });
    }
  }

  void serve(std::uint64_t id) {
    const std::map<std::uint64_t, Client>::iterator found = clients_.find(id);
    if (found == clients_.end()) return;
    Client& client = found->second;
    try {
      const bool open = client.connection.receive();
      while (const std::optional<Frame> frame = client.connection.next()) take(id, *frame);
      if (client.challenge_end && client.connection.channel().established()) {
        client.challenge_end.reset();
        --strangers_;
      }
      if (open) return;
    } catch (const DistError& error) {
      refuse(client, error.what());
    }
    close(id);
  }

  void take(std::uint64_t id, const Frame& frame) {
    if (frame.header.kind != FrameKind::Request) throw DistError("store: a client sends requests only");
    const Request request = decode<Request>(frame.payload);
    tell_time();
    decide(RequestArrived{id, frame.header.sequence, request});
    dirty_ = dirty_ || (!options_.snapshot_file.empty() && is_lasting(request));
  }

  void decide(const StoreEvent& event) {
    for (StoreAnswer& answer : machine_.step(event)) answers_.push_back(std::move(answer));
  }

  void refuse(Client& client, std::string_view why) {
    client.connection.channel().refuse(why);
    client.connection.flush();
    warn_once(cat("the store refused a client at ", client.where, ": ", why));
  }

  void warn_once(const std::string& text) {
    if (reasons_.size() < kMostReasons && reasons_.insert(text).second) log(LogLevel::Warning, text);
  }

  void close(std::uint64_t id) {
    const std::map<std::uint64_t, Client>::iterator found = clients_.find(id);
    if (found->second.challenge_end) --strangers_;
    loop_.remove(found->second.connection.socket().get());
    clients_.erase(found);
    decide(ConnectionClosed{id});
  }

  void close_silent_strangers() {
    if (strangers_ == 0) return;
    const std::chrono::nanoseconds now = clock_.now();
    std::vector<std::uint64_t> late;
    for (auto& [id, client] : clients_) {
      if (client.challenge_end && now >= *client.challenge_end) late.push_back(id);
    }
    for (const std::uint64_t id : late) {
      refuse(clients_.at(id), "it did not prove in time that it knows the secret");
      close(id);
    }
  }

  /// Before the answers go out. A disk that is full does not end the job: the store goes on and says so.
  void keep() {
    if (!std::exchange(dirty_, false)) return;
    try {
      atomic_write(options_.snapshot_file, machine_.snapshot());
      keeps_ = true;
    } catch (const IoError& error) {
      if (std::exchange(keeps_, false)) log(LogLevel::Error, cat("the store cannot be kept for a successor: ", error.what()));
    }
  }

  void reply(const StoreAnswer& answer) {
    const std::map<std::uint64_t, Client>::iterator found = clients_.find(answer.connection);
    if (found == clients_.end()) return;
    Connection& connection = found->second.connection;
    if (connection.unsent_bytes() > options_.unsent_bytes) return;  // it does not read and is closed below
    std::string payload = encode(answer.reply);
    if (payload.size() > kStorePayloadBytes) {
      Reply refusal;
      refusal.status = StoreStatus::Invalid;
      refusal.error =
          cat("the reply is too long: ", payload.size(), " bytes; at most ", kStorePayloadBytes, " are sent, ask for fewer keys");
      payload = encode(refusal);
    }
    connection.send({.kind = FrameKind::Reply, .sequence = answer.id}, payload);
    connection.flush();  // so that what waits for a slow client is counted; a broken one is found below
  }

  void flush_all() {
    std::vector<std::uint64_t> broken;
    for (auto& [id, client] : clients_) {
      const bool whole = client.connection.flush();
      if (!whole || client.connection.unsent_bytes() > options_.unsent_bytes) {
        broken.push_back(id);
        continue;
      }
      if (client.connection.wants_to_write() == client.watches_writing) continue;
      client.watches_writing = !client.watches_writing;
      loop_.watch_writing(client.connection.socket().get(), client.watches_writing);
    }
    for (const std::uint64_t id : broken) close(id);
  }

  const StoreServerOptions options_;
  const JobSecret secret_;
  Clock& clock_;
  StoreMachine machine_;
  const std::uint64_t life_;
  EventLoop loop_;
  std::vector<Listener> listeners_;
  std::vector<Address> addresses_;
  std::vector<const Listener*> paused_listeners_;
  std::chrono::nanoseconds resume_at_{0};
  std::map<std::uint64_t, Client> clients_;
  std::uint64_t last_client_ = 0;
  std::size_t strangers_ = 0;  // clients that have not proved themselves
  std::vector<StoreAnswer> answers_;
  std::uint64_t told_ms_ = 0;
  bool dirty_ = false;  // something lasting was written since the last snapshot
  bool keeps_ = true;   // the last snapshot was written
  std::set<std::string> reasons_;
  std::atomic<bool> ending_{false};
  std::thread thread_;  // uses all of the above
};

StoreServer::StoreServer(const JobSecret& secret, const StoreServerOptions& options, Clock& clock)
    : service_(std::make_unique<Service>(secret, options, clock)) {}

StoreServer::~StoreServer() = default;

const std::vector<Address>& StoreServer::addresses() const { return service_->addresses(); }

}  // namespace resilin::dist
