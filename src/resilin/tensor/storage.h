// src/resilin/tensor/storage.h -- Storage: a counted block of bytes with a version counter, shared by a tensor and its views.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "resilin/base/error.h"
#include "resilin/base/text.h"

namespace resilin {

/// Internal: the block itself.
struct StorageBody {
  std::atomic<i64> references{1};
  std::atomic<i64> version{0};
  void* data = nullptr;
  i64 size_bytes = 0;
  std::function<void()>* deleter = nullptr;  // of external memory; null: the block came from allocate()
};

/// A handle on a counted block of memory. Copies share it; the last one frees it.
class Storage {
 public:
  Storage() = default;
  /// Uninitialised memory from the caching allocator; of 0 bytes is legal and has a null pointer.
  RESILIN_API static Storage allocate(i64 size_bytes);
  /// Memory owned elsewhere; `deleter` runs when the last handle goes.
  RESILIN_API static Storage external(void* data, i64 size_bytes, std::function<void()> deleter);
  Storage(const Storage& other) noexcept : body_(other.body_) {
    if (body_ != nullptr) body_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Storage(Storage&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Storage() {
    if (body_ != nullptr) release(body_);
  }

  bool defined() const { return body_ != nullptr; }
  void* data() const { return body_->data; }
  i64 size_bytes() const { return body_->size_bytes; }
  /// Steps with every write through any view.
  i64 version() const { return body_->version.load(std::memory_order_relaxed); }
  void bump_version() const { body_->version.fetch_add(1, std::memory_order_relaxed); }
  /// The bytes move into memory owned elsewhere, of at least size_bytes(), and every tensor on this storage with them; `deleter` runs when the last handle
  /// goes. No other thread may use the storage meanwhile.
  RESILIN_API void move_to(void* data, std::function<void()> deleter) const;
  i64 use_count() const { return body_->references.load(std::memory_order_acquire); }
  friend bool operator==(const Storage& a, const Storage& b) { return a.body_ == b.body_; }

 private:
  explicit Storage(StorageBody* body) : body_(body) {}
  /// Gives one reference back and frees with the last.
  RESILIN_API static void release(StorageBody* body) noexcept;
  StorageBody* body_ = nullptr;
};

}  // namespace resilin
