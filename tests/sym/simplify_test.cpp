// tests/sym/simplify_test.cpp -- the index expressions of reshapes, tiles and slices fold to what a person would write.
#include "resilin/sym/simplify.h"

#include <doctest/doctest.h>

#include "resilin/sym/facts.h"

namespace resilin {
namespace {

const Dim s0 = Dim::symbol('s', 0), s1 = Dim::symbol('s', 1), s2 = Dim::symbol('s', 2), s3 = Dim::symbol('s', 3), s4 = Dim::symbol('s', 4),
          s5 = Dim::symbol('s', 5);
const Dim i0 = Dim::symbol('i', 0), i1 = Dim::symbol('i', 1), i2 = Dim::symbol('i', 2), i3 = Dim::symbol('i', 3);

/// 0 <= i<k> < s<k> for the first `axes` loops, every size at least `least`.
Facts loops(int axes, i64 least = 0) {
  Facts facts;
  for (int k = 0; k < 6; ++k) facts.set_range({'s', k}, {least, Range::kHighest});
  for (int k = 0; k < axes; ++k) {
    facts.set_range({'i', k}, {0, Range::kHighest});
    facts.assume_less(Dim::symbol('i', k), Dim::symbol('s', k));
  }
  return facts;
}

/// Facts about constant sizes.
Facts fixed(std::initializer_list<i64> sizes) {
  Facts facts;
  int k = 0;
  for (const i64 size : sizes) facts.set_range({'i', k++}, {0, size - 1});
  return facts;
}

TEST_CASE("two axes that were merged come apart again") {
  const Facts facts = loops(2);
  const Dim flat = i0 * s1 + i1;
  CHECK(facts.simplify(floordiv(flat, s1)) == i0);
  CHECK(facts.simplify(mod(flat, s1)) == i1);
  CHECK(facts.simplify(floordiv(flat, s0 * s1)) == 0);
  CHECK(facts.simplify(mod(flat, s0 * s1)) == flat);
  CHECK(facts.simplify(s1 * floordiv(flat, s1) + mod(flat, s1)) == flat);
}

TEST_CASE("the digits of a mixed radix sum up to the number") {
  Facts facts = loops(0, 1);
  facts.set_range({'i', 0}, {0, Range::kHighest});
  const Dim three = s1 * s2 * floordiv(i0, s1 * s2) + s2 * mod(floordiv(i0, s2), s1) + mod(i0, s2);
  CHECK(facts.simplify(three) == i0);
  const Dim four =
      s1 * s2 * s3 * floordiv(i0, s1 * s2 * s3) + s2 * s3 * mod(floordiv(i0, s2 * s3), s1) + s3 * mod(floordiv(i0, s3), s2) + mod(i0, s3);
  CHECK(facts.simplify(four) == i0);
}

TEST_CASE("three and four merged axes come apart again") {
  const Facts facts = loops(4);
  const Dim three = (i0 * s1 + i1) * s2 + i2;
  CHECK(facts.simplify(floordiv(three, s2 * s1)) == i0);
  CHECK(facts.simplify(mod(floordiv(three, s2), s1)) == i1);
  CHECK(facts.simplify(mod(three, s2)) == i2);
  CHECK(facts.simplify(floordiv(floordiv(three, s2), s1)) == i0);
  CHECK(facts.simplify(mod(three, s1 * s2)) == i1 * s2 + i2);
  const Dim four = three * s3 + i3;
  CHECK(facts.simplify(floordiv(four, s1 * s2 * s3)) == i0);
  CHECK(facts.simplify(mod(floordiv(four, s2 * s3), s1)) == i1);
  CHECK(facts.simplify(mod(floordiv(four, s3), s2)) == i2);
  CHECK(facts.simplify(mod(four, s3)) == i3);
  CHECK(facts.simplify(floordiv(mod(four, s1 * s2 * s3), s2 * s3)) == i1);
  CHECK(facts.simplify(floordiv(mod(four, s2 * s3), s3)) == i2);
}

TEST_CASE("axes of constant size come apart by ranges alone") {
  const Facts facts = fixed({5, 3, 4, 7});
  const Dim flat = ((i0 * 3 + i1) * 4 + i2) * 7 + i3;
  CHECK(facts.simplify(floordiv(flat, 84)) == i0);
  CHECK(facts.simplify(mod(floordiv(flat, 28), 3)) == i1);
  CHECK(facts.simplify(mod(floordiv(flat, 7), 4)) == i2);
  CHECK(facts.simplify(mod(flat, 7)) == i3);
  CHECK(facts.simplify(floordiv(flat, 14)) == floordiv(i2 + 4 * i1 + 12 * i0, 2));
  CHECK(facts.simplify(14 * floordiv(flat, 14) + mod(flat, 14)) == flat);
}

TEST_CASE("a merged index is regrouped when the new axes cut the old ones") {
  const Facts facts = fixed({6, 4});
  const Dim flat = i0 * 4 + i1;
  CHECK(facts.simplify(floordiv(flat, 8)) == floordiv(i0, 2));
  CHECK(facts.simplify(mod(flat, 8)) == 4 * mod(i0, 2) + i1);
  Facts symbolic = loops(3, 1);
  CHECK(symbolic.simplify(floordiv(i0 * s1 + i1, s1 * s2)) == floordiv(i0, s2));
  CHECK(symbolic.simplify(mod(i0 * s1 + i1, s1 * s2)) == s1 * mod(i0, s2) + i1);
}

TEST_CASE("flipped and shifted indices fold too") {
  const Facts facts = loops(2);
  const Dim flipped = (s0 - 1 - i0) * s1 + (s1 - 1 - i1);
  CHECK(facts.simplify(floordiv(flipped, s1)) == s0 - 1 - i0);
  CHECK(facts.simplify(mod(flipped, s1)) == s1 - 1 - i1);
  CHECK(facts.simplify(mod(i0 + s0, s0)) == i0);
  CHECK(facts.simplify(mod(i0 - s0, s0)) == i0);
  CHECK(facts.simplify(floordiv(i0 - s0, s0)) == -1);
}

TEST_CASE("a quotient and its remainder join to the dividend") {
  Facts facts = loops(0, 1);
  const Dim n = s0, x = i0 * s3 + i1;
  CHECK(facts.simplify(n * floordiv(x, n) + mod(x, n)) == x);
  CHECK(facts.simplify(7 * floordiv(x, 7) + mod(x, 7)) == x);
  CHECK(facts.simplify(s1 * n * floordiv(x, n) + s1 * mod(x, n)) == s1 * x);
  CHECK(facts.simplify(3 * s1 * n * floordiv(x, n) + 3 * s1 * mod(x, n) + s2 - i2 * mod(i3, 5)) == 3 * s1 * x + s2 - i2 * mod(i3, 5));
  CHECK(facts.simplify(12 * floordiv(x, 12) + 4 * mod(floordiv(x, 4), 3) + mod(x, 4)) == x);
  CHECK(facts.simplify(s1 * s2 * floordiv(x, s1 * s2) + s2 * mod(floordiv(x, s2), s1) + mod(x, s2)) == x);
  CHECK(facts.simplify(n * floordiv(x + 5, n) + mod(x + 5, n) - 5) == x);
  // Not where the divisor may be 0, because both are 0 then.
  CHECK(loops(0, 0).simplify(n * floordiv(x, n) + mod(x, n)) == n * floordiv(x, n) + mod(x, n));
}

TEST_CASE("symbolic multiples divide") {
  const Facts facts = loops(0, 1);
  CHECK(facts.simplify(floordiv(s0 * s1, s1)) == s0);
  CHECK(facts.simplify(floordiv(s0 * s1 * s2, s2 * s0)) == s1);
  CHECK(facts.simplify(floordiv(s0, s0)) == 1);
  CHECK(facts.simplify(mod(s0 * (s1 + 1), s1 + 1)) == 0);
  CHECK(facts.simplify(floordiv((s1 + 1) * s0, s1 + 1)) == s0);
  CHECK(facts.simplify(floordiv(s0 * s1 + s1, s1)) == s0 + 1);
  CHECK(loops(0, 0).simplify(floordiv(s0 * s1, s1)) == floordiv(s0 * s1, s1));
}

TEST_CASE("ceil_div, min and max are decided by ranges") {
  Facts facts;
  facts.set_range({'s', 0}, {1, 8});
  facts.set_range({'s', 1}, {8, 64});
  facts.set_range({'i', 0}, {0, 7});
  CHECK(facts.simplify(ceil_div(s0, 8)) == 1);
  CHECK(facts.simplify(ceil_div(s0, s1)) == 1);
  CHECK(facts.simplify(min(s0, s1)) == s0);
  CHECK(facts.simplify(max(s0, s1)) == s1);
  CHECK(facts.simplify(min(s0, min(s1, s2))) == min(s0, s2));
  CHECK(facts.simplify(max(0, i0)) == i0);
  CHECK(facts.simplify(min(max(i0, 0), 7)) == i0);
  CHECK(facts.simplify(mod(i0, 8)) == i0);
  CHECK(facts.simplify(floordiv(i0 - 8, 8)) == -1);
  CHECK(facts.simplify(min(s0 * s1, s0)) == s0);
}

TEST_CASE("multiples make remainders vanish") {
  Facts facts = loops(0, 0);
  facts.set_multiple({'s', 0}, 8);
  facts.set_range({'i', 0}, {0, 7});
  CHECK(facts.simplify(mod(s0, 8)) == 0);
  CHECK(facts.simplify(mod(s0 * s1 + 3, 4)) == 3);
  CHECK(facts.simplify(8 * floordiv(s0, 8)) == s0);
  CHECK(facts.simplify(floordiv(s0 + i0, 8)) == floordiv(s0, 8));
  CHECK(facts.simplify(mod(s0 + i0, 8)) == i0);
  CHECK(facts.simplify(ceil_div(s0, 8) * 8) == s0);
  CHECK(facts.proves_multiple(s0 * s1, 8));
  CHECK(facts.proves_multiple(4 * s0 + 32, 32));
  CHECK(facts.proves_multiple(min(s0, 16), 8));
  CHECK(facts.proves_multiple(6 * s1, 3));
  CHECK_FALSE(facts.proves_multiple(s0 + 4, 8));
  CHECK_FALSE(facts.proves_multiple(s1, 2));
}

TEST_CASE("equal sizes replace each other") {
  Facts facts = loops(2, 1);
  facts.assume_equal(s5, s0);
  CHECK(facts.simplify(s5 * s1 - s0 * s1) == 0);
  CHECK(facts.simplify(floordiv(s5 * s1, s0)) == s1);
  CHECK(facts.proves_less(i0, s5));
  facts.assume_equal(s4, s0 * s1);
  CHECK(facts.simplify(floordiv(i0 * s1 + i1, s4)) == 0);
  CHECK(facts.simplify(mod(s4, s1)) == 0);
}

TEST_CASE("equal products replace each other, also inside larger products") {
  Facts facts = loops(3, 1);
  facts.assume_equal(s3 * s4, s0 * s1 * s2);
  CHECK(facts.simplify(s3 * s4 - s0 * s1 * s2) == 0);
  CHECK(facts.proves_equal(s5 * s3 * s4, s5 * s0 * s2 * s1));
  CHECK(facts.simplify(floordiv(s0 * s1 * s2, s3)) == s4);
  CHECK(facts.simplify(floordiv(s3 * s4, s0 * s1)) == s2);
  CHECK(facts.simplify(mod(s3 * s4, s0)) == 0);
  const Dim flat = (i0 * s1 + i1) * s2 + i2;
  CHECK(facts.proves_less(flat, s3 * s4));
  CHECK(facts.simplify(s4 * floordiv(flat, s4) + mod(flat, s4)) == flat);
  CHECK(facts.simplify(floordiv(flat, s3 * s4)) == 0);
}

TEST_CASE("simplify stays within its bounds on what it cannot solve") {
  Facts facts = loops(4);
  Dim e = i0;
  for (int k = 0; k < 8; ++k) e = floordiv(e * s1 + i1, s2 + k) + mod(e * i2 + s3, s0 + 2 * k);
  facts.simplify(e);
  Dim wide = 0;
  for (int k = 0; k < 200; ++k) wide += floordiv(Dim::symbol('t', k) + i0, s0) * Dim::symbol('t', k + 1);
  CHECK(facts.simplify(wide) == wide);
  const Dim large = Dim(Dim::kMax) * s0;
  CHECK(facts.simplify(large) == large);
  CHECK_FALSE(facts.is_less_equal(large, -large + s1));
}

}  // namespace
}  // namespace resilin
