// src/resilin/dist/store/tcp_store.cpp -- requests of many threads over one connection that is made again when it breaks.
#include "resilin/dist/store/tcp_store.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "resilin/dist/security/connection.h"
#include "resilin/dist/store/wire.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kFirstPause = milliseconds(5);  // between two attempts to connect; doubled each time
constexpr nanoseconds kLongestPause = milliseconds(500);
constexpr nanoseconds kLongestConnect = milliseconds(1'000);  // then it is begun again, since the kernel tries ever more rarely
constexpr nanoseconds kLongestSilence = milliseconds(2'000);  // after which a request is sent over a new connection

}  // namespace

class TcpStore::Session {
 public:
  Session(const Address& address, const JobSecret& secret, const TcpStoreOptions& options, Clock& clock, Random& random)
      : address_(address),
        secret_(secret),
        options_(options),
        clock_(clock),
        instance_(std::max<std::uint64_t>(random.next(), 1)),
        life_(process_life()),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_) throw UnsupportedError(cat("store: no descriptor is left: ", std::generic_category().message(errno), "; one is needed"));
  }

  std::uint64_t instance() const { return instance_; }

  Reply ask(Request request, const std::stop_token& stop) {
    if (life_ != process_life()) throw StoreError("store: this client was made before a fork; the child must make its own");
    const StoreOp op = request.op;
    // Before the lock and gone after it: a stop takes the lock too.
    const std::stop_callback on_stop(stop, [this] { wake_all(); });
    std::unique_lock<std::mutex> lock(mutex_);
    const std::uint64_t id = ++last_id_;
    Call& call = enter(id, std::move(request));
    while (!call.reply && !call.error) {
      const bool is_late = clock_.now() >= end_of(call);
      if (is_late || stop.stop_requested()) {
        if (is_late && call.sent) replace_silent();
        calls_.erase(id);
        throw is_late ? unreachable() : given_up(op);
      }
      if (clock_.now() >= silent_at(call)) {
        const nanoseconds since = silent_at(call) - kLongestSilence;
        replace_silent();
        lost_at_ = since;  // nobody has more time than before
      }
      if (reading_) {
        clock_.wait_until(changed_, lock, std::min(end_of(call), silent_at(call)));
      } else {
        read_for_all(lock, call);
      }
    }
    const Call done = std::move(calls_.extract(id).mapped());
    if (done.error) std::rethrow_exception(done.error);
    return *done.reply;
  }

 private:
  struct Call {
    Request request;
    nanoseconds begin{0};
    nanoseconds wait_end{0};  // of the request's own wait
    bool sent = false;        // on the connection that stands
    nanoseconds sent_at{0};
    std::optional<Reply> reply;
    std::exception_ptr error;
  };

  Call& enter(std::uint64_t id, Request request) {
    // What the writer has answers to is what lies below its oldest open request.
    if (request.writer.instance == 0) request.writer = {instance_, id};
    if (request.writer.instance == instance_) request.answered = (calls_.empty() ? id : std::min(id, calls_.begin()->first)) - 1;
    if (const std::size_t size = encode(request).size(); size > kStorePayloadBytes) {
      throw StoreError(cat("store: a request is too long: ", size, " bytes; at most ", kStorePayloadBytes, " are sent"));
    }
    Call& call = calls_[id];
    call.request = std::move(request);
    call.begin = clock_.now();
    // A wait of centuries does not overflow.
    const milliseconds wait(std::min<std::uint64_t>(call.request.wait_ms, 1'000'000'000'000));
    call.wait_end = call.begin + wait;
    send(id, call);
    return call;
  }

  bool stands() { return connection_ && connection_->channel().established(); }

  /// A store that is not there is waited for from the moment when it was last; one that is silent, beyond the request's own time.
  nanoseconds end_of(const Call& call) { return (stands() ? call.wait_end : std::max(call.begin, lost_at_)) + options_.grace; }

  void wake_all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    changed_.notify_all();
    wake_reader();
  }

  /// Sends now if it can; else who reads sends it when the connection stands.
  void send(std::uint64_t id, Call& call) {
    if (!stands()) return;
    if (call.request.wait_ms != 0) {
      // Of a wait that goes on after a new connection only the rest is left; 0 would mean: do not wait.
      const i64 left_ms = (call.wait_end - clock_.now()) / milliseconds(1);
      call.request.wait_ms = static_cast<std::uint64_t>(std::max<i64>(left_ms, 1));
    }
    connection_->send({.kind = FrameKind::Request, .sequence = id}, encode(call.request));
    call.sent = true;
    call.sent_at = clock_.now();
    if (!connection_->flush()) {
      break_off("the connection broke");
      wake_reader();
    } else if (connection_->wants_to_write()) {
      wake_reader();
    }
  }

  void wake_reader() {
    const std::uint64_t one = 1;
    if (write(wake_.get(), &one, sizeof one) < 0) return;  // a full counter wakes as well
  }

  /// This caller reads for all until something happened; then another may.
  void read_for_all(std::unique_lock<std::mutex>& lock, const Call& own) {
    reading_ = true;
    try {
      pump(lock, std::min(end_of(own), silent_at(own)));
    } catch (const VersionError& error) {
      fail_all(std::current_exception());
      break_off(error.what());
    } catch (const DistError& error) {
      // What a proved store sent was damaged on the way: it can be asked again. A stranger stays one.
      if (!stands()) {
        fail_all(std::make_exception_ptr(StoreError(cat("store: ", print_address(address_), ": ", error.what()))));
      }
      break_off(error.what());
    }
    reading_ = false;
    changed_.notify_all();
  }

  void pump(std::unique_lock<std::mutex>& lock, nanoseconds deadline) {
    if (!connection_) {
      if (clock_.now() >= retry_at_) connect();
      if (!connection_) return sleep(lock, std::min(deadline, retry_at_), nullptr);
    }
    if (!connection_->flush()) return break_off("the connection broke");
    const bool proved = connection_->channel().established();
    sleep(lock, proved ? deadline : std::min(deadline, challenge_end_), &connection_->socket());
    if (connection_) receive();
  }

  void connect() {
    try {
      Descriptor socket = begin_connect(address_);
      connection_.emplace(std::move(socket), Channel(Channel::Side::Client, secret_, {.payload_bytes = kStorePayloadBytes}));
      connecting_ = true;
      challenge_end_ = clock_.now() + std::min<nanoseconds>(options_.challenge_timeout, kLongestConnect);
    } catch (const StoreError& error) {
      break_off(error.what());
    }
  }

  /// Waits without the lock until the socket is ready, somebody woke, or the time has come. Nobody else touches the connection meanwhile but to
  /// send.
  void sleep(std::unique_lock<std::mutex>& lock, nanoseconds until, const Descriptor* socket) {
    std::array<pollfd, 2> waited{};
    waited[0] = {wake_.get(), POLLIN, 0};
    waited[1] = {socket == nullptr ? -1 : socket->get(), POLLIN, 0};
    if (connecting_ || (connection_ && connection_->wants_to_write())) waited[1].events |= POLLOUT;
    const nanoseconds left = std::clamp(until - clock_.now(), nanoseconds(0), nanoseconds(std::chrono::hours(1)));
    const std::chrono::seconds seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time{static_cast<time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
    lock.unlock();
    ppoll(waited.data(), waited.size(), &time, nullptr);
    std::uint64_t count = 0;
    if ((waited[0].revents & POLLIN) != 0 && read(wake_.get(), &count, sizeof count) < 0) count = 0;
    lock.lock();
    writable_ = (waited[1].revents & (POLLOUT | POLLERR | POLLHUP)) != 0;
  }

  void receive() {
    if (connecting_) {
      if (!writable_ && clock_.now() < challenge_end_) return;
      const int result = writable_ ? connect_result(connection_->socket()) : ETIMEDOUT;
      if (result != 0) return break_off(std::generic_category().message(result));
      connecting_ = false;
      challenge_end_ = clock_.now() + options_.challenge_timeout;
      return;
    }
    const bool was_open = connection_->channel().established();
    const bool open = connection_->receive();
    while (const std::optional<Frame> frame = connection_->next()) take(*frame);
    if (!open) return break_off(was_open ? "the store closed the connection" : "the server closed the connection before it proved itself");
    if (!connection_->channel().established()) {
      if (clock_.now() < challenge_end_) return;
      throw StoreError(cat("store: who listens at ", print_address(address_), " says nothing; it must be a store of this job"));
    }
    if (!was_open) resend();
  }

  void take(const Frame& frame) {
    if (frame.header.kind != FrameKind::Reply) throw StoreError("store: the server sent something that is no reply");
    const std::map<std::uint64_t, Call>::iterator found = calls_.find(frame.header.sequence);
    if (found == calls_.end()) return;  // its caller has given up
    found->second.reply = decode<Reply>(frame.payload);
  }

  void resend() {
    pause_ = kFirstPause;
    for (auto& [id, call] : calls_) {
      if (!call.reply && !call.sent) send(id, call);
      if (!connection_) return;
    }
  }

  void break_off(std::string_view why) {
    if (stands()) lost_at_ = clock_.now();
    reason_ = why;
    connection_.reset();
    connecting_ = false;
    retry_at_ = clock_.now() + pause_;
    pause_ = std::min(pause_ * 2, kLongestPause);
    for (auto& [id, call] : calls_) call.sent = false;
  }

  /// When the connection is given up for this call.
  nanoseconds silent_at(const Call& call) const {
    return call.sent ? std::max(call.wait_end, call.sent_at) + kLongestSilence : nanoseconds::max();
  }

  /// After a cut link a connection that stands is silent until the kernel sends again, which it does after ever longer pauses; a new one answers
  /// as soon as the link does. What waits on the old one is sent again.
  void replace_silent() {
    break_off("it is silent");
    retry_at_ = clock_.now();
    wake_reader();
    changed_.notify_all();
  }

  void fail_all(const std::exception_ptr& error) {
    for (auto& [id, call] : calls_) {
      if (!call.reply) call.error = error;
    }
  }

  StoreError unreachable() const {
    return StoreError(cat("store: no answer from ", print_address(address_), " in time: ", reason_.empty() ? "it is silent" : reason_,
                          "; it must be reachable within ", options_.grace.count(), " ms"));
  }

  const Address address_;
  const JobSecret secret_;
  const TcpStoreOptions options_;
  Clock& clock_;
  const std::uint64_t instance_;
  const std::uint64_t life_;
  const Descriptor wake_;  // ends the wait of who reads

  std::mutex mutex_;                 // guards what follows
  std::condition_variable changed_;  // replies came, or nobody reads
  bool reading_ = false;             // a caller waits for the socket
  std::map<std::uint64_t, Call> calls_;
  std::uint64_t last_id_ = 0;
  std::optional<Connection> connection_;
  bool connecting_ = false;  // the socket is not connected yet
  bool writable_ = false;    // what the last wait found
  nanoseconds challenge_end_{0};
  nanoseconds lost_at_{0};  // when the last connection that stood broke
  nanoseconds retry_at_{0};
  nanoseconds pause_ = kFirstPause;
  std::string reason_;  // of the last break
};

TcpStore::TcpStore(const Address& address, const JobSecret& secret, const TcpStoreOptions& options, Clock& clock, Random& random)
    : session_(std::make_unique<Session>(address, secret, options, clock, random)) {}

TcpStore::~TcpStore() = default;

Reply TcpStore::ask(Request request, std::stop_token stop) { return session_->ask(std::move(request), stop); }
std::uint64_t TcpStore::instance() const { return session_->instance(); }

}  // namespace resilin::dist
