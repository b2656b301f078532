// src/resilin/dist/agent/store_link.cpp -- a writer and a watcher of the store.
#include "resilin/dist/agent/store_link.h"

#include <iterator>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/log.h"
#include "resilin/base/text.h"
#include "resilin/dist/os/thread.h"

namespace resilin::dist {
namespace {

constexpr std::chrono::seconds kPause{1};       // after trouble
constexpr std::uint64_t kWatchMs = 10'000;      // of one request
constexpr std::chrono::seconds kLastWrites{2};  // at the end

}  // namespace

StoreLink::StoreLink(std::shared_ptr<Store> store, std::string own_key, Clock& clock)
    : store_(std::move(store)), wake_key_(std::move(own_key)), clock_(clock), writer_(make_thread_executor(clock)) {}

StoreLink::~StoreLink() {
  bool written = false;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_ = true;
    changed_.notify_all();
    write({{.key = wake_key_, .bytes = "ended"}});
    writer_->post([this, &written] {
      const std::lock_guard<std::mutex> inner(mutex_);
      written = true;
      changed_.notify_all();
    });
    const std::chrono::nanoseconds deadline = clock_.now() + kLastWrites;
    while (!written && clock_.now() < deadline) clock_.wait_until(changed_, lock, deadline);
  }
  stop_.request_stop();
  writer_.reset();
  if (watcher_.joinable()) watcher_.join();
}

void StoreLink::set(const std::string& key, std::string bytes) { write({{.key = key, .bytes = std::move(bytes)}}); }

void StoreLink::count_up(const std::string& key, std::function<void(std::uint64_t, const std::string&)> tell) {
  writer_->post([this, key, tell = std::move(tell)] {
    std::uint64_t number = 0;
    std::string trouble;
    try {
      const Reply reply = store_->ask({.op = StoreOp::Add, .keys = {key}, .amount = 1}, stop_.get_token());
      if (reply.status != StoreStatus::Ok) throw StoreError(cat("the store refused it: ", reply.error));
      number = static_cast<std::uint64_t>(reply.number);
    } catch (const DistError& error) {
      trouble = error.what();
    }
    tell(number, trouble);
  });
}

void StoreLink::write(std::vector<Write> writes) {
  writer_->post([this, writes = std::move(writes)] {
    try {
      const Reply reply = store_->ask({.op = StoreOp::Txn, .writes = writes}, stop_.get_token());
      if (reply.status != StoreStatus::Ok) throw StoreError(cat("the store refused a write: ", reply.error));
      const std::lock_guard<std::mutex> lock(mutex_);
      in_trouble_ = false;
    } catch (const DistError& error) {
      say_trouble(error.what());
    }
  });
}

void StoreLink::hold_lease(const std::string& key, std::chrono::milliseconds ttl) {
  write({{.key = key, .bytes = "alive", .life = Life::Ttl, .ttl_ms = static_cast<std::uint64_t>(ttl.count())}});
  renew(key, ttl);
}

void StoreLink::renew(const std::string& key, std::chrono::milliseconds ttl) {
  writer_->post_after(ttl / 4, [this, key, ttl] {
    if (!ended()) hold_lease(key, ttl);
  });
}

void StoreLink::watch(std::vector<WatchedKey> keys) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    added_.insert(added_.end(), std::make_move_iterator(keys.begin()), std::make_move_iterator(keys.end()));
  }
  if (watcher_.joinable()) {
    set(wake_key_, "more");
    return;
  }
  watcher_ = start_thread([this] { run_watcher(); });
}

void StoreLink::take_added(std::vector<WatchedKey>& keys, Request& request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (WatchedKey& key : std::exchange(added_, {})) {
    request.keys.push_back(key.key);
    request.versions.push_back(0);
    keys.push_back(std::move(key));
  }
}

void StoreLink::run_watcher() {
  std::vector<WatchedKey> keys;
  Request request;
  request.op = StoreOp::Watch;
  request.wait_ms = kWatchMs;
  request.keys.push_back(wake_key_);
  request.versions.push_back(0);
  keys.push_back({wake_key_, [](const StoreValue&) {}});
  while (!ended()) {
    take_added(keys, request);
    try {
      const Reply reply = store_->ask(request, stop_.get_token());
      if (reply.values.size() != keys.size()) throw StoreError(cat("watch: the store gives no values: ", reply.error));
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (reply.values[i].version == request.versions[i]) continue;
        keys[i].changed(reply.values[i]);
        request.versions[i] = reply.values[i].version;  // else it is told again
      }
    } catch (const DistError& error) {
      say_trouble(error.what());
      std::unique_lock<std::mutex> lock(mutex_);
      const std::chrono::nanoseconds until = clock_.now() + kPause;
      while (!ended_ && clock_.now() < until) clock_.wait_until(changed_, lock, until);
    }
  }
}

bool StoreLink::ended() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ended_;
}

void StoreLink::say_trouble(const std::string& why) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(in_trouble_, true) || stop_.stop_requested()) return;
  }
  log(LogLevel::Warning, cat("the agent cannot use the store: ", why));
}

}  // namespace resilin::dist
