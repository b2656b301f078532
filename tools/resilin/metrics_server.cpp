// tools/resilin/metrics_server.cpp -- the texts of metrics, and the thread that serves them.
#include "tools/resilin/metrics_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/json.h"
#include "resilin/dist/os/socket.h"
#include "resilin/dist/os/thread.h"

namespace resilin::tool {
namespace {

using dist::Descriptor;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestHead = 4096;
constexpr std::size_t kMostDropped = 65536;  // of what a client sends on while it is being told to go
constexpr std::size_t kMostClients = 16;
constexpr std::chrono::seconds kFarewell{1};

struct Metric {
  std::string_view name, type, help;
  std::string (*value)(const RunMetrics&);
};

/// As Prometheus spells numbers.
std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return cat(value);
}

constexpr Metric kMetrics[] = {
    {"resilin_step", "gauge", "Steps of the run that are done.", [](const RunMetrics& m) { return cat(m.step); }},
    {"resilin_loss", "gauge", "Loss of the last step, in nats a byte.",
     [](const RunMetrics& m) { return number_text(m.loss.value_or(NAN)); }},
    {"resilin_tokens_per_second", "gauge", "Bytes that all ranks learn in a second.",
     [](const RunMetrics& m) { return number_text(m.tokens_per_s); }},
    {"resilin_world_size", "gauge", "Ranks of the generation.", [](const RunMetrics& m) { return cat(m.world); }},
    {"resilin_generation", "gauge", "Number of the generation.", [](const RunMetrics& m) { return cat(m.generation); }},
    {"resilin_commits_total", "counter", "Steps that this process applied.", [](const RunMetrics& m) { return cat(m.commits); }},
    {"resilin_recoveries_total", "counter", "Generations that followed on the loss of a rank.",
     [](const RunMetrics& m) { return cat(m.recoveries); }},
};

constexpr std::pair<std::string_view, double RunMetrics::*> kGoodput[] = {
    {"train", &RunMetrics::train_s},     {"data", &RunMetrics::data_s}, {"checkpoint", &RunMetrics::checkpoint_s},
    {"recover", &RunMetrics::recover_s}, {"idle", &RunMetrics::idle_s}, {"ft", &RunMetrics::ft_s},
};

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

Descriptor make_wake() {
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) throw UnsupportedError("metrics: the system gives no event descriptor; descriptors must be left");
  return wake;
}

}  // namespace

std::string metrics_text(const RunMetrics& metrics) {
  std::string text;
  for (const Metric& metric : kMetrics) {
    text += cat("# HELP ", metric.name, " ", metric.help, "\n# TYPE ", metric.name, " ", metric.type, "\n", metric.name, " ",
                metric.value(metrics), "\n");
  }
  constexpr std::string_view kName = "resilin_goodput_seconds_total";
  text += cat("# HELP ", kName, " Seconds of this process by what they went to.\n# TYPE ", kName, " counter\n");
  for (const auto& [kind, member] : kGoodput) text += cat(kName, "{kind=\"", kind, "\"} ", number_text(metrics.*member), "\n");
  return text;
}

HttpAnswer health_answer(const RunMetrics& metrics, double seconds_since_commit, double stale_s) {
  const bool stale = seconds_since_commit > stale_s;
  const Json body(Json::Object{{"status", stale ? "no commit" : "ok"},
                               {"step", metrics.step},
                               {"generation", metrics.generation},
                               {"world", metrics.world},
                               {"seconds_since_commit", seconds_since_commit}});
  return {stale ? 503 : 200, write_json(body) + "\n", "application/json"};
}

class MetricsServer::Service {
 public:
  explicit Service(const Options& options)
      : options_(options),
        listener_(dist::listen_on({dist::Address::Kind::Tcp, "127.0.0.1", static_cast<std::uint16_t>(options.port)})),
        wake_(make_wake()),
        thread_(dist::start_thread([this] { serve(); })) {}
  ~Service() {
    const std::uint64_t one = 1;
    while (write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) continue;
    thread_.join();
  }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  i64 port() const { return listener_.address.port; }

  void set(const RunMetrics& metrics) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (metrics.commits > metrics_.commits) committed_ = Clock::now();
    metrics_ = metrics;
  }

 private:
  /// A connection: its request is read, its answer written, and what it sends on is dropped until it closes, so that it gets the answer.
  struct Client {
    Descriptor socket;
    Clock::time_point deadline;
    std::string head;
    std::string answer;
    std::size_t sent = 0;
    std::size_t dropped = 0;
    bool answers = false;
    bool leaves = false;
    short wanted() const { return answers && !leaves ? POLLOUT : POLLIN; }
  };

  void serve() {
    std::vector<pollfd> waited;
    while (true) {
      waited = {{wake_.get(), POLLIN, 0}, {listener_.socket.get(), POLLIN, 0}};
      for (const Client& client : clients_) waited.push_back({client.socket.get(), client.wanted(), 0});
      if (poll(waited.data(), waited.size(), time_to_wait()) < 0 && errno != EINTR) return;
      if (waited[0].revents != 0) return;
      std::size_t i = 2;
      for (auto client = clients_.begin(); client != clients_.end(); ++i) {
        const bool goes_on = (waited[i].revents == 0 || advance(*client)) && keep_waiting(*client);
        client = goes_on ? std::next(client) : clients_.erase(client);
      }
      if (waited[1].revents != 0) accept();
    }
  }

  int time_to_wait() const {
    if (clients_.empty()) return -1;
    Clock::time_point first = clients_.front().deadline;
    for (const Client& client : clients_) first = std::min(first, client.deadline);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now());
    return static_cast<int>(std::max<i64>(left.count(), 0));
  }

  void accept() {
    for (std::size_t i = 0; i < kMostClients; ++i) {
      std::optional<Descriptor> socket = dist::accept_client(listener_.socket);
      if (!socket) {
        // Without a descriptor left the client cannot be taken, and the listener would be ready for ever.
        if (i == 0 && !clients_.empty()) clients_.pop_front();
        if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return;
      }
      if (clients_.size() == kMostClients) clients_.pop_front();
      Client client;
      client.socket = std::move(*socket);
      client.deadline = Clock::now() + options_.client_timeout;
      clients_.push_back(std::move(client));
    }
  }

  /// False when the client is done with. One that has had its time is told so, if it still may be.
  bool keep_waiting(Client& client) {
    if (Clock::now() < client.deadline) return true;
    if (client.answers) return false;
    answer(client, plain_answer(408), true);
    return advance(client);
  }

  /// Does what can be done without waiting; false when the connection is over.
  bool advance(Client& client) {
    if (!client.answers && !read_head(client)) return false;
    if (client.answers && !client.leaves && !write_answer(client)) return false;
    return !client.leaves || drop_rest(client);
  }

  bool read_head(Client& client) {
    std::array<char, 1024> buffer;
    while (!client.answers) {
      const dist::Received received = dist::receive_some(client.socket, buffer.data(), buffer.size());
      if (received.state == dist::Transfer::Ended) return false;
      if (received.state == dist::Transfer::Later) return true;
      client.head.append(buffer.data(), received.count);
      if (has_whole_head(client.head)) {
        answer_request(client);
      } else if (client.head.size() > kLongestHead) {
        answer(client, plain_answer(431), true);
      }
    }
    return true;
  }

  void answer_request(Client& client) {
    HttpAnswer refused;
    const std::optional<HttpRequest> request = parse_request(client.head, refused);
    if (!request) return answer(client, refused, true);
    answer(client, answer_to(*request), request->method != "HEAD");
  }

  HttpAnswer answer_to(const HttpRequest& request) {
    if (request.method != "GET" && request.method != "HEAD") return plain_answer(405);
    RunMetrics metrics;
    double since_s = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      metrics = metrics_;
      since_s = seconds(Clock::now() - committed_);
    }
    if (request.path == "/metrics") return {200, metrics_text(metrics), "text/plain; version=0.0.4; charset=utf-8"};
    if (request.path == "/healthz") return health_answer(metrics, since_s, seconds(options_.stale));
    return plain_answer(404, ": /metrics and /healthz are here");
  }

  void answer(Client& client, const HttpAnswer& answer, bool with_body) {
    client.answers = true;
    client.answer = answer_text(answer, with_body);
    client.deadline = Clock::now() + kFarewell;
  }

  bool write_answer(Client& client) {
    while (client.sent < client.answer.size()) {
      const dist::Received sent = dist::send_some(client.socket, std::string_view(client.answer).substr(client.sent));
      if (sent.state == dist::Transfer::Ended) return false;
      if (sent.state == dist::Transfer::Later) return true;
      client.sent += sent.count;
    }
    shutdown(client.socket.get(), SHUT_WR);
    client.leaves = true;
    return true;
  }

  bool drop_rest(Client& client) {
    std::array<char, 4096> buffer;
    while (client.dropped < kMostDropped) {
      const dist::Received received = dist::receive_some(client.socket, buffer.data(), buffer.size());
      if (received.state == dist::Transfer::Ended) return false;
      if (received.state == dist::Transfer::Later) return true;
      client.dropped += received.count;
    }
    return false;
  }

  const Options options_;
  const dist::Listener listener_;
  const Descriptor wake_;
  std::list<Client> clients_;  // the oldest first; of the thread alone
  std::mutex mutex_;           // guards the two below
  RunMetrics metrics_;
  Clock::time_point committed_ = Clock::now();
  std::thread thread_;
};

MetricsServer::MetricsServer(const Options& options) : service_(std::make_unique<Service>(options)) {}

MetricsServer::~MetricsServer() = default;

i64 MetricsServer::port() const { return service_->port(); }

void MetricsServer::set(const RunMetrics& metrics) { service_->set(metrics); }

}  // namespace resilin::tool
