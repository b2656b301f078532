// tests/base/hash_test.cpp -- hashes are stable and sensitive.
#include "resilin/base/hash.h"

#include <set>
#include <string>

#include <doctest/doctest.h>

namespace resilin {
namespace {

TEST_CASE("a hash never changes between builds because file names hold it") {
  CHECK(hash_text("") == 8379408949349476583u);
  CHECK(hash_text("resilin") == 10570232706027223918u);
  CHECK(hash_mix(1, 2) == 14273640278877771549u);
}

TEST_CASE("a hash sees length, order, every byte and the seed") {
  std::set<std::uint64_t> seen;
  std::string text;
  for (int i = 0; i < 40; ++i) {
    seen.insert(hash_text(text));
    text += '\0';
  }
  CHECK(seen.size() == 40);
  CHECK(hash_text("ab") != hash_text("ba"));
  CHECK(hash_text("ab", 1) != hash_text("ab", 2));
  CHECK(hash_mix(1, 2) != hash_mix(2, 1));
  const std::string base = "abcdefghijklmnopq";
  for (std::size_t i = 0; i < base.size(); ++i) {
    std::string other = base;
    other[i] ^= 1;
    CHECK(hash_text(other) != hash_text(base));
  }
}

}  // namespace
}  // namespace resilin
