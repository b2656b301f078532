// tests/dist/store/store_test.cpp -- the verbs of a store's client, over the store in this process and over a part of one.
#include "resilin/dist/store/store.h"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"

#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;

/// Each test runs once for each kind.
std::shared_ptr<Store> store_of(const testing::TemporaryFolder& folder) {
  std::shared_ptr<Store> store;
  SUBCASE("in this process") { store = make_hash_store(); }
  SUBCASE("in a file") { store = make_file_store(folder.path() + "/store"); }
  return store;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const DistError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

void check_verbs(Store& store) {
  store.set("a", "1");
  CHECK(store.get("a") == "1");
  CHECK(store.add("n", 3) == 3);
  CHECK(store.add("n", 4) == 7);
  CHECK(store.append("a", "23") == 3);
  CHECK(store.multi_get({"a", "n"}) == std::vector<std::string>{"123", "7"});
  CHECK(store.check({"a", "n"}));
  CHECK_FALSE(store.check({"a", "gone"}));
  CHECK(store.num_keys() == 2);
  CHECK(store.list("") == std::vector<std::string>{"a", "n"});
  CHECK(store.remove("a"));
  CHECK_FALSE(store.remove("a"));
  CHECK(store.push("q", "x") == 1);
  CHECK(store.push("q", "y") == 2);
  CHECK(store.queue_length("q") == 2);
  CHECK(store.pop("q", milliseconds(0)) == "x");
  CHECK(store.pop("q") == "y");
  const std::uint64_t version = store.watch("n", 0, milliseconds(0)).version;
  CHECK(version != 0);
  CHECK(message_of([&] { store.watch("n", version, milliseconds(1)); }) ==
        "watch: wait timeout after 1ms, keys: [n]; another process must write them in time");
}

}  // namespace

TEST_CASE("every verb does the same on a store and on a part of one") {
  const testing::TemporaryFolder folder;
  const std::shared_ptr<Store> store = store_of(folder);
  check_verbs(*store);
  store->set("other/x", "");
  check_verbs(*make_prefix_store("part", store));
  CHECK(store->get("part/n") == "7");
  CHECK_THROWS_AS(make_prefix_store("part", nullptr), ArgumentError);
}

TEST_CASE("compare_set follows c10d") {
  const testing::TemporaryFolder folder;
  const std::shared_ptr<Store> store = store_of(folder);
  CHECK(store->compare_set("k", "old", "new") == "old");
  CHECK(store->compare_set("k", "", "first") == "first");
  CHECK(store->compare_set("k", "", "second") == "first");
  CHECK(store->compare_set("k", "wrong", "second") == "first");
  CHECK(store->compare_set("k", "first", "second") == "second");
  CHECK(store->get("k") == "second");
}

TEST_CASE("waits that end in vain throw TimeoutError with the keys") {
  const testing::TemporaryFolder folder;
  const std::shared_ptr<Store> store = store_of(folder);
  store->set("here", "");
  const std::string end = "; another process must write them in time";
  CHECK(message_of([&] { store->get("gone", milliseconds(2)); }) == "get: wait timeout after 2ms, keys: [gone]" + end);
  CHECK(message_of([&] { store->get("gone", milliseconds(0)); }) == "get: wait timeout after 0ms, keys: [gone]" + end);
  CHECK(message_of([&] { store->wait({"here", "gone"}, milliseconds(2)); }) == "wait: wait timeout after 2ms, keys: [here, gone]" + end);
  CHECK(message_of([&] { store->wait({"here", "gone"}, milliseconds(0)); }) == "wait: wait timeout after 0ms, keys: [here, gone]" + end);
  CHECK(message_of([&] { store->pop("q", milliseconds(2)); }) == "pop: wait timeout after 2ms, keys: [q]" + end);
  CHECK(message_of([&] { store->pop("q", milliseconds(0)); }) == "pop: wait timeout after 0ms, keys: [q]" + end);
  CHECK_THROWS_AS(store->get("gone", milliseconds(1)), TimeoutError);
  store->wait({"here"}, milliseconds(0));
  store->wait({"here"}, milliseconds(1));
}

TEST_CASE("what a store refuses is a StoreError that names the values") {
  const testing::TemporaryFolder folder;
  const std::shared_ptr<Store> store = store_of(folder);
  CHECK_THROWS_AS(store->set(std::string(1025, 'k'), ""), StoreError);
  CHECK_THROWS_AS(store->set("a", std::string((1 << 20) + 1, 'v')), StoreError);
  store->set("a", "text");
  CHECK(message_of([&] { store->add("a", 1); }) == "store: add: key \"a\" holds no number: 4 bytes; it must be a decimal integer");
}

TEST_CASE("a thread that waits wakes by the write of another") {
  const testing::TemporaryFolder folder;
  const std::shared_ptr<Store> store = store_of(folder);
  std::future<std::string> got = std::async(std::launch::async, [&] { return store->get("k", std::chrono::seconds(60)); });
  std::future<StoreValue> seen = std::async(std::launch::async, [&] { return store->watch("k", 0, std::chrono::seconds(60)); });
  std::future<std::string> item = std::async(std::launch::async, [&] { return store->pop("q", std::chrono::seconds(60)); });
  store->set("k", "v");
  store->push("q", "x");
  CHECK(got.get() == "v");
  CHECK(seen.get().bytes == "v");
  CHECK(item.get() == "x");
}

TEST_CASE("threads that add to one key lose nothing") {
  const std::shared_ptr<Store> store = make_hash_store();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 250; ++k) store->add("n", 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(store->get("n") == "1000");
}

TEST_CASE("a lease ends while a thread waits for its end") {
  const std::shared_ptr<Store> store = make_hash_store();
  const std::uint64_t version = store->txn({}, {{.key = "a", .bytes = "1", .life = Life::Ttl, .ttl_ms = 5}}).version;
  CHECK_FALSE(store->watch("a", version, std::chrono::seconds(60)).exists());
}

TEST_CASE("a store in a file is there for whoever opens it, refuses leases and damaged files") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/store";
  make_file_store(path)->set("k", "v");
  const std::shared_ptr<Store> store = make_file_store(path);
  CHECK(store->get("k") == "v");
  CHECK_THROWS_AS(store->txn({}, {{.key = "lease", .bytes = "", .life = Life::Ttl, .ttl_ms = 5}}), UnsupportedError);
  CHECK_THROWS_AS(make_file_store(""), ArgumentError);
  std::string bytes = read_file(path);
  bytes[bytes.size() / 2] ^= 1;
  atomic_write(path, bytes);
  CHECK_THROWS_AS(store->get("k"), VersionError);
}

}  // namespace resilin::dist
