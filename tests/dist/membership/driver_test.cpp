// tests/dist/membership/driver_test.cpp -- members and Coordinators in threads, over a store in this process and over one that is served.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/dist/membership/coordinator_driver.h"
#include "resilin/dist/membership/member_driver.h"
#include "resilin/dist/membership/store_asker.h"
#include "resilin/dist/store/server.h"
#include "resilin/dist/store/tcp_store.h"
#include "resilin/dist/wire/codec.h"

#include "tests/dist/membership/mesh.h"
#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

using live::Exchange;
using live::LiveMember;
using std::chrono::milliseconds;
using Clients = std::function<std::shared_ptr<Store>()>;
using Instances = std::vector<std::uint64_t>;

constexpr std::size_t kMostThreadsOfDriver = 1 + StoreAsker::kMostThreads;
const JobSecret kSecret = JobSecret::of_bytes(std::string(32, 'm'));

/// A store that is served at a Unix socket, and its clients.
struct ServedStore {
  explicit ServedStore(bool can_restart = false) : keeps(can_restart) { serve(); }
  void serve() {
    StoreServerOptions options;
    options.addresses = {address()};
    if (keeps) options.snapshot_file = folder.path() + "/snapshot";
    server.emplace(kSecret, options);
  }
  Address address() const { return {Address::Kind::Unix, folder.path() + "/store", 0}; }
  std::shared_ptr<Store> client(milliseconds grace = milliseconds(300)) const {
    return std::make_shared<TcpStore>(address(), kSecret, TcpStoreOptions{.grace = grace});
  }
  const testing::TemporaryFolder folder;
  const bool keeps;
  std::optional<StoreServer> server;
};

/// Members with the numbers 1, 2 ... that follow a Coordinator, or nobody.
struct Crowd {
  Crowd(Clients its_clients, std::size_t size, bool follows = true) : clients(std::move(its_clients)) {
    if (follows) coordinator.emplace(CoordinatorOptions{.first_size = size}, clients(), nullptr);
    for (std::size_t i = 0; i < size; ++i) add(follows);
  }
  LiveMember& add(bool follows = true) {
    const std::uint64_t instance = ++last;
    members.push_back(std::make_unique<LiveMember>(exchange, clients(), MemberOptions{.instance = instance, .follows = follows}));
    return *members.back();
  }
  LiveMember& of(std::uint64_t instance) {
    for (const std::unique_ptr<LiveMember>& member : members) {
      if (member->instance() == instance) return *member;
    }
    throw ArgumentError(cat("no member has the number ", instance));
  }
  /// It dies, and a detector knows at once.
  void kill(std::uint64_t instance) {
    std::erase_if(members, [&](const std::unique_ptr<LiveMember>& member) { return member->instance() == instance; });
    dead.push_back(instance);
    coordinator->tell({dead});
  }
  bool all_come_to(const Instances& instances) {
    return std::ranges::all_of(instances, [&](std::uint64_t instance) { return of(instance).comes_to_generation_of(instances); });
  }
  Handles handles() const {
    Handles result;
    for (const std::unique_ptr<LiveMember>& member : members) result.push_back(member->driver().handle());
    return result;
  }
  /// All call it, and all tell the same end.
  Verdict reconfigure(std::uint64_t uuid, const Handles& list) {
    for (const std::unique_ptr<LiveMember>& member : members) member->driver().reconfigure(uuid, list);
    std::vector<Verdict> ends;
    for (const std::unique_ptr<LiveMember>& member : members) ends.push_back(member->end_of(uuid).verdict);
    CHECK(std::ranges::count(ends, ends[0]) == std::ssize(ends));
    return ends[0];
  }

  const Clients clients;
  Exchange exchange;
  std::vector<std::unique_ptr<LiveMember>> members;
  std::optional<CoordinatorDriver> coordinator;
  std::uint64_t last = 0;
  Instances dead;
};

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    count += entry.path().empty() ? 0 : 1;
  }
  return count;
}

std::size_t running_threads() {
  std::size_t count = 0;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    count += entry.path().empty() ? 0 : 1;
  }
  return count;
}

/// The number of keys once it stands still.
std::int64_t settled_keys(Store& store) {
  std::int64_t keys = store.num_keys();
  for (int quiet = 0, i = 0; quiet < 10 && i < 500; ++i) {
    std::this_thread::sleep_for(milliseconds(5));
    const std::int64_t now = store.num_keys();
    quiet = now == keys ? quiet + 1 : 0;
    keys = now;
  }
  return keys;
}

template <class E>
std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "no such error";
}

void check_life(const Clients& clients) {
  Crowd crowd(clients, 4);
  REQUIRE(crowd.all_come_to({1, 2, 3, 4}));
  CHECK(crowd.of(1).driver().handle() == Handle{1, 1});
  CHECK(crowd.of(4).story().installed[0].blobs == std::vector<std::string>{"blob of 1", "blob of 2", "blob of 3", "blob of 4"});

  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  crowd.kill(2);
  REQUIRE(crowd.all_come_to({1, 3, 4}));
  std::printf("from a suspicion to the new generation on all others: %.1f ms\n", milliseconds_since(begin));
  CHECK(crowd.of(3).story().revoked == std::vector<std::uint64_t>{1});
  CHECK(crowd.of(3).story().installed.back().generation == 2);

  crowd.add();
  REQUIRE(crowd.all_come_to({1, 3, 4, 5}));
  CHECK(crowd.of(5).story().installed.size() == 1);
  CHECK(crowd.of(1).story().revoked.size() == 1);  // a joiner is no reason
}

void check_lists(const Clients& clients) {
  Crowd crowd(clients, 3, false);
  CHECK(crowd.reconfigure(100, {{3, 0}, {1, 0}, {2, 0}}) == Verdict::Commit);
  const Attempt installed = crowd.of(1).story().installed.back();
  CHECK(installed.handles == Handles{{3, 0}, {1, 0}, {2, 0}});
  CHECK(installed.blobs == std::vector<std::string>{"blob of 3", "blob of 1", "blob of 2"});

  MemberDriver& driver = crowd.of(1).driver();
  CHECK(message_of<ArgumentError>([&] {
          driver.reconfigure(101, {{2, 1}, {3, 1}});
        }).find("Local handle is not part") != std::string::npos);
  CHECK(message_of<ArgumentError>([&] {
          driver.post(member_event::Reconfigure{101, {{1, 0}}, 0});
        }).find("resilin:1:1") != std::string::npos);
  driver.reconfigure(100, {{1, 1}});
  const auto was_refused = [](const LiveMember::Story& story) { return story.finished.size() == 2; };
  REQUIRE(crowd.of(1).comes_to(was_refused));
  CHECK(crowd.of(1).story().finished[1].text.find("uuid 100 was already used") != std::string::npos);

  // The machine goes on after each of its refusals, and so does the first attempt after the second was refused.
  const Handles list = crowd.handles();
  driver.reconfigure(102, list);
  CHECK(message_of<ReconfigureError>([&] { driver.reconfigure(103, list); }).find("already in progress: attempt 102") != std::string::npos);
  for (const std::uint64_t instance : {2, 3}) crowd.of(instance).driver().reconfigure(102, list);
  CHECK(crowd.of(1).end_of(102).verdict == Verdict::Commit);
  driver.close();
  CHECK(message_of<ReconfigureError>([&] { driver.reconfigure(104, list); }).find("the group is closed") != std::string::npos);
}

}  // namespace

TEST_CASE("instances make a generation, go on without one that dies, and take a joiner in") {
  SUBCASE("over a store in this process") {
    const std::shared_ptr<Store> store = make_hash_store();
    check_life([&] { return store; });
  }
  SUBCASE("over a store that is served") {
    const ServedStore served;
    check_life([&] { return served.client(); });
  }
}

TEST_CASE("a user's own list keeps its order, and what is wrong with a call reaches its caller") {
  SUBCASE("over a store in this process") {
    const std::shared_ptr<Store> store = make_hash_store();
    check_lists([&] { return store; });
  }
  SUBCASE("over a store that is served") {
    const ServedStore served;
    check_lists([&] { return served.client(); });
  }
}

TEST_CASE("300 reconfigures leave neither threads nor descriptors nor keys") {
  const ServedStore served;
  const std::shared_ptr<Store> store = served.client();
  const std::size_t threads = running_threads();
  Crowd crowd([&] { return served.client(); }, 3, false);
  std::size_t descriptors = 0;
  std::int64_t keys = 0;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  for (std::uint64_t uuid = 1; uuid <= 300; ++uuid) {
    REQUIRE(crowd.reconfigure(uuid, crowd.handles()) == Verdict::Commit);
    if (uuid != 100) continue;
    keys = settled_keys(*store);
    descriptors = open_descriptors();
  }
  std::printf("a reconfigure of 3 members: %.2f ms\n", milliseconds_since(begin) / 300);
  CHECK(settled_keys(*store) == keys);
  CHECK(running_threads() <= threads + 3 * kMostThreadsOfDriver);
  CHECK(open_descriptors() == descriptors);
}

TEST_CASE("a lineage leaves no keys of its past, nor attempts that came to nothing any threads") {
  const std::size_t threads = running_threads();
  const std::shared_ptr<Store> store = make_hash_store();
  Crowd crowd([&] { return store; }, 3);
  REQUIRE(crowd.all_come_to({1, 2, 3}));
  std::int64_t keys = 0;
  for (std::uint64_t round = 0; round < 20; ++round) {
    const Instances whole = {1, 2, 3 + round};
    crowd.kill(3 + round);
    REQUIRE(crowd.all_come_to({1, 2}));
    crowd.add();
    REQUIRE(crowd.all_come_to({1, 2, 4 + round}));
    if (round == 5) keys = settled_keys(*store);
  }
  CHECK(settled_keys(*store) == keys);
  CHECK(running_threads() <= threads + 4 * kMostThreadsOfDriver);
  CHECK(store->list("revoke/").empty());
}

TEST_CASE("drivers end at once though their store is gone") {
  ServedStore served;
  std::optional<Crowd> crowd;
  crowd.emplace([&] { return served.client(milliseconds(60'000)); }, 3);
  REQUIRE(crowd->all_come_to({1, 2, 3}));
  served.server.reset();
  std::this_thread::sleep_for(milliseconds(50));
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  crowd.reset();
  CHECK(milliseconds_since(begin) < 1000);
}

TEST_CASE("a lineage goes on when its store is back") {
  const bool can_restart = true;
  ServedStore served(can_restart);
  Crowd crowd([&] { return served.client(); }, 3);
  REQUIRE(crowd.all_come_to({1, 2, 3}));
  served.server.reset();
  std::this_thread::sleep_for(milliseconds(600));  // longer than the clients' grace
  crowd.kill(1);
  served.serve();
  CHECK(crowd.all_come_to({2, 3}));
}

TEST_CASE("a member whose store holds what nobody can read leaves with the reason") {
  const std::shared_ptr<Store> store = make_hash_store();
  store->set(kPlanKey, "no plan");
  Exchange exchange;
  LiveMember member(exchange, store, {.instance = 1});
  REQUIRE(member.comes_to([](const LiveMember::Story& story) { return story.left.has_value(); }));
  CHECK_FALSE(member.story().left->text.empty());
  CHECK_FALSE(member.story().left->store_is_gone);
  CHECK(member.driver().phase() == Phase::Gone);
  CHECK_THROWS_AS(member.driver().reconfigure(1, {{1, 0}}), ReconfigureError);
}

TEST_CASE("a forked child finds its parent's driver empty") {
  std::optional<MemberDriver> driver;
  driver.emplace(MemberOptions{.instance = 1}, make_hash_store(), [](const MemberAction&) {});
  driver->post(member_event::Started{});
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(10);
    driver.reset();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("an attempt cannot be asked for by what a member does about another") {
  const std::shared_ptr<Store> store = make_hash_store();
  std::promise<std::string> told;
  std::optional<MemberDriver> driver;
  driver.emplace(MemberOptions{.instance = 1, .follows = false}, store, [&](const MemberAction& action) {
    if (!std::holds_alternative<member_action::PrepareMesh>(action)) return;
    told.set_value(message_of<ReconfigureError>([&] { driver->reconfigure(2, {{1, 0}}); }));
  });
  driver->reconfigure(1, {{1, 0}});
  CHECK(told.get_future().get() == "reconfigure: attempt 2 is asked for by what the member does; another thread must ask");
}

TEST_CASE("a Coordinator writes nothing while nobody asks to join, whoever dies") {
  const std::shared_ptr<Store> store = make_hash_store();
  CoordinatorDriver coordinator({.first_size = 2}, store, nullptr);
  coordinator.tell({{1}, {2}});
  coordinator.tell({{1, 3}, {2}});
  std::this_thread::sleep_for(milliseconds(50));
  CHECK(store->num_keys() == 0);
}

}  // namespace resilin::dist
