// src/resilin/dist/wire/crc32c.cpp -- CRC32C by tables, eight bytes at a time.
#include "resilin/dist/wire/crc32c.h"

#include <array>
#include <cstddef>

namespace resilin::dist {
namespace {

constexpr std::uint32_t kReflectedPolynomial = 0x82f63b78u;

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Row k holds what a byte does to the checksum when k bytes follow it.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kReflectedPolynomial : 0);
    tables[0][byte] = value;
  }
  for (std::size_t row = 1; row < tables.size(); ++row) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[row - 1][byte];
      tables[row][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

std::uint32_t byte_at(std::string_view bytes, std::size_t position) { return static_cast<unsigned char>(bytes[position]); }

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  while (bytes.size() >= 8) {
    const std::uint32_t low = sum ^ (byte_at(bytes, 0) | byte_at(bytes, 1) << 8 | byte_at(bytes, 2) << 16 | byte_at(bytes, 3) << 24);
    sum = kTables[7][low & 0xff] ^ kTables[6][(low >> 8) & 0xff] ^ kTables[5][(low >> 16) & 0xff] ^ kTables[4][low >> 24] ^
          kTables[3][byte_at(bytes, 4)] ^ kTables[2][byte_at(bytes, 5)] ^ kTables[1][byte_at(bytes, 6)] ^ kTables[0][byte_at(bytes, 7)];
    bytes.remove_prefix(8);
  }
  for (const char c : bytes) sum = (sum >> 8) ^ kTables[0][(sum ^ static_cast<unsigned char>(c)) & 0xff];
  return ~sum;
}

}  // namespace resilin::dist
