// tests/sym/dim_test.cpp -- constants, the canonical form, and walks over expressions.
#include "resilin/sym/dim.h"

#include <array>
#include <atomic>
#include <set>
#include <thread>

#include <doctest/doctest.h>

#include "resilin/sym/dim_node.h"

#include "tests/sym/random_tree.h"

namespace resilin {
namespace {

const Dim s0 = Dim::symbol('s', 0), s1 = Dim::symbol('s', 1), s2 = Dim::symbol('s', 2), x = Dim::symbol('i', 0), y = Dim::symbol('i', 1);

TEST_CASE("constants compute like integers") {
  static constexpr Dim kFive = 5;
  CHECK(kFive == 5);
  CHECK(Dim(-7).value() == -7);
  CHECK(Dim(3) + 4 == 7);
  CHECK(Dim(3) - 4 == -1);
  CHECK(-Dim(3) == -3);
  CHECK(Dim(-3) * 4 == -12);
  CHECK(Dim(-3) * -4 == 12);
  CHECK(floordiv(-7, 2) == -4);
  CHECK(floordiv(7, -2) == -4);
  CHECK(mod(-7, 4) == 1);
  CHECK(mod(7, -4) == -1);
  CHECK(ceil_div(7, 2) == 4);
  CHECK(ceil_div(-7, 2) == -3);
  CHECK(min(Dim(2), Dim(3)) == 2);
  CHECK(max(Dim(2), Dim(3)) == 3);
  CHECK(product(Shape{2, 3, 4}) == 24);
  CHECK(product(Shape{}) == 1);
  CHECK(static_cast<i64>(Dim(9)) == 9);
}

TEST_CASE("constants beyond 62 bits are refused") {
  CHECK(Dim(Dim::kMax).value() == Dim::kMax);
  CHECK(Dim(Dim::kMin).value() == Dim::kMin);
  CHECK(Dim(Dim::kMin) + 1 - 1 == Dim::kMin);
  CHECK_THROWS_AS(Dim(Dim::kMax + 1), ArgumentError);
  CHECK_THROWS_AS(Dim(Dim::kMin - 1), ArgumentError);
  CHECK_THROWS_AS(Dim(~std::uint64_t{0}), ArgumentError);
  CHECK_THROWS_AS(Dim(Dim::kMax) + 1, ArgumentError);
  CHECK_THROWS_AS(Dim(Dim::kMin) - 1, ArgumentError);
  CHECK_THROWS_AS(-Dim(Dim::kMin), ArgumentError);
  CHECK_THROWS_AS(Dim(i64{1} << 31) * Dim(i64{1} << 31), ArgumentError);
  CHECK_THROWS_AS((s0 * Dim(Dim::kMax)) * 2, ArgumentError);
  CHECK(Dim(i64{1} << 31) * Dim(i64{1} << 30) == i64{1} << 61);
}

TEST_CASE("division by the constant 0 is refused") {
  CHECK_THROWS_AS(floordiv(5, 0), ArgumentError);
  CHECK_THROWS_AS(mod(s0, 0), ArgumentError);
}

TEST_CASE("the value of a symbol is refused by name") {
  CHECK_THROWS_WITH_AS(
      (s0 + 1).value(),
      "dim: not known yet: s0 + 1; a known integer is needed here: give the size as a constant, or state what must hold of it",
      DataDependentError);
  CHECK_THROWS_AS(Dim::symbol('S', 0), ArgumentError);
  CHECK_THROWS_AS(Dim::symbol('s', -1), ArgumentError);
  CHECK((s1.is_symbol() && s1.as_symbol() == Symbol{'s', 1}));
  CHECK_FALSE((s1 + 1).is_symbol());
}

TEST_CASE("equal polynomials are one word") {
  CHECK(s0 + s1 == s1 + s0);
  CHECK((s0 + 1) * (s0 - 1) == s0 * s0 - 1);
  CHECK(s0 * s1 - s1 * s0 == 0);
  CHECK((s0 + s1) * s2 == s2 * s1 + s0 * s2);
  CHECK(s0 + 0 == s0);
  CHECK(s0 * 1 == s0);
  CHECK(s0 * 0 == 0);
  CHECK(s0 != s1);
  CHECK((s0 + 1).hash() == (Dim(1) + s0).hash());
}

TEST_CASE("floordiv and mod by positive constants take multiples out") {
  CHECK(floordiv(4 * x + 3, 4) == x);
  CHECK(mod(4 * x + 3, 4) == 3);
  CHECK(floordiv(5 * x + 7, 4) == x + 1 + floordiv(x + 3, 4));
  CHECK(floordiv(floordiv(x, 3), 4) == floordiv(x, 12));
  CHECK(floordiv(floordiv(x, 3) + 2, 4) == floordiv(x + 6, 12));
  CHECK(floordiv(floordiv(x, s0), 4) == floordiv(x, 4 * s0));
  CHECK(floordiv(4 * x + 3, 8) == floordiv(x, 2));
  CHECK(mod(4 * x + 3, 8) == 4 * mod(x, 2) + 3);
  CHECK(mod(mod(x, 12), 4) == mod(x, 4));
  CHECK(mod(3 * mod(x, 4) + y, 12) == mod(3 * x + y, 12));
  CHECK(floordiv(x, -4) == floordiv(-x, 4));
  CHECK(mod(x, -4) == -mod(-x, 4));
  CHECK(floordiv(6 * x, 4 * s0) == floordiv(3 * x, 2 * s0));
}

TEST_CASE("of a symbolic divisor only what holds for 0 and below is assumed") {
  CHECK(mod(s0 * x, s0) == 0);
  CHECK(mod(s0 * x + y, s0) == mod(y, s0));
  CHECK(mod(mod(x, s0), s0) == mod(x, s0));
  CHECK(floordiv(s0, s0) != 1);
  CHECK(floordiv(0, s0) == 0);
  CHECK(floordiv(x, 2 * s0) == floordiv(-x, -2 * s0));
}

TEST_CASE("min and max are flat, sorted and thin") {
  CHECK(min(s0, min(s1, s2)) == min(min(s2, s0), s1));
  CHECK(min(s0, s0 + 1) == s0);
  CHECK(max(s0, s0 + 1) == s0 + 1);
  CHECK(max(min(s0, s1), min(s1, s0)) == min(s0, s1));
  CHECK(min(min(s0, 3), 5) == min(s0, 3));
}

TEST_CASE("the order of expressions is total and made by structure") {
  const std::vector<Dim> sorted = {-3,
                                   2,
                                   Dim::symbol('i', 0),
                                   Dim::symbol('s', 2),
                                   Dim::symbol('s', 10),
                                   floordiv(s0, 2),
                                   mod(s0, 2),
                                   min(s0, 2),
                                   max(s0, 2),
                                   s0 * s1,
                                   s0 * s1 * s2,
                                   s0 + 1,
                                   s0 * s1 + s0};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = 0; j < sorted.size(); ++j) {
      CHECK((compare_dims(sorted[i], sorted[j]) < 0) == (i < j));
      CHECK((compare_dims(sorted[i], sorted[j]) == 0) == (i == j));
    }
  }
}

TEST_CASE("hashes are the same in every process because cache keys hold them") {
  CHECK(Dim(5).hash() == 10920184660579097672u);
  CHECK((2 * s0 * s1 + floordiv(s2, 4) - 1).hash() == 854601363827183118u);
}

TEST_CASE("an affine expression gives its coefficient and rest") {
  const std::optional<Affine> parts = affine_in(2 * x * s0 + x + y - 1, x.as_symbol());
  REQUIRE(parts);
  CHECK(parts->coefficient == 2 * s0 + 1);
  CHECK(parts->rest == y - 1);
  CHECK_FALSE(affine_in(x * x, x.as_symbol()));
  CHECK_FALSE(affine_in(x + mod(x, 2), x.as_symbol()));
  CHECK_FALSE(affine_in(x * floordiv(x, 2), x.as_symbol()));
  CHECK(affine_in(y + 3, x.as_symbol())->coefficient == 0);
}

TEST_CASE("symbols are found, listed and replaced") {
  const Dim e = s1 * floordiv(x + s0, s2) + min(s0, 4);
  CHECK(contains(e, s2.as_symbol()));
  CHECK_FALSE(contains(e, y.as_symbol()));
  std::vector<Symbol> symbols;
  collect_symbols(e, symbols);
  CHECK(symbols.size() == 4);
  const Dim replaced = substitute(e, [](Symbol s) { return s == Symbol{'s', 2} ? Dim(2) : s == Symbol{'s', 0} ? 2 * s1 : Dim::symbol(s); });
  CHECK(replaced == s1 * floordiv(x, 2) + s1 * s1 + min(2 * s1, 4));
}

TEST_CASE("evaluate refuses division by zero and overflow") {
  const auto with = [](i64 a, i64 b) { return [a, b](Symbol s) { return s.index == 0 ? a : b; }; };
  CHECK(evaluate(3 * s0 * s1 - 1, with(4, 5)) == 59);
  CHECK(evaluate(mod(s0, s1), with(-7, 4)) == 1);
  CHECK_THROWS_AS(evaluate(floordiv(s0, s1), with(1, 0)), ArgumentError);
  CHECK_THROWS_AS(evaluate(s0 * s1, with(i64{1} << 40, i64{1} << 40)), ArgumentError);
  CHECK_THROWS_AS(evaluate(floordiv(s0, s1), with(std::numeric_limits<i64>::min(), -1)), ArgumentError);
  CHECK(evaluate(mod(s0, s1), with(std::numeric_limits<i64>::min(), -1)) == 0);
}

TEST_CASE("an expression that grows too large is refused") {
  Dim deep = x;
  CHECK_THROWS_AS(for (int i = 0; i < 1000; ++i) deep = floordiv(deep + 1, s0), ArgumentError);
  Dim wide = 1;
  CHECK_THROWS_AS(for (int i = 0; i < 1000; ++i) wide = wide * (Dim::symbol('s', i) + 1), ArgumentError);
  Dim shared = x;
  CHECK_THROWS_AS(for (int i = 0; i < 1000; ++i) shared = max(floordiv(shared, 3), min(shared, s1)), ArgumentError);
}

TEST_CASE("the view shows sums, products and operands") {
  const DimView sum = view(2 * s0 * s0 + s1 - 3);
  CHECK(sum.kind == DimKind::Sum);
  CHECK(sum.constant == -3);
  REQUIRE(sum.factors.size() == 2);
  CHECK(sum.factors[0] == 2);
  CHECK(sum.factors[1] == 1);
  CHECK(view(sum.arguments[0]).kind == DimKind::Product);
  CHECK(view(sum.arguments[0]).arguments.size() == 2);
  CHECK(view(2 * s0).kind == DimKind::Sum);
  CHECK(view(s0).kind == DimKind::Symbol);
  CHECK(view(7).constant == 7);
  CHECK(view(mod(s0, 3)).arguments[1] == 3);
}

TEST_CASE("the canonical form has the value of what was written") {
  RandomTrees random(test_seed(), 3);
  MESSAGE("seed ", test_seed());
  int built = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::shared_ptr<const Tree> tree = random.tree(1 + random.below(9));
    Dim e;
    try {
      e = dim_of(*tree);
    } catch (const ArgumentError&) {
      continue;
    }
    ++built;
    bool same = true;
    std::array<i64, 3> v{};
    for (v[0] = -3; v[0] <= 4; ++v[0]) {
      for (v[1] = -2; v[1] <= 4; ++v[1]) {
        for (v[2] = -1; v[2] <= 3; ++v[2]) same = same && total_value(e, v) == value_of(*tree, v);
      }
    }
    CHECK_MESSAGE(same, text_of(*tree), " became ", cat(e));
    if (!same) break;
  }
  CHECK(built > 3000);
}

TEST_CASE("threads that build the same expressions get the same words") {
  std::array<std::vector<std::uintptr_t>, 4> words;
  std::vector<std::thread> threads;
  std::atomic<int> ready = 0;
  for (std::vector<std::uintptr_t>& mine : words) {
    threads.emplace_back([&] {
      for (++ready; ready < 4;) {}
      for (int i = 0; i < 3000; ++i) mine.push_back((Dim::symbol('q', i) * s0 + floordiv(Dim::symbol('q', i), 7)).word());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<std::uintptr_t>& mine : words) CHECK(mine == words[0]);
  CHECK(std::set(words[0].begin(), words[0].end()).size() == 3000);
}

}  // namespace
}  // namespace resilin
