// tests/sym/evaluate_test.cpp -- programs compute what evaluate does.
#include "resilin/sym/evaluate.h"

#include <array>
#include <limits>

#include <doctest/doctest.h>

#include "tests/sym/random_tree.h"

namespace resilin {
namespace {

const Dim s0 = Dim::symbol('s', 0), s1 = Dim::symbol('s', 1), s2 = Dim::symbol('s', 2);

TEST_CASE("a program computes constants, symbols and expressions in one go") {
  const std::vector<Dim> dims = {7, s2, 2 * s0 * s2 - 1, floordiv(s0, s2), s0, mod(-s0, 4), min(s0, s2), max(s0, s2)};
  const DimProgram program(dims);
  CHECK(program.size() == dims.size());
  CHECK(program.symbol_count() == 3);
  const std::array<i64, 3> symbols = {9, 100, 4};
  std::array<i64, 8> out{};
  program.evaluate(symbols, out.data());
  CHECK(out == std::array<i64, 8>{7, 4, 71, 2, 9, 3, 4, 9});
}

TEST_CASE("a program refuses overflow and answers 0 to a division by zero") {
  const std::vector<Dim> dims = {s0 * s1, floordiv(5, s2), mod(s0, s2)};
  const DimProgram program(dims);
  std::array<i64, 3> out{};
  program.evaluate(std::array<i64, 3>{3, 4, 0}, out.data());
  CHECK(out == std::array<i64, 3>{12, 0, 0});
  const std::array<i64, 3> large = {i64{1} << 40, i64{1} << 40, 1};
  CHECK_THROWS_AS(program.evaluate(large, out.data()), ArgumentError);
  const std::vector<Dim> negation = {floordiv(s0, s1)};
  const std::array<i64, 2> lowest = {std::numeric_limits<i64>::min(), -1};
  CHECK_THROWS_AS(DimProgram(negation).evaluate(lowest, out.data()), ArgumentError);
}

TEST_CASE("a program refuses symbols that have no value at a launch") {
  const std::vector<Dim> dims = {s0 + Dim::symbol('i', 0)};
  CHECK_THROWS_WITH_AS(DimProgram{dims}, "sizes: a symbol without a value: i0; only s0, s1, ... have one at a launch", ArgumentError);
  CHECK(DimProgram().size() == 0);
}

TEST_CASE("a program agrees with evaluate on random expressions") {
  RandomTrees random(test_seed() + 3, 3);
  MESSAGE("seed ", test_seed());
  int compared = 0;
  for (int i = 0; i < 2000; ++i) {
    Dim e;
    try {
      e = dim_of(*random.tree(1 + random.below(12)));
    } catch (const ArgumentError&) {
      continue;
    }
    for (int k = 0; k < 8; ++k) {
      const std::array<i64, 3> v = {random.below(9) - 3, random.below(9) - 3, random.below(9) - 3};
      try {
        const i64 expected = evaluate(e, [&](Symbol s) { return v[static_cast<std::size_t>(s.index)]; });
        CHECK_MESSAGE(total_value(e, v) == expected, cat(e));
        ++compared;
      } catch (const ArgumentError&) {}
    }
  }
  CHECK(compared > 5000);
}

TEST_CASE("a program runs the deepest expression there is") {
  Dim deep = s0;
  for (int i = 0;; ++i) {
    try {
      deep = s1 * s0 + floordiv(deep, s2);
    } catch (const ArgumentError&) {
      break;
    }
  }
  CHECK(total_value(deep, std::array<i64, 3>{1, 2, 2}) == 3);
}

}  // namespace
}  // namespace resilin
