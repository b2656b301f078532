// src/resilin/dist/agent/store_link.h -- Internal: an agent's writes to the store, and what it watches there, away from its decisions.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "resilin/dist/environment.h"
#include "resilin/dist/store/store.h"

namespace resilin::dist {

/// A key that is watched, and what to do with its new value; an absent key has version 0. Runs in the watcher's thread; when it throws
/// a DistError the value is told again.
struct WatchedKey {
  std::string key;
  std::function<void(const StoreValue&)> changed;
};

/// Writes in order by one thread, watches by another. A store that cannot be reached is said once and asked again.
class StoreLink {
 public:
  StoreLink(std::shared_ptr<Store> store, std::string own_key, Clock& clock);
  /// Writes what is pending, for two seconds at most; then no request waits any more.
  ~StoreLink();

  /// Watches these keys too, from now on.
  void watch(std::vector<WatchedKey> keys);
  void set(const std::string& key, std::string bytes);
  /// Counts a key up and tells its new number, in the writer's thread; 0 and why when the store cannot be asked.
  void count_up(const std::string& key, std::function<void(std::uint64_t number, const std::string& trouble)> tell);
  /// Keeps `key` alive while this object and its store live.
  void hold_lease(const std::string& key, std::chrono::milliseconds ttl);

 private:
  void write(std::vector<Write> writes);
  void renew(const std::string& key, std::chrono::milliseconds ttl);
  void run_watcher();
  void take_added(std::vector<WatchedKey>& keys, Request& request);
  bool ended();
  void say_trouble(const std::string& why);

  const std::shared_ptr<Store> store_;
  const std::string wake_key_;
  Clock& clock_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool ended_ = false;
  bool in_trouble_ = false;
  std::stop_source stop_;          // of all requests
  std::vector<WatchedKey> added_;  // not yet taken by the watcher
  std::shared_ptr<Executor> writer_;
  std::thread watcher_;
};

}  // namespace resilin::dist
