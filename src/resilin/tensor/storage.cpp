// src/resilin/tensor/storage.cpp -- making and freeing storages; their bodies are recycled per thread.
#include "resilin/tensor/storage.h"

#include <cstring>
#include <new>

#include "resilin/base/error.h"
#include "resilin/tensor/thread_cache.h"

namespace resilin {
namespace {

StorageBody* make_body() { return new (take_body<StorageBody>(&ThreadCache::storages)) StorageBody; }

void give_body_back(StorageBody* body) noexcept {
  body->~StorageBody();
  give_body(body, &ThreadCache::storages);
}

void free_memory(StorageBody* body) noexcept {
  if (body->deleter != nullptr) {
    (*body->deleter)();
    delete body->deleter;
  } else if (!give_recycled(body->data)) {
    deallocate_slow(body->data);
  }
}

}  // namespace

Storage Storage::allocate(i64 size_bytes) {
  StorageBody* const body = make_body();
  Storage storage(body);  // takes the body back when memory is refused
  void* const recycled = size_bytes == 0 ? nullptr : take_recycled(size_bytes);
  void* const data = recycled != nullptr || size_bytes == 0 ? recycled : allocate_slow(size_bytes);
  body->data = data;
  body->size_bytes = size_bytes;
  return storage;
}

Storage Storage::external(void* data, i64 size_bytes, std::function<void()> deleter) {
  if (size_bytes < 0) throw ArgumentError(cat("external: negative size: ", size_bytes, " bytes; it must be >= 0"));
  StorageBody* const body = make_body();
  Storage storage(body);
  body->data = data;
  body->size_bytes = size_bytes;
  body->deleter = new std::function<void()>(deleter ? std::move(deleter) : [] {});
  return storage;
}

void Storage::move_to(void* data, std::function<void()> deleter) const {
  std::function<void()>* const kept = new std::function<void()>(deleter ? std::move(deleter) : [] {});
  if (body_->size_bytes != 0) std::memcpy(data, body_->data, static_cast<std::size_t>(body_->size_bytes));
  free_memory(body_);
  body_->data = data;
  body_->deleter = kept;
}

void Storage::release(StorageBody* body) noexcept {
  // The only holder needs no atomic subtraction: nobody else can add a reference.
  if (body->references.load(std::memory_order_acquire) != 1 && body->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  free_memory(body);
  give_body_back(body);
}

}  // namespace resilin
