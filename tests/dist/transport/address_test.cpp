// tests/dist/transport/address_test.cpp -- addresses are checked whole before an engine sees a byte of them.
#include "resilin/dist/transport/address.h"

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/dist/wire/bytes.h"
#include "resilin/dist/wire/codec.h"
#include "resilin/dist/wire/crc32c.h"
#include "resilin/dist/wire/identity.h"

namespace resilin::dist {
namespace {

const TransportAddress kAddress = {"engine 1.2", 77, std::string("\0\1\2 bytes", 9)};

TEST_CASE("an address comes back as it was packed") {
  const TransportAddress address = unpack_address(pack_address(kAddress), 3, "engine 1.2");
  CHECK(address.engine == kAddress.engine);
  CHECK(address.place == 77);
  CHECK(address.bytes == kAddress.bytes);
}

TEST_CASE("an address that was cut or changed anywhere is refused") {
  const std::string good = pack_address(kAddress);
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK_THROWS_AS(unpack_address(std::string_view(good).substr(0, size), 3, "engine 1.2"), StoreError);
  }
  CHECK_THROWS_AS(unpack_address(good + "x", 3, "engine 1.2"), StoreError);
  CHECK_THROWS_AS(unpack_address(std::string(std::size_t{1} << 20, 'x'), 3, "engine 1.2"), StoreError);
  for (std::size_t place = 0; place < good.size(); ++place) {
    for (const char change : {'\1', '\x80', '\x7f'}) {
      std::string bad = good;
      bad[place] = static_cast<char>(bad[place] ^ change);
      CHECK_THROWS_AS(unpack_address(bad, 3, "engine 1.2"), StoreError);
    }
  }
  CHECK_THROWS_WITH_AS(unpack_address("gibberish", 3, "engine 1.2"),
                       "connect: the address of rank 3 is none: 9 bytes; it must be what the rank's transport gave", StoreError);
}

TEST_CASE("an address of another build or engine is refused by name") {
  CHECK_THROWS_WITH_AS(unpack_address(pack_address(kAddress), 3, "engine 1.3"),
                       "connect: engines differ: this rank's is \"engine 1.3\", that of rank 3 \"engine 1.2\"; all ranks must use the same",
                       VersionError);
  const std::string body = encode(Identity{"resilin 9", own_identity().dtype_table}) + encode(kAddress);
  std::string foreign = "RSLNADDR";
  append_little(foreign, crc32c(body));
  CHECK_THROWS_WITH_AS(unpack_address(foreign + body, 3, "engine 1.2"), doctest::Contains("resilin 9"), VersionError);
}

TEST_CASE("a process shares memory with itself") {
  CHECK(own_place() != 0);
  CHECK(own_place() == own_place());
}

}  // namespace
}  // namespace resilin::dist
