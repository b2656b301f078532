// src/resilin/base/small_vector.h -- Internal: a vector whose first N elements live inside the object.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace resilin {

/// std::vector with room for N elements inside; iterators are pointers; moves steal the heap block if there is one.
template <class T, std::size_t N>
class SmallVector {
 public:
  using value_type = T;
  SmallVector() {}  // user-provided: the bytes inside stay unset, and a const object may be default
  SmallVector(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  explicit SmallVector(std::size_t count, const T& value = T()) { resize(count, value); }
  template <std::input_iterator Iterator>
  SmallVector(Iterator first, Iterator last) {
    append(first, last);
  }
  explicit SmallVector(std::span<const T> items) { append(items.begin(), items.end()); }
  SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.begin(), other.end());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { release(); }

  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(const T& item) { emplace_back(item); }
  void push_back(T&& item) { emplace_back(std::move(item)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) {
      T item(std::forward<Args>(args)...);  // built first: an argument may live in the block that grow() frees
      grow(capacity_ * 2);
      return *new (data_ + size_++) T(std::move(item));
    }
    return *new (data_ + size_++) T(std::forward<Args>(args)...);
  }
  void pop_back() { data_[--size_].~T(); }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }
  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }
  void resize(std::size_t count, const T& value = T()) {
    reserve(count);
    if (count > size_) {
      std::uninitialized_fill(data_ + size_, data_ + count, value);
    } else {
      std::destroy(data_ + count, data_ + size_);
    }
    size_ = count;
  }
  template <class Iterator>
  void append(Iterator first, Iterator last) {
    if constexpr (std::contiguous_iterator<Iterator> && std::is_trivially_copyable_v<T>) {
      // The size is written once: element by element, the compiler must assume that an element's store changed it.
      reserve(size_ + static_cast<std::size_t>(last - first));
      T* out = data_ + size_;
      for (; first != last; ++first) new (out++) T(*first);
      size_ = static_cast<std::size_t>(out - data_);
    } else {
      for (; first != last; ++first) push_back(*first);
    }
  }
  T* insert(T* position, const T& item) {
    const std::ptrdiff_t at = position - begin();
    push_back(item);
    std::rotate(begin() + at, end() - 1, end());
    return begin() + at;
  }
  T* erase(T* position) {
    std::move(position + 1, end(), position);
    pop_back();
    return position;
  }
  operator std::span<const T>() const { return {data_, size_}; }

  friend bool operator==(const SmallVector& a, const SmallVector& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  bool on_heap() const { return data_ != reinterpret_cast<const T*>(inline_); }
  void grow(std::size_t count) {
    count = std::max(count, capacity_ * 2);
    T* fresh = static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{alignof(T)}));
    std::uninitialized_move(begin(), end(), fresh);
    std::destroy(begin(), end());
    if (on_heap()) ::operator delete (data_, std::align_val_t{alignof(T)});
    data_ = fresh;
    capacity_ = count;
  }
  void release() {
    clear();
    if (on_heap()) ::operator delete (data_, std::align_val_t{alignof(T)});
    data_ = inline_data();
    capacity_ = N;
  }
  void take(SmallVector& other) noexcept {
    if (other.on_heap()) {
      data_ = std::exchange(other.data_, other.inline_data());
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, N);
    } else {
      append(std::make_move_iterator(other.begin()), std::make_move_iterator(other.end()));
      other.clear();
    }
  }

  T* data_ = inline_data();
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace resilin
