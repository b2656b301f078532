// tests/dist/store/server_test.cpp -- the store over sockets: its clients, its strangers, its restarts, and where it listens.
#include "resilin/dist/store/server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/dist/os/socket.h"
#include "resilin/dist/security/connection.h"
#include "resilin/dist/store/tcp_store.h"
#include "resilin/dist/wire/codec.h"

#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;

const JobSecret kSecret = JobSecret::of_bytes(std::string(32, 's'));
const TcpStoreOptions kPatient{.grace = milliseconds(10'000)};
const TcpStoreOptions kBrief{.grace = milliseconds(500), .challenge_timeout = milliseconds(200)};

Address unix_at(const testing::TemporaryFolder& folder) { return {Address::Kind::Unix, folder.path() + "/store", 0}; }

StoreServerOptions serving(const Address& address, const std::string& snapshot = "") {
  StoreServerOptions options;
  options.addresses = {address};
  options.snapshot_file = snapshot;
  return options;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    count += entry.exists() ? 1 : 1;
  return count;
}

template <class E>
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "no such error";
}

/// A socket of a test, blocking, with a bound on every wait.
struct RawClient {
  explicit RawClient(const Address& address) : socket(begin_connect(address)) { ready(POLLOUT); }
  bool ready(short events) {
    pollfd waited{socket.get(), events, 0};
    return poll(&waited, 1, 10'000) == 1;
  }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const Received sent = send_some(socket, bytes);
      if (sent.state == Transfer::Ended) return;
      if (sent.state == Transfer::Later && !ready(POLLOUT)) return;
      bytes.remove_prefix(sent.count);
    }
  }
  /// All bytes up to the end of the connection.
  std::string rest() {
    std::string bytes;
    char buffer[4096];
    while (ready(POLLIN)) {
      const Received received = receive_some(socket, buffer, sizeof buffer);
      if (received.state == Transfer::Ended) return bytes;
      bytes.append(buffer, received.count);
    }
    return bytes + "(still open)";
  }
  Descriptor socket;
};

TEST_CASE("clients over TCP and Unix sockets share one store") {
  const testing::TemporaryFolder folder;
  StoreServerOptions options;
  options.addresses = {unix_at(folder), {Address::Kind::Tcp, "127.0.0.1", 0}};
  const StoreServer server(kSecret, options);
  REQUIRE(server.addresses().size() == 2);
  CHECK(server.addresses()[1].port != 0);
  TcpStore local(server.addresses()[0], kSecret, kPatient), remote(server.addresses()[1], kSecret, kPatient);
  local.set("key", "value");
  CHECK(remote.get("key") == "value");
  CHECK(remote.add("count", 2) == 2);
  CHECK(local.add("count", 3) == 5);
  CHECK(local.compare_set("key", "value", "other") == "other");
  CHECK(remote.list("k") == std::vector<std::string>{"key"});
  CHECK(remote.remove("key"));
  CHECK_FALSE(local.check({"key"}));
  const std::string large(1 << 20, 'v');
  remote.set("large", large);
  CHECK(local.get("large") == large);
  CHECK_THROWS_AS(remote.set("large", large + "x"), StoreError);
}

TEST_CASE("a blocking get ends with the value or with its time, and others go on meanwhile") {
  const testing::TemporaryFolder folder;
  const StoreServer server(kSecret, serving(unix_at(folder)));
  TcpStore store(unix_at(folder), kSecret, kPatient);
  CHECK_THROWS_AS(store.get("absent", milliseconds(50)), TimeoutError);
  std::vector<std::string> got(8);
  std::vector<std::thread> waiters;
  for (std::size_t i = 0; i < got.size(); ++i) {
    waiters.emplace_back([&store, &got, i] { got[i] = store.get(cat("key ", i), milliseconds(20'000)); });
  }
  for (std::size_t i = got.size(); i-- > 0;) store.set(cat("key ", i), cat("value ", i));
  for (std::thread& waiter : waiters) waiter.join();
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == cat("value ", i));
}

TEST_CASE("many clients count without losing one") {
  const testing::TemporaryFolder folder;
  const StoreServer server(kSecret, serving(unix_at(folder)));
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&folder] {
      TcpStore store(unix_at(folder), kSecret, kPatient);
      for (int j = 0; j < 100; ++j) store.add("count", 1);
    });
  }
  for (std::thread& client : clients) client.join();
  CHECK(TcpStore(unix_at(folder), kSecret, kPatient).get("count") == "800");
}

TEST_CASE("a store that was killed goes on from its file; its clients notice nothing but the time") {
  const testing::TemporaryFolder folder;
  const Address address = unix_at(folder);
  const auto start = [&] {
    const pid_t server = fork();
    if (server == 0) {
      alarm(60);
      const StoreServer service(kSecret, serving(address, folder.path() + "/snapshot"));
      while (true) pause();
    }
    return server;
  };
  const auto end = [](pid_t server) {
    kill(server, SIGKILL);
    REQUIRE(waitpid(server, nullptr, 0) == server);
  };
  pid_t server = start();
  TcpStore store(address, kSecret, kPatient);
  store.set("kept", "yes");
  std::string late;
  std::thread waiter([&] { late = store.get("late", milliseconds(20'000)); });
  std::int64_t sum = 0;
  for (int life = 0; life < 5; ++life) {
    for (int i = 0; i < 10; ++i) sum = store.add("count", 1);
    end(server);
    server = start();
  }
  CHECK(sum == 50);
  CHECK(store.add("count", 0) == 50);
  CHECK(store.get("kept") == "yes");
  store.set("late", "came");
  waiter.join();
  CHECK(late == "came");
  end(server);
}

TEST_CASE("writes under repeated kills of the store are done exactly once") {
  const testing::TemporaryFolder folder;
  const Address address = unix_at(folder);
  std::atomic<bool> ended{false};
  std::atomic<int> done{0}, kills{0};
  std::thread killer([&] {
    while (!ended) {
      const pid_t server = fork();
      if (server == 0) {
        alarm(60);
        const StoreServer service(kSecret, serving(address, folder.path() + "/snapshot"));
        while (true) pause();
      }
      // Each server does some of the work, then dies in the middle of a request, whatever the load of the machine.
      const int enough = done + 1 + kills % 9;
      for (int i = 0; i < 200'000 && done < enough && !ended; ++i) usleep(100);
      usleep(static_cast<unsigned>(kills % 7) * 50);
      kill(server, SIGKILL);
      waitpid(server, nullptr, 0);
      ++kills;
    }
  });
  std::int64_t sum = 0;
  std::string trouble;
  try {
    TcpStore store(address, kSecret, TcpStoreOptions{.grace = milliseconds(30'000)});
    for (int i = 1; i <= 300; ++i) {
      sum = store.add("count", 1);
      if (sum != i) break;
      done = i;
    }
  } catch (const StoreError& error) {
    trouble = error.what();
  }
  ended = true;
  killer.join();
  CHECK(trouble.empty());
  CHECK(sum == 300);
  CHECK(kills > 20);
}

TEST_CASE("a key that is bound to a connection ends when its process is killed") {
  const testing::TemporaryFolder folder;
  const StoreServer server(kSecret, serving(unix_at(folder)));
  TcpStore store(unix_at(folder), kSecret, kPatient);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    TcpStore own(unix_at(folder), kSecret, kPatient);
    own.txn({}, {{.key = "alive", .bytes = "1", .life = Life::Connection}});
    while (true) pause();
  }
  store.get("alive", milliseconds(20'000));
  const StoreValue before = store.watch("alive", 0);
  kill(child, SIGKILL);
  CHECK_FALSE(store.watch("alive", before.version, milliseconds(20'000)).exists());
  REQUIRE(waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a child of a fork keeps no connection open and cannot use its parent's client") {
  const testing::TemporaryFolder folder;
  const StoreServer server(kSecret, serving(unix_at(folder)));
  std::optional<TcpStore> store(std::in_place, unix_at(folder), kSecret, kPatient);
  store->txn({}, {{.key = "alive", .bytes = "1", .life = Life::Connection}});
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    int status = 1;
    try {
      store->set("x", "y");
    } catch (const StoreError&) {
      status = 0;
    }
    TcpStore own(unix_at(folder), kSecret, kPatient);
    own.set("child", cat(status));
    while (true) pause();
  }
  TcpStore other(unix_at(folder), kSecret, kPatient);
  CHECK(other.get("child", milliseconds(20'000)) == "0");
  store.reset();  // the child still lives: were the socket open there, the key would stay
  const StoreValue before = other.watch("alive", ~std::uint64_t{0}, milliseconds(10'000));
  if (before.exists()) CHECK_FALSE(other.watch("alive", before.version, milliseconds(10'000)).exists());
  kill(child, SIGKILL);
  REQUIRE(waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a client without the secret has no effect and is told why") {
  const testing::TemporaryFolder folder;
  const StoreServer server(kSecret, serving(unix_at(folder)));
  TcpStore thief(unix_at(folder), JobSecret::of_bytes(std::string(32, 't')), kBrief);
  CHECK(message_of<StoreError>([&] { thief.set("key", "stolen"); }) ==
        cat("store: unix:", folder.path(), "/store: connect: the server does not know the job's secret; it must be of the same job"));
  TcpStore store(unix_at(folder), kSecret, kPatient);
  CHECK_FALSE(store.check({"key"}));
}

TEST_CASE("a foreign server on the port is told at once, a silent one in time, none at all by its address") {
  const Listener foreign = listen_on({Address::Kind::Tcp, "127.0.0.1", 0});
  std::thread server([&foreign] {
    pollfd waited{foreign.socket.get(), POLLIN, 0};
    if (poll(&waited, 1, 10'000) != 1) return;
    std::optional<Descriptor> client = accept_client(foreign.socket);
    if (client) send_some(*client, "HTTP/1.1 400 Bad Request\r\n\r\n");
    usleep(200'000);
  });
  TcpStore store(foreign.address, kSecret, TcpStoreOptions{.grace = milliseconds(20'000), .challenge_timeout = milliseconds(300)});
  CHECK(message_of<StoreError>([&] { store.check({"key"}); }).find("this is no Resilin connection") != std::string::npos);
  server.join();
  CHECK(message_of<StoreError>([&] { store.check({"key"}); }) == cat("store: ", print_address(foreign.address), ": store: who listens at ",
                                                                     print_address(foreign.address),
                                                                     " says nothing; it must be a store of this job"));
  const testing::TemporaryFolder folder;
  TcpStore nobody(unix_at(folder), kSecret, kBrief);
  CHECK(message_of<StoreError>([&] { nobody.check({"key"}); }) ==
        cat("store: no answer from unix:", folder.path(), "/store in time: connect: No such file or directory: unix:", folder.path(),
            "/store; the address must be usable; it must be reachable within 500 ms"));
}

/// Carries the bytes of clients to a server and back.
class Relay {
 public:
  Relay(const Address& at, const Address& to) : listener_(listen_on(at)), to_(to), thread_([this] { run(); }) {}
  ~Relay() {
    ended_ = true;
    thread_.join();
  }
  const Address& address() const { return listener_.address; }
  /// What has been connected until now stays so and carries nothing any more, as over a link that was cut.
  void silence() {
    silences_ = true;
    while (silences_) usleep(1000);
  }

 private:
  struct Pair {
    Descriptor client, server;
    bool silent = false;
  };
  void run() {
    while (!ended_) {
      if (silences_) {
        for (Pair& pair : pairs_) pair.silent = true;
        silences_ = false;
      }
      if (std::optional<Descriptor> client = accept_client(listener_.socket)) pairs_.push_back({std::move(*client), begin_connect(to_)});
      std::erase_if(pairs_,
                    [](const Pair& pair) { return !pair.silent && !(carry(pair.client, pair.server) && carry(pair.server, pair.client)); });
      usleep(1000);
    }
  }
  /// False at the end of either.
  static bool carry(const Descriptor& from, const Descriptor& to) {
    char buffer[4096];
    const Received received = receive_some(from, buffer, sizeof buffer);
    if (received.state != Transfer::Done) return received.state == Transfer::Later;
    for (std::string_view rest(buffer, received.count); !rest.empty();) {
      const Received sent = send_some(to, rest);
      if (sent.state == Transfer::Ended) return false;
      rest.remove_prefix(sent.count);
    }
    return true;
  }

  const Listener listener_;
  const Address to_;
  std::atomic<bool> ended_{false}, silences_{false};
  std::vector<Pair> pairs_;
  std::thread thread_;
};

TEST_CASE("a connection that has become silent is replaced, and what waits on it goes on") {
  const testing::TemporaryFolder folder;
  const StoreServer server(kSecret, serving(unix_at(folder)));
  Relay relay({Address::Kind::Unix, folder.path() + "/relay", 0}, unix_at(folder));
  TcpStore store(relay.address(), kSecret, kBrief), other(unix_at(folder), kSecret, kPatient);
  store.set("key", "before");
  std::string waited;
  std::thread waiter([&] {
    const std::string trouble = message_of<StoreError>([&] { waited = store.get("late", milliseconds(20'000)); });
    if (waited.empty()) waited = trouble;
  });
  relay.silence();
  CHECK(message_of<StoreError>([&] { store.set("key", "lost"); }).find("in time: it is silent") != std::string::npos);
  CHECK(message_of<StoreError>([&] { store.set("key", "after"); }) == "no such error");
  other.set("late", "heard");
  waiter.join();
  CHECK(other.get("key") == "after");
  // With time enough nobody notices.
  TcpStore patient(relay.address(), kSecret, kPatient);
  patient.set("key", "here");
  relay.silence();
  CHECK(message_of<StoreError>([&] { patient.set("key", "there"); }) == "no such error");
  CHECK(other.get("key") == "there");
  CHECK(waited == "heard");
}

TEST_CASE("a recorded request sent again is refused and done once") {
  const testing::TemporaryFolder folder;
  const StoreServer server(kSecret, serving(unix_at(folder)));
  RawClient raw(unix_at(folder));
  Channel channel(Channel::Side::Client, kSecret);
  char buffer[4096];
  while (!channel.established()) {
    raw.send(channel.take_output());
    REQUIRE(raw.ready(POLLIN));
    const Received received = receive_some(raw.socket, buffer, sizeof buffer);
    REQUIRE(received.state == Transfer::Done);
    channel.receive({buffer, received.count});
    channel.next();
  }
  Request add;
  add.op = StoreOp::Add;
  add.keys = {"count"};
  add.amount = 1;
  channel.send({.kind = FrameKind::Request, .sequence = 1}, encode(add));
  const std::string recorded = channel.take_output();
  raw.send(recorded);
  raw.send(recorded);
  raw.rest();  // the server closes
  TcpStore store(unix_at(folder), kSecret, kPatient);
  CHECK(store.get("count") == "1");
}

TEST_CASE("hostile bytes close their own connection and nothing else") {
  const testing::TemporaryFolder folder;
  const StoreServer server(kSecret, serving(unix_at(folder)));
  TcpStore store(unix_at(folder), kSecret, kPatient);
  store.set("key", "value");
  std::string gigabytes = encode_frame({.kind = FrameKind::Hello}, "");
  const std::uint64_t length = std::uint64_t{4} << 30;
  std::memcpy(gigabytes.data() + 8, &length, sizeof length);
  for (const std::string& bytes : {gigabytes, std::string("GET / HTTP/1.1\r\n"), encode_frame({.kind = FrameKind::Request}, "x"),
                                   encode_frame({.kind = FrameKind::Hello}, "x"), std::string(100'000, '\xff')}) {
    RawClient raw(unix_at(folder));
    raw.send(bytes);
    CHECK(raw.rest().find("(still open)") == std::string::npos);
    CHECK(store.get("key") == "value");
  }
}

TEST_CASE("a stranger that says nothing is closed in time; a half of a frame too") {
  const testing::TemporaryFolder folder;
  StoreServerOptions options = serving(unix_at(folder));
  options.challenge_timeout = milliseconds(200);
  const StoreServer server(kSecret, options);
  RawClient silent(unix_at(folder)), half(unix_at(folder));
  half.send(encode_frame({.kind = FrameKind::Hello}, "").substr(0, 20));
  CHECK(silent.rest().find("(still open)") == std::string::npos);
  CHECK(half.rest().find("(still open)") == std::string::npos);
}

TEST_CASE("a client that does not read is closed when too much waits for it") {
  const testing::TemporaryFolder folder;
  StoreServerOptions options = serving(unix_at(folder));
  options.unsent_bytes = std::size_t{4} << 20;
  const StoreServer server(kSecret, options);
  TcpStore store(unix_at(folder), kSecret, kPatient);
  store.set("large", std::string(1 << 20, 'v'));
  RawClient raw(unix_at(folder));
  Channel channel(Channel::Side::Client, kSecret);
  char buffer[4096];
  while (!channel.established()) {
    raw.send(channel.take_output());
    REQUIRE(raw.ready(POLLIN));
    const Received received = receive_some(raw.socket, buffer, sizeof buffer);
    channel.receive({buffer, received.count});
    channel.next();
  }
  Request get;
  get.keys = {"large"};
  for (std::uint64_t i = 1; i <= 40; ++i) channel.send({.kind = FrameKind::Request, .sequence = i}, encode(get));
  raw.send(channel.take_output());
  pollfd waited{raw.socket.get(), POLLRDHUP, 0};
  CHECK(poll(&waited, 1, 10'000) == 1);
  CHECK(store.get("large").size() == 1 << 20);
}

TEST_CASE("descriptors do not grow with clients that come and go") {
  const testing::TemporaryFolder folder;
  const StoreServer server(kSecret, serving(unix_at(folder)));
  const auto visit = [&folder] { TcpStore(unix_at(folder), kSecret, kPatient).add("visits", 1); };
  for (int i = 0; i < 5; ++i) visit();
  usleep(50'000);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 200; ++i) visit();
  for (int i = 0; i < 100 && open_descriptors() > before; ++i) usleep(20'000);
  CHECK(open_descriptors() <= before);
}

/// The local addresses of listening TCP sockets of this process, as /proc/net prints them.
std::vector<std::string> listening() {
  std::vector<std::string> sockets;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code failed;
    const std::string target = std::filesystem::read_symlink(entry.path(), failed).string();
    if (target.starts_with("socket:[")) sockets.push_back(target.substr(8, target.size() - 9));
  }
  std::vector<std::string> found;
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream table(file);
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
      if (state == "0A" && std::find(sockets.begin(), sockets.end(), inode) != sockets.end()) found.push_back(local);
    }
  }
  return found;
}

TEST_CASE("without an address it listens on loopback alone, and all interfaces are refused") {
  const std::size_t before = listening().size();
  const StoreServer server{kSecret};
  const std::vector<std::string> now = listening();
  REQUIRE(now.size() == before + 1);
  CHECK(now.back().starts_with("0100007F:"));  // 127.0.0.1
  CHECK_THROWS_AS(StoreServer(kSecret, serving({Address::Kind::Tcp, "0.0.0.0", 0})), ArgumentError);
  CHECK_THROWS_AS(StoreServer(kSecret, serving({Address::Kind::Tcp, "::", 0})), ArgumentError);
  CHECK_THROWS_AS(StoreServer(kSecret, serving(server.addresses()[0])), StoreError);
}

TEST_CASE("a socket file of a dead server is replaced, one of a living server is not") {
  const testing::TemporaryFolder folder;
  const pid_t dead = fork();
  if (dead == 0) {
    const StoreServer server(kSecret, serving(unix_at(folder)));
    kill(getpid(), SIGKILL);
  }
  REQUIRE(waitpid(dead, nullptr, 0) == dead);
  CHECK(std::filesystem::exists(folder.path() + "/store"));
  {
    const StoreServer server(kSecret, serving(unix_at(folder)));
    CHECK_THROWS_AS(StoreServer(kSecret, serving(unix_at(folder))), StoreError);
    TcpStore(unix_at(folder), kSecret, kPatient).set("key", "value");
  }
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/store"));
}

}  // namespace
}  // namespace resilin::dist
