// tests/sym/dim_text_test.cpp -- expressions print, and read back to the same word.
#include <doctest/doctest.h>

#include "resilin/sym/dim.h"

#include "tests/sym/random_tree.h"

namespace resilin {
namespace {

const Dim s0 = Dim::symbol('s', 0), s1 = Dim::symbol('s', 1), s2 = Dim::symbol('s', 2);

TEST_CASE("an expression prints as a sum of products, higher degrees first") {
  CHECK(cat(2 * s0 * s1 + floordiv(s2, 4) - 1) == "2*s0*s1 + floordiv(s2, 4) - 1");
  CHECK(cat(1 - s0) == "-s0 + 1");
  CHECK(cat(-3 * s0 * s0 - s1) == "-3*s0*s0 - s1");
  CHECK(cat(Dim(-5)) == "-5");
  CHECK(cat(max(0, min(s0 - 1, s1))) == "max(0, min(s1, s0 - 1))");
  CHECK(cat(mod(Dim::symbol('i', 12), s0 + 1)) == "mod(i12, s0 + 1)");
  CHECK(cat(Shape{s0, 4}) == "[s0, 4]");
}

TEST_CASE("text that is not canonical reads to the canonical expression") {
  CHECK(parse_dim("s0") == s0);
  CHECK(parse_dim("  s1 *(s0+ 1) - s1 ") == s0 * s1);
  CHECK(parse_dim("ceil_div(s0, 4)") == floordiv(s0 + 3, 4));
  CHECK(parse_dim("-4611686018427387904") == Dim::kMin);
  CHECK(parse_dim("-(s0 - s1)") == s1 - s0);
}

TEST_CASE("what prints reads back to the same word") {
  RandomTrees random(test_seed() + 1, 4);
  MESSAGE("seed ", test_seed());
  for (int i = 0; i < 4000; ++i) {
    const std::shared_ptr<const Tree> tree = random.tree(1 + random.below(14));
    Dim e;
    try {
      e = dim_of(*tree);
    } catch (const ArgumentError&) {
      continue;
    }
    CHECK_MESSAGE(parse_dim(cat(e)) == e, text_of(*tree), " printed ", cat(e), " read ", cat(parse_dim(cat(e))));
  }
}

TEST_CASE("text that is no expression is refused with its position") {
  for (const char* text : {"",
                           " ",
                           "s",
                           "s0 s1",
                           "s0 +",
                           "* s0",
                           "(s0",
                           "s0)",
                           "floordiv(s0)",
                           "floordiv(s0, 1",
                           "floordiv(s0, 0)",
                           "mod(1, s0 - s0)",
                           "S0",
                           "foo(1, 2)",
                           "s0x",
                           "s00",
                           "s99999999999",
                           "99999999999999999999",
                           "4611686018427387904",
                           "1.5",
                           "s0 ** 2",
                           "min(,)",
                           "s0, s1",
                           "3*4611686018427387903",
                           "\n",
                           "s-1",
                           "--1",
                           "\xff",
                           "floordiv",
                           "_1"}) {
    CHECK_THROWS_AS_MESSAGE(parse_dim(text), ArgumentError, text);
  }
  CHECK_THROWS_WITH_AS(parse_dim("s0 + $"), "parse_dim: an integer, a symbol, a call or '(' is missing: at position 5 of \"s0 + $\"",
                       ArgumentError);
}

std::string repeated(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

TEST_CASE("hostile text is refused in bounded time and depth") {
  CHECK_THROWS_AS(parse_dim(repeated("(", 200000)), ArgumentError);
  CHECK_THROWS_AS(parse_dim(repeated("floordiv(", 20000)), ArgumentError);
  CHECK_THROWS_AS(parse_dim(repeated("floordiv(", 150) + "s0" + repeated(", s1)", 150)), ArgumentError);
  CHECK_THROWS_AS(parse_dim("s0" + repeated("*s0", 60000)), ArgumentError);
  CHECK_THROWS_AS(parse_dim("1" + repeated("*(s0 + s1 + s2 + 1)", 1000)), ArgumentError);
  CHECK_THROWS_AS(parse_dim(repeated("s0+", 100000)), ArgumentError);
  CHECK_THROWS_AS(parse_dim(repeated("9", 300000)), ArgumentError);
  std::string many = "s0";
  for (int i = 1; i < 5000; ++i) many += cat("+s", i);
  CHECK_THROWS_AS(parse_dim(many), ArgumentError);
  CHECK(parse_dim("s0" + repeated("+s0", 50000)) == 50001 * s0);
}

TEST_CASE("random damage to a text either reads or is refused, and never anything else") {
  RandomTrees random(test_seed() + 2, 4);
  const std::string text = "2*s0*floordiv(s1 + 3, 4) - min(s2, mod(s0, 5)) + 17";
  static constexpr char kCharacters[] = "s019(),*+- fmx\0~";
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = text;
    for (int k = random.below(4); k >= 0; --k) {
      const std::size_t at = static_cast<std::size_t>(random.below(static_cast<int>(damaged.size())));
      if (random.below(3) == 0) {
        damaged.erase(at, 1 + static_cast<std::size_t>(random.below(5)));
      } else {
        damaged[at] = kCharacters[random.below(sizeof kCharacters - 1)];
      }
      if (damaged.empty()) damaged = "s";
    }
    try {
      const Dim e = parse_dim(damaged);
      CHECK_MESSAGE(parse_dim(cat(e)) == e, damaged);
    } catch (const ArgumentError&) {}
  }
}

}  // namespace
}  // namespace resilin
