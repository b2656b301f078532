// tests/dist/membership/store_asker_test.cpp -- requests are asked until they are answered or forgotten, by few threads.
#include "resilin/dist/membership/store_asker.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;

/// Fails as often as it is told, then does what another store does; it keeps the writers of all that was asked.
class FlakyStore final : public Store {
 public:
  Reply ask(Request request, std::stop_token stop) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      writers.push_back(request.writer);
      threads.insert(std::this_thread::get_id());
      if (failures-- > 0) throw StoreError("store: it is away");
    }
    return base_->ask(std::move(request), std::move(stop));
  }
  std::mutex mutex_;  // guards what follows
  int failures = 0;
  std::vector<Writer> writers;
  std::set<std::thread::id> threads;

 private:
  const std::shared_ptr<Store> base_ = make_hash_store();
};

/// What an asker told.
struct Heard {
  StoreAsker::Listener listener() {
    return {.replied = [this](std::uint64_t id, Reply reply) { note(cat(id, " ", enum_name(reply.status))); },
            .lost = [this](const std::string& why) { note("lost: " + why); },
            .back = [this] { note("back"); }};
  }
  void note(std::string line) {
    const std::lock_guard<std::mutex> lock(mutex);
    lines.push_back(std::move(line));
    changed.notify_all();
  }
  bool comes_to(std::size_t count) {
    std::unique_lock<std::mutex> lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(10), [&] { return lines.size() >= count; });
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> lines;
};

Request waiting_for(const std::string& key) { return {.op = StoreOp::Get, .keys = {key}, .wait_ms = 60'000}; }

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("a store that is away is told once, and the request is put again, as the same one, until it is answered") {
  Heard heard;
  const std::shared_ptr<FlakyStore> store = std::make_shared<FlakyStore>();
  store->failures = 3;
  StoreAsker asker(store, heard.listener());
  asker.ask(7, {.op = StoreOp::Append, .keys = {"joiners"}, .bytes = "x"});
  REQUIRE(heard.comes_to(3));
  CHECK(heard.lines == std::vector<std::string>{"lost: store: it is away", "back", "7 ok"});
  CHECK(store->writers == std::vector<Writer>(4, store->writers[0]));
  CHECK(store->writers[0].nonce == 7);
  CHECK(store->get("joiners") == "x");
}

TEST_CASE("a request that is forgotten waits no more, and its answer is not told") {
  Heard heard;
  const std::shared_ptr<Store> store = make_hash_store();
  StoreAsker asker(store, heard.listener());
  // More of them than there are threads: each gives its own back.
  for (std::uint64_t id = 1; id <= 100; ++id) {
    asker.ask(id, waiting_for("never"));
    asker.forget(id);
  }
  asker.ask(101, {.op = StoreOp::Check, .keys = {"never"}});
  REQUIRE(heard.comes_to(1));
  store->set("never", "");
  asker.close();
  CHECK(heard.lines == std::vector<std::string>{"101 ok"});
}

TEST_CASE("a few threads do all requests, and end at once though some of them wait") {
  Heard heard;
  const std::shared_ptr<FlakyStore> store = std::make_shared<FlakyStore>();
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  {
    StoreAsker asker(store, heard.listener());
    for (std::uint64_t id = 1; id <= 3; ++id) asker.ask(id, waiting_for(cat("key ", id)));
    for (std::uint64_t id = 4; id <= 1003; ++id) {
      asker.ask(id, {.op = StoreOp::Txn, .writes = {{.key = "counter", .bytes = cat(id)}}});
    }
    REQUIRE(heard.comes_to(1000));
    CHECK(store->threads.size() <= StoreAsker::kMostThreads);
  }
  CHECK(seconds_since(begin) < 10);
  CHECK(heard.lines.size() == 1000);
}

TEST_CASE("an asker ends at once while its store is away") {
  Heard heard;
  const std::shared_ptr<FlakyStore> store = std::make_shared<FlakyStore>();
  store->failures = 1'000'000;
  StoreAsker asker(store, heard.listener());
  asker.ask(1, waiting_for("key"));
  REQUIRE(heard.comes_to(1));
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  asker.close();
  CHECK(seconds_since(begin) < 1);
  asker.ask(2, waiting_for("key"));
  CHECK(heard.lines.size() == 1);
}

}  // namespace resilin::dist
