// tests/dist/security/sha256_test.cpp -- SHA-256 and HMAC against the vectors of their standards.
#include "resilin/dist/security/sha256.h"

#include <string>

#include <doctest/doctest.h>

namespace resilin::dist {
namespace {

std::string hex(const Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

TEST_CASE("sha256 gives the hashes of FIPS 180") {
  CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(sha256(std::string(1'000'000, 'a'))) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("a hash of pieces is that of the whole at every length around a block") {
  for (std::size_t size = 50; size < 135; ++size) {
    const std::string bytes(size, 'q');
    Sha256 pieces;
    for (std::size_t at = 0; at < size; at += 7) pieces.update(std::string_view(bytes).substr(at, 7));
    CHECK(pieces.finish() == sha256(bytes));
  }
}

TEST_CASE("hmac gives the codes of RFC 4231") {
  CHECK(hex(Hmac(std::string(20, '\x0b'))("Hi There")) == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hex(Hmac("Jefe")("what do ya want for nothing?")) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hex(Hmac(std::string(20, '\xaa'))(std::string(50, '\xdd'))) == "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::string counting;
  for (char c = 1; c <= 25; ++c) counting += c;
  CHECK(hex(Hmac(counting)(std::string(50, '\xcd'))) == "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  CHECK(hex(Hmac(std::string(131, '\xaa'))("Test Using Larger Than Block-Size Key - Hash Key First")) ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK(hex(Hmac(std::string(131, '\xaa'))("This is a test using a larger than block-size key and a larger than block-size data. The key ",
                                           "needs to be hashed before being used by the HMAC algorithm.")) ==
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST_CASE("codes are compared whole") {
  CHECK(equal_in_constant_time("abc", "abc"));
  CHECK_FALSE(equal_in_constant_time("abc", "abd"));
  CHECK_FALSE(equal_in_constant_time("abc", "ab"));
}

}  // namespace
}  // namespace resilin::dist
