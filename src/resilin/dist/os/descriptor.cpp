// src/resilin/dist/os/descriptor.cpp -- the descriptors of dist, and their end in forked children.
#include "resilin/dist/os/descriptor.h"

#include <atomic>
#include <mutex>
#include <set>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace resilin::dist {
namespace {

std::atomic<std::uint64_t> g_life{1};

/// All descriptors that are owned. The lock is held over a fork, so that the child finds the set whole.
class Registry {
 public:
  static Registry& get() {
    static Registry* const registry = new Registry();  // used until the process ends
    return *registry;
  }

  void add(int descriptor) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.insert(descriptor);
  }
  /// The lock is held while it closes: nobody can be given the same number in between and be erased.
  void close(int descriptor) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(descriptor);
    ::close(descriptor);
  }
  void forget(int descriptor) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(descriptor);
  }

 private:
  Registry() {
    pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); }, [] { get().start_child(); });
  }
  void start_child() {
    g_life.fetch_add(1, std::memory_order_relaxed);
    for (const int descriptor : open_) ::close(descriptor);
    open_.clear();
    mutex_.unlock();
  }

  std::mutex mutex_;  // guards open_
  std::set<int> open_;
};

}  // namespace

std::uint64_t process_life() { return g_life.load(std::memory_order_relaxed); }

Descriptor::Descriptor(int descriptor) : value_(descriptor), life_(process_life()) {
  if (descriptor >= 0) Registry::get().add(descriptor);
}

Descriptor::Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)), life_(other.life_) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  std::swap(life_, other.life_);
  return *this;
}

int Descriptor::get() const { return life_ == process_life() ? value_ : -1; }

void Descriptor::close() {
  if (get() >= 0) Registry::get().close(value_);
  value_ = -1;
}

int Descriptor::release() {
  const int descriptor = get();
  if (descriptor >= 0) Registry::get().forget(descriptor);
  value_ = -1;
  return descriptor;
}

}  // namespace resilin::dist
