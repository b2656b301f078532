// src/resilin/dist/membership/store_asker.h -- Internal: a machine's requests, put to a store that blocks.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "resilin/dist/environment.h"
#include "resilin/dist/store/store.h"

namespace resilin::dist {

/// Asks each request until it is answered or forgotten, however long the store is away. A write that is asked again is done once: all requests
/// carry one writer.
///
/// Threads  any may call. Its own ones, made as they are needed and kMostThreads at most, call the functions, which must not call back.
class StoreAsker {
 public:
  struct Listener {
    std::function<void(std::uint64_t id, Reply reply)> replied;
    std::function<void(const std::string& why)> lost;  // a request could not be put to the store; told once until
    std::function<void()> back;                        // it answers again
  };
  /// Enough for the requests of a machine that wait, and one more; the others are quick.
  static constexpr std::size_t kMostThreads = 6;

  StoreAsker(std::shared_ptr<Store> store, Listener listener, Clock& clock = machine_clock(), Random& random = machine_random());
  ~StoreAsker() { close(); }
  StoreAsker(const StoreAsker&) = delete;
  StoreAsker& operator=(const StoreAsker&) = delete;

  /// Numbers grow from request to request.
  void ask(std::uint64_t id, Request request);
  void forget(std::uint64_t id);
  /// Gives up all requests and comes back when no function runs any more; none is called afterwards.
  void close();

 private:
  struct Job {
    Request request;
    std::stop_source stop = {};
  };

  void run();
  void serve(std::unique_lock<std::mutex>& lock, std::uint64_t id, const std::shared_ptr<Job>& job);
  std::optional<Reply> try_once(std::unique_lock<std::mutex>& lock, const Job& job);
  void note_trouble(const std::string& why);

  const std::shared_ptr<Store> store_;
  const Listener listener_;
  Clock& clock_;
  const std::uint64_t writer_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable queued_;
  std::condition_variable hurried_;  // who pauses looks again
  std::map<std::uint64_t, std::shared_ptr<Job>> jobs_;
  std::deque<std::uint64_t> queue_;  // not yet taken by a thread
  std::size_t idle_ = 0;             // threads
  bool is_lost_ = false;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace resilin::dist
