// src/resilin/base/counted.h -- Internal: Ref, a handle on an object that carries its own count of references.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace resilin {

/// The count. Objects are made with `new` and live until the last Ref is gone.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  void retain() const { references_.fetch_add(1, std::memory_order_relaxed); }
  /// False when the last reference is gone: the object is being destroyed.
  bool try_retain() const {
    std::int64_t count = references_.load(std::memory_order_relaxed);
    while (count > 0) {
      if (references_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  /// True when that was the last reference.
  bool release() const { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 protected:
  ~Counted() = default;

 private:
  mutable std::atomic<std::int64_t> references_{0};
};

/// A counted handle, or null. `T::destroy`, where there is one, ends the object in place of `delete`.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  // NOLINT
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  /// Takes over a reference that was counted already.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  template <class Derived>
    requires std::convertible_to<Derived*, T*> Ref(const Ref<Derived>& other) : Ref(static_cast<T*>(other.get())) {}  // NOLINT
    Ref(const Ref& other) : Ref(other.object_) {}
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
      std::swap(object_, other.object_);
      return *this;
    }
    ~Ref() {
      if (object_ != nullptr && object_->release()) end(object_);
    }

    T* get() const { return object_; }
    T& operator*() const { return *object_; }
    T* operator->() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }
    friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }
    friend bool operator==(const Ref& a, std::nullptr_t) { return a.object_ == nullptr; }

   private:
    [[gnu::noinline]] static void end(T* object) noexcept {  // gcc 12 takes the inlined delete for the end of every copy
      if constexpr (requires { T::destroy(object); }) {
        T::destroy(object);
      } else {
        delete object;
      }
    }

    T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace resilin
