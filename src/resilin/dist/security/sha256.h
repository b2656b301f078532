// src/resilin/dist/security/sha256.h -- Internal: SHA-256 and the message authentication code HMAC made of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace resilin::dist {

/// 32 bytes: a hash, a code or a key.
using Digest = std::array<std::uint8_t, 32>;

inline std::string_view as_bytes(const Digest& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

/// A hash of bytes that come in pieces.
///
/// Source   FIPS 180-4, section 6.2
class Sha256 {
 public:
  void update(std::string_view bytes);
  /// The hash of all bytes; the object is used up.
  Digest finish();

 private:
  void compress(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;          // bytes of block_
  std::uint64_t length_bytes_ = 0;  // of all so far
};

Digest sha256(std::string_view bytes);

/// Codes under one key. What depends on the key alone is hashed once.
///
/// Source   RFC 2104
class Hmac {
 public:
  explicit Hmac(std::string_view key);
  Hmac(const Hmac&) = default;
  Hmac& operator=(const Hmac&) = default;
  ~Hmac();

  /// The code of the pieces, one after another.
  template <class... Pieces>
  Digest operator()(const Pieces&... pieces) const {
    Sha256 inner = inner_;
    (inner.update(pieces), ...);
    return finish(inner);
  }

 private:
  Digest finish(Sha256& inner) const;

  Sha256 inner_, outer_;
};

/// Equal, in a time that does not depend on where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

/// Overwrites memory that held a secret; the compiler cannot leave it out.
void wipe(void* data, std::size_t size_bytes);

}  // namespace resilin::dist
