// tests/tool/metrics_server_test.cpp -- /metrics and /healthz, for clients that are polite, slow or hostile.
#include "tools/resilin/metrics_server.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/json.h"
#include "resilin/dist/os/descriptor.h"

namespace resilin::tool {
namespace {

using dist::Descriptor;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

RunMetrics some_metrics() {
  RunMetrics metrics;
  metrics.step = 120;
  metrics.loss = 2.25;
  metrics.tokens_per_s = 51000;
  metrics.world = 4;
  metrics.generation = 3;
  metrics.commits = 120;
  metrics.recoveries = 1;
  metrics.train_s = 12.5;
  metrics.ft_s = 0.25;
  return metrics;
}

TEST_CASE("metrics are in Prometheus's format") {
  const std::string text = metrics_text(some_metrics());
  CHECK(text.starts_with("# HELP resilin_step Steps of the run that are done.\n# TYPE resilin_step gauge\nresilin_step 120\n"));
  for (const char* line : {"resilin_loss 2.25\n", "resilin_tokens_per_second 51000\n", "resilin_world_size 4\n", "resilin_generation 3\n",
                           "# TYPE resilin_commits_total counter\nresilin_commits_total 120\n", "resilin_recoveries_total 1\n",
                           "# TYPE resilin_goodput_seconds_total counter\nresilin_goodput_seconds_total{kind=\"train\"} 12.5\n",
                           "resilin_goodput_seconds_total{kind=\"data\"} 0\n", "resilin_goodput_seconds_total{kind=\"checkpoint\"} 0\n",
                           "resilin_goodput_seconds_total{kind=\"recover\"} 0\n", "resilin_goodput_seconds_total{kind=\"idle\"} 0\n",
                           "resilin_goodput_seconds_total{kind=\"ft\"} 0.25\n"}) {
    CAPTURE(line);
    CHECK(text.find(line) != std::string::npos);
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    CHECK((line.starts_with("# HELP ") || line.starts_with("# TYPE ") || line.starts_with("resilin_")));
  RunMetrics metrics;
  CHECK(metrics_text(metrics).find("resilin_loss NaN\n") != std::string::npos);
  metrics.loss = std::numeric_limits<double>::infinity();
  CHECK(metrics_text(metrics).find("resilin_loss +Inf\n") != std::string::npos);
}

TEST_CASE("health is a status and the facts behind it") {
  const HttpAnswer good = health_answer(some_metrics(), 1.5, 2);
  CHECK(good.status == 200);
  CHECK(good.body == "{\"status\":\"ok\",\"step\":120,\"generation\":3,\"world\":4,\"seconds_since_commit\":1.5}\n");
  const HttpAnswer bad = health_answer(some_metrics(), 2.5, 2);
  CHECK(bad.status == 503);
  CHECK(parse_json(bad.body).at("status").text() == "no commit");
}

int status_of(const std::string& head) {
  HttpAnswer refused;
  return parse_request(head, refused) ? 200 : refused.status;
}

TEST_CASE("what is a request and what is none") {
  HttpAnswer refused;
  const std::optional<HttpRequest> request = parse_request("GET /metrics?a=b HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\nmore", refused);
  REQUIRE(request);
  CHECK(request->method == "GET");
  CHECK(request->path == "/metrics");
  CHECK(status_of("GET / HTTP/1.0\r\n\r\n") == 200);
  CHECK(status_of("GET / HTTP/1.1\r\nhOST:x\r\nEmpty:\r\n\r\n") == 200);
  for (const char* head : {"\r\n\r\n",
                           "GET\r\n\r\n",
                           "GET /\r\n\r\n",
                           "GET  / HTTP/1.0\r\n\r\n",
                           "GET / HTTP/1.0 \r\n\r\n",
                           "G(T / HTTP/1.0\r\n\r\n",
                           " GET / HTTP/1.0\r\n\r\n",
                           "GET metrics HTTP/1.0\r\n\r\n",
                           "GET /\x01 HTTP/1.0\r\n\r\n",
                           "GET / FTP/1.0\r\n\r\n",
                           "GET / HTTP/1.0\n\n",
                           "GET / HTTP/1.0\r\nA: b\n\r\n\r\n",
                           "GET / HTTP/1.1\r\n\r\n",
                           "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                           "GET / HTTP/1.0\r\nno colon\r\n\r\n",
                           "GET / HTTP/1.0\r\nA : b\r\n\r\n",
                           "GET / HTTP/1.0\r\n: b\r\n\r\n",
                           "GET / HTTP/1.0\r\nA: b\r\n folded\r\n\r\n",
                           "GET / HTTP/1.0\r\nA: \x01\r\n\r\n",
                           "GET / HTTP/1.0\r\nA: b"}) {
    CAPTURE(head);
    CHECK(status_of(head) == 400);
  }
  CHECK(status_of(std::string("GET / HTTP/1.0\r\nA: \0\r\n\r\n", 24)) == 400);
  CHECK(status_of("GET / HTTP/2.0\r\n\r\n") == 505);
  CHECK(status_of("GET / HTTP/1.2\r\nHost: x\r\n\r\n") == 505);
}

/// A client whose calls end after ten seconds.
class Client {
 public:
  explicit Client(i64 port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{10, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  }
  /// Whether all of it was taken.
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  /// All until the server closes; "timeout" behind it when it does not.
  std::string receive() const {
    std::string text;
    char buffer[4096];
    while (true) {
      const ssize_t count = recv(socket_.get(), buffer, sizeof buffer, 0);
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return text + "timeout";
      if (count <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(count));
    }
  }
  void reset() {
    const linger now{1, 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    socket_.close();
  }

 private:
  Descriptor socket_;
};

std::string ask(i64 port, const std::string& request) {
  const Client client(port);
  CHECK(client.send(request));
  return client.receive();
}

std::string get(i64 port, const std::string& path, const std::string& method = "GET") {
  return ask(port, method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

std::string body_of(const std::string& answer) { return answer.substr(std::min(answer.size(), answer.find("\r\n\r\n") + 4)); }

TEST_CASE("pages, and what is no page") {
  MetricsServer server({});
  server.set(some_metrics());
  const std::string metrics = get(server.port(), "/metrics");
  CHECK(metrics.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  CHECK(body_of(metrics) == metrics_text(some_metrics()));
  CHECK(metrics.find(cat("\r\nContent-Length: ", body_of(metrics).size(), "\r\n")) != std::string::npos);
  CHECK(metrics.find("\r\nConnection: close\r\n") != std::string::npos);
  const std::string head = get(server.port(), "/metrics", "HEAD");
  CHECK(head == metrics.substr(0, metrics.size() - body_of(metrics).size()));
  const std::string health = get(server.port(), "/healthz?verbose");
  CHECK(health.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"));
  CHECK(parse_json(body_of(health)).at("step").integer() == 120);
  CHECK(get(server.port(), "/").starts_with("HTTP/1.1 404 Not Found\r\n"));
  CHECK(get(server.port(), "/metrics/").starts_with("HTTP/1.1 404 "));
  const std::string post = get(server.port(), "/metrics", "POST");
  CHECK(post.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
  CHECK(post.find("\r\nAllow: GET, HEAD\r\n") != std::string::npos);
  CHECK(ask(server.port(), "nonsense\r\n\r\n").starts_with("HTTP/1.1 400 Bad Request\r\n"));
  CHECK(ask(server.port(), "GET / HTTP/1.0\n\n").starts_with("HTTP/1.1 400 "));
  CHECK(ask(server.port(), std::string("GET /metrics HTTP/1.0\r\nA: ") + std::string(6000, 'x')).starts_with("HTTP/1.1 431 "));
}

TEST_CASE("a request may come byte by byte, and be followed by more") {
  MetricsServer server({});
  server.set(some_metrics());
  const Client slow(server.port());
  for (const char c : std::string("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")) REQUIRE(slow.send({&c, 1}));
  CHECK(slow.receive().starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(ask(server.port(), "GET /healthz HTTP/1.0\r\n\r\nGET /metrics HTTP/1.0\r\n\r\n" + std::string(20000, 'x'))
            .starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("a client that sends nothing is told to go, and others are served meanwhile") {
  MetricsServer server({.client_timeout = milliseconds(1000)});
  server.set(some_metrics());
  const Clock::time_point start = Clock::now();
  const Client silent(server.port()), half(server.port());
  REQUIRE(half.send("GET /metrics HTTP/1.1\r\nHos"));
  CHECK(get(server.port(), "/metrics").starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(silent.receive().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
  CHECK(half.receive().starts_with("HTTP/1.1 408 "));
  CHECK(Clock::now() - start >= milliseconds(1000));
  CHECK(Clock::now() - start < milliseconds(9000));
}

TEST_CASE("more silent clients than there are places hold nobody up") {
  MetricsServer server({});
  server.set(some_metrics());
  std::vector<Client> silent;
  for (int i = 0; i < 60; ++i) silent.emplace_back(server.port());
  for (int i = 0; i < 3; ++i) CHECK(get(server.port(), "/metrics").starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(silent.front().receive().empty());  // the oldest had to make room
}

TEST_CASE("who sends on without end is cut off, and who breaks off is forgotten") {
  MetricsServer server({});
  server.set(some_metrics());
  const Client flood(server.port());
  const std::string block(1 << 16, 'x');
  REQUIRE(flood.send("GET /metrics HTTP/1.0\r\n\r\n"));
  int taken = 0;
  while (taken < 1000 && flood.send(block)) ++taken;
  CHECK(taken < 1000);
  for (int i = 0; i < 20; ++i) {
    Client gone(server.port());
    gone.send(i % 2 == 0 ? "GET /metrics HTTP/1.0\r\n\r\n" : "GET ");
    if (i % 3 == 0) gone.reset();
  }
  CHECK(get(server.port(), "/metrics").starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("bytes of any kind are answered with an error, and the server goes on") {
  MetricsServer server({});
  std::mt19937 random(11);
  for (int i = 0; i < 50; ++i) {
    std::string bytes;
    for (int k = 0; k < 200; ++k) bytes += static_cast<char>(random());
    const std::string answer = ask(server.port(), bytes + "\r\n\r\n");
    CHECK((answer.starts_with("HTTP/1.1 400 ") || answer.starts_with("HTTP/1.1 505 ")));
  }
  CHECK(get(server.port(), "/healthz").starts_with("HTTP/1.1 200 OK\r\n"));
}

/// The status of /healthz becomes this one within ten seconds, in which `meanwhile` is done again and again.
template <class Body>
bool health_becomes(i64 port, const std::string& status, const Body& meanwhile) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(10);
  while (Clock::now() < end) {
    meanwhile();
    if (get(port, "/healthz").starts_with("HTTP/1.1 " + status)) return true;
    usleep(5'000);
  }
  return false;
}

TEST_CASE("health is lost without commits, and only a commit brings it back") {
  MetricsServer server({.stale = milliseconds(1500)});
  RunMetrics metrics = some_metrics();
  const auto commit = [&] {
    ++metrics.commits;
    server.set(metrics);
  };
  CHECK(health_becomes(server.port(), "200", commit));
  CHECK(health_becomes(server.port(), "503", [&] { server.set(metrics); }));
  metrics.generation = 4;
  server.set(metrics);
  const std::string answer = get(server.port(), "/healthz");
  CHECK(answer.starts_with("HTTP/1.1 503 "));
  const Json facts = parse_json(body_of(answer));
  CHECK(facts.at("generation").integer() == 4);
  CHECK(facts.at("seconds_since_commit").number() > 1.5);
  CHECK(health_becomes(server.port(), "200", commit));
}

TEST_CASE("metrics are set at once whatever clients do, and the end waits for none of them") {
  std::vector<Client> silent;
  const Clock::time_point start = Clock::now();
  {
    MetricsServer server({.client_timeout = milliseconds(60'000)});
    for (int i = 0; i < 10; ++i) silent.emplace_back(server.port());
    RunMetrics metrics = some_metrics();
    for (int i = 0; i < 10'000; ++i) {
      ++metrics.commits;
      server.set(metrics);
    }
    CHECK(get(server.port(), "/metrics").find("\nresilin_commits_total 10120\n") != std::string::npos);
  }
  CHECK(Clock::now() - start < milliseconds(20'000));
}

TEST_CASE("it listens on the loopback address alone, and a port that is taken is told") {
  MetricsServer server({});
  std::ostringstream port;
  port << ":" << std::uppercase << std::hex << server.port();
  int listening = 0;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state;
      words >> number >> local >> remote >> state;
      if (state != "0A" || !local.ends_with(port.str())) continue;
      ++listening;
      CHECK(local == "0100007F" + port.str());
    }
  }
  CHECK(listening == 1);
  CHECK_THROWS_AS(MetricsServer({.port = server.port()}), StoreError);
}

}  // namespace
}  // namespace resilin::tool
