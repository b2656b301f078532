// tests/dist/wire/crc32c_test.cpp -- CRC32C against the vectors of its standard.
#include "resilin/dist/wire/crc32c.h"

#include <string>

#include <doctest/doctest.h>

namespace resilin::dist {
namespace {

TEST_CASE("crc32c gives the sums of RFC 3720") {
  std::string counting(32, '\0');
  for (std::size_t i = 0; i < 32; ++i) counting[i] = static_cast<char>(i);
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xe3069283u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aau);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43u);
  CHECK(crc32c(counting) == 0x46dd794eu);
}

TEST_CASE("crc32c of pieces is that of the whole, wherever it is cut") {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += static_cast<char>(i * 37);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    CHECK(crc32c(bytes.substr(cut), crc32c(bytes.substr(0, cut))) == crc32c(bytes));
  }
}

}  // namespace
}  // namespace resilin::dist
