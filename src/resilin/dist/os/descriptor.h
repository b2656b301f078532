// src/resilin/dist/os/descriptor.h -- Internal: a file descriptor that closes itself, in forked children too.
#pragma once

#include <cstdint>

namespace resilin::dist {

/// Owns a file descriptor, which closes with this object and, when the process forks, in the child at once: a child that kept a
/// connection open would keep its death from being seen. The child finds the object empty.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes an open descriptor; a negative one, what a failed call gave, is none.
  explicit Descriptor(int descriptor);
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }

  explicit operator bool() const { return get() >= 0; }
  /// -1 when there is none.
  int get() const;
  void close();
  /// The descriptor, which is the caller's from now on.
  int release();

 private:
  int value_ = -1;
  std::uint64_t life_ = 0;  // of the process that opened it
};

/// Grows in every forked child: what was made under another number belongs to the parent.
std::uint64_t process_life();

}  // namespace resilin::dist
