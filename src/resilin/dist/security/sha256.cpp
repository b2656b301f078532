// src/resilin/dist/security/sha256.cpp -- SHA-256 and HMAC.
#include "resilin/dist/security/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace resilin::dist {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t read_big(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) << 24 | static_cast<std::uint32_t>(at[1]) << 16 | static_cast<std::uint32_t>(at[2]) << 8 | at[3];
}

void write_big(std::uint8_t* at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

std::array<std::uint32_t, 64> message_schedule(const std::uint8_t* block) {
  std::array<std::uint32_t, 64> words;
  for (std::size_t i = 0; i < 16; ++i) words[i] = read_big(block + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = words[i - 15], b = words[i - 2];
    const std::uint32_t low = std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3);
    const std::uint32_t high = std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10);
    words[i] = words[i - 16] + low + words[i - 7] + high;
  }
  return words;
}

}  // namespace

void Sha256::compress(const std::uint8_t* block) {
  const std::array<std::uint32_t, 64> words = message_schedule(block);
  std::array<std::uint32_t, 8> s = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const std::uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    const std::uint32_t first =
        s[7] + (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) + choice + kRoundConstants[i] + words[i];
    const std::uint32_t second = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) + majority;
    s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) state_[i] += s[i];
}

void Sha256::update(std::string_view bytes) {
  length_bytes_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t taken = std::min(bytes.size(), block_.size() - filled_);
    std::memcpy(block_.data() + filled_, bytes.data(), taken);
    bytes.remove_prefix(taken);
    filled_ += taken;
    if (filled_ < block_.size()) return;
    compress(block_.data());
    filled_ = 0;
  }
}

Digest Sha256::finish() {
  const std::uint64_t bits = length_bytes_ * 8;
  static constexpr char kPadding[64] = {'\x80'};
  // One bit, zeros up to 56 bytes of a block, the length.
  update({kPadding, 1 + (119 - filled_) % 64});
  std::uint8_t length[8];
  write_big(length, static_cast<std::uint32_t>(bits >> 32));
  write_big(length + 4, static_cast<std::uint32_t>(bits));
  update({reinterpret_cast<const char*>(length), 8});
  Digest digest;
  for (std::size_t i = 0; i < 8; ++i) write_big(digest.data() + 4 * i, state_[i]);
  return digest;
}

Digest sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

Hmac::Hmac(std::string_view key) {
  std::array<char, 64> padded{};
  if (key.size() > padded.size()) {
    const Digest shorter = sha256(key);
    std::memcpy(padded.data(), shorter.data(), shorter.size());
  } else if (!key.empty()) {
    std::memcpy(padded.data(), key.data(), key.size());
  }
  for (char& byte : padded) byte = static_cast<char>(byte ^ 0x36);
  inner_.update({padded.data(), padded.size()});
  for (char& byte : padded) byte = static_cast<char>(byte ^ 0x36 ^ 0x5c);
  outer_.update({padded.data(), padded.size()});
  wipe(padded.data(), padded.size());
}

Hmac::~Hmac() {
  wipe(&inner_, sizeof inner_);
  wipe(&outer_, sizeof outer_);
}

Digest Hmac::finish(Sha256& inner) const {
  Sha256 outer = outer_;
  outer.update(as_bytes(inner.finish()));
  return outer.finish();
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

void wipe(void* data, std::size_t size_bytes) { explicit_bzero(data, size_bytes); }

}  // namespace resilin::dist
