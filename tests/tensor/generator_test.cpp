// tests/tensor/generator_test.cpp -- Philox against the known-answer vectors of Random123, and the state of a stream.
#include "resilin/tensor/generator.h"

#include <array>
#include <limits>
#include <thread>

#include <doctest/doctest.h>

namespace resilin {
namespace {

using Words = std::array<std::uint32_t, 4>;

Words philox(Words counter, std::uint32_t key0, std::uint32_t key1) {
  const auto join = [](std::uint32_t low, std::uint32_t high) { return static_cast<std::uint64_t>(high) << 32 | low; };
  const PhiloxWords out = philox4x32(join(key0, key1), join(counter[0], counter[1]), join(counter[2], counter[3]));
  return {out.word[0], out.word[1], out.word[2], out.word[3]};
}

TEST_CASE("philox4x32-10 gives the known answers of Random123") {
  CHECK(philox({0, 0, 0, 0}, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, ones, ones) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("reserve hands out consecutive offsets and a new seed starts at 0") {
  Generator generator(7);
  CHECK(generator.seed() == 7);
  CHECK(generator.reserve(3) == 0);
  CHECK(generator.reserve(0) == 3);
  CHECK(generator.reserve(5) == 3);
  CHECK(generator.offset() == 8);
  generator.set_offset(100);
  CHECK(generator.reserve(1) == 100);
  generator.manual_seed(9);
  CHECK(generator.seed() == 9);
  CHECK(generator.offset() == 0);
}

TEST_CASE("a generator refuses negative offsets and offsets beyond 63 bits") {
  Generator generator;
  CHECK_THROWS_AS(generator.set_offset(-1), ArgumentError);
  CHECK_THROWS_AS(generator.reserve(-1), ArgumentError);
  generator.reserve(5);
  CHECK_THROWS_AS(generator.reserve(std::numeric_limits<i64>::max()), ArgumentError);
  CHECK(generator.offset() == 5);
}

TEST_CASE("the default generator belongs to its thread and starts with seed 0") {
  default_generator().reserve(4);
  i64 seed = -1, offset = -1;
  std::thread([&] {
    seed = default_generator().seed();
    offset = default_generator().offset();
  }).join();
  CHECK(seed == 0);
  CHECK(offset == 0);
  CHECK(default_generator().offset() >= 4);
}

}  // namespace
}  // namespace resilin
