// src/resilin/dist/membership/store_asker.cpp -- a machine's requests, put to a store that blocks.
#include "resilin/dist/membership/store_asker.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "resilin/dist/os/thread.h"

namespace resilin::dist {
namespace {

constexpr std::chrono::milliseconds kPause{200};  // after trouble

}  // namespace

StoreAsker::StoreAsker(std::shared_ptr<Store> store, Listener listener, Clock& clock, Random& random)
    : store_(std::move(store)), listener_(std::move(listener)), clock_(clock), writer_(std::max<std::uint64_t>(random.next(), 1)) {}

void StoreAsker::close() {
  std::map<std::uint64_t, std::shared_ptr<Job>> jobs;
  std::vector<std::thread> threads;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    jobs.swap(jobs_);
    threads.swap(threads_);
    queue_.clear();
  }
  for (const auto& [id, job] : jobs) job->stop.request_stop();
  queued_.notify_all();
  hurried_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

void StoreAsker::ask(std::uint64_t id, Request request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ended_) return;
  request.writer = {writer_, id};
  jobs_.emplace(id, std::make_shared<Job>(Job{std::move(request)}));
  queue_.push_back(id);
  if (queue_.size() > idle_ && threads_.size() < kMostThreads) threads_.push_back(start_thread([this] { run(); }));
  queued_.notify_one();
}

void StoreAsker::forget(std::uint64_t id) {
  std::shared_ptr<Job> job;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::map<std::uint64_t, std::shared_ptr<Job>>::iterator at = jobs_.find(id);
    if (at == jobs_.end()) return;
    job = std::move(at->second);
    jobs_.erase(at);
  }
  job->stop.request_stop();
  hurried_.notify_all();
}

void StoreAsker::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ended_) {
    if (queue_.empty()) {
      ++idle_;
      queued_.wait(lock);
      --idle_;
      continue;
    }
    const std::uint64_t id = queue_.front();
    queue_.pop_front();
    const std::map<std::uint64_t, std::shared_ptr<Job>>::const_iterator at = jobs_.find(id);
    if (at == jobs_.end()) continue;  // forgotten meanwhile
    const std::shared_ptr<Job> job = at->second;
    serve(lock, id, job);
  }
}

void StoreAsker::serve(std::unique_lock<std::mutex>& lock, std::uint64_t id, const std::shared_ptr<Job>& job) {
  while (jobs_.contains(id)) {
    // What the writer has answers to is what lies below its oldest open request.
    job->request.answered = jobs_.begin()->first - 1;
    std::optional<Reply> reply = try_once(lock, *job);
    if (!jobs_.contains(id)) return;
    if (reply) {
      jobs_.erase(id);
      if (std::exchange(is_lost_, false)) listener_.back();
      return listener_.replied(id, std::move(*reply));
    }
    const std::chrono::nanoseconds until = clock_.now() + kPause;
    while (jobs_.contains(id) && clock_.now() < until) clock_.wait_until(hurried_, lock, until);
  }
}

std::optional<Reply> StoreAsker::try_once(std::unique_lock<std::mutex>& lock, const Job& job) {
  std::string why;
  lock.unlock();
  try {
    Reply reply = store_->ask(job.request, job.stop.get_token());
    lock.lock();
    return reply;
  } catch (const std::exception& error) {
    why = error.what();
  }
  lock.lock();
  if (!job.stop.stop_requested()) note_trouble(why);
  return std::nullopt;
}

void StoreAsker::note_trouble(const std::string& why) {
  if (!std::exchange(is_lost_, true)) listener_.lost(why);
}

}  // namespace resilin::dist
