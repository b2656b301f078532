// tests/sym/facts_test.cpp -- what is recorded, what follows from it, and its text.
#include "resilin/sym/facts.h"

#include <doctest/doctest.h>

namespace resilin {
namespace {

const Dim s0 = Dim::symbol('s', 0), s1 = Dim::symbol('s', 1), s2 = Dim::symbol('s', 2), s3 = Dim::symbol('s', 3), s4 = Dim::symbol('s', 4);
const Dim i0 = Dim::symbol('i', 0), i1 = Dim::symbol('i', 1), i2 = Dim::symbol('i', 2);

std::string lines_of(const Facts& facts) {
  std::string out;
  for (const std::string& line : facts.print()) out += line + "; ";
  return out;
}

Facts loops(int axes, i64 least) {
  Facts facts;
  for (int k = 0; k < 5; ++k) facts.set_range({'s', k}, {least, Range::kHighest});
  for (int k = 0; k < axes; ++k) {
    facts.set_range({'i', k}, {0, Range::kHighest});
    facts.assume_less(Dim::symbol('i', k), Dim::symbol('s', k));
  }
  return facts;
}

TEST_CASE("a flat index is below the number of elements") {
  for (const i64 least : {0, 1}) {
    const Facts facts = loops(3, least);
    CHECK(facts.proves_less(i0, s0));
    CHECK(facts.proves_less(i0 * s1 + i1, s0 * s1));
    CHECK(facts.proves_less((i0 * s1 + i1) * s2 + i2, s0 * s1 * s2));
    CHECK(facts.proves_less(i1 * s2 + i2, s0 * s1 * s2));
    CHECK(facts.proves_less_equal(0, i0 * s1 + i1));
    CHECK(facts.proves_less_equal(0, s0 * s1));
    CHECK(facts.proves_less_equal(0, (s0 - 1 - i0) * s1 + i1));
    CHECK(facts.proves_less((s0 - 1 - i0) * s1 + i1, s0 * s1));
    CHECK(facts.is_less(s0 * s1, i0 * s1 + i1) == false);
    CHECK_FALSE(facts.is_less(i0, s1));
    CHECK_FALSE(facts.is_less(i0 * s1 + i1, s0 * s1 - 1));
    CHECK_FALSE(facts.is_less_equal(i0 * s1 + i1 + 1, s0 * s2));
  }
}

TEST_CASE("divided and clamped indices are bounded by their definitions") {
  Facts facts = loops(2, 1);
  CHECK(facts.proves_less(mod(i0 + i1, s2), s2));
  CHECK(facts.proves_less_equal(s2 * floordiv(i0, s2), i0));
  CHECK(facts.proves_less(i0, s2 * floordiv(i0, s2) + s2));
  CHECK(facts.proves_less_equal(4 * floordiv(i0, 4), i0));
  CHECK(facts.proves_less(4 * floordiv(i0, 4) + mod(i1, 4), s0 + 4));
  CHECK(facts.proves_less(min(i0 + 5, s1 - 1), s1));
  CHECK(facts.proves_less_equal(0, max(0, i0 - 3)));
  CHECK(facts.proves_less_equal(0, min(i0, s1 - 1)));
  CHECK(facts.proves_less(max(i0 - 3, 0), s0));
  CHECK(facts.proves_less_equal(s0, 8 * ceil_div(s0, 8)));
}

TEST_CASE("ranges follow intervals, inequalities and equalities") {
  Facts facts;
  facts.set_range({'s', 0}, {1, 64});
  facts.set_range({'i', 0}, {0, Range::kHighest});
  facts.assume_less(i0, s0);
  CHECK(facts.range(i0) == Range{0, 63});
  CHECK(facts.range(s0 - i0) == Range{1, 64});
  CHECK(facts.range(2 * s0 + 1) == Range{3, 129});
  CHECK(facts.range(floordiv(s0, 8)) == Range{0, 8});
  CHECK(facts.range(mod(s1, 8)) == Range{0, 7});
  CHECK(facts.range(-s0) == Range{-64, -1});
  CHECK(facts.range(s1) == Range{});
  CHECK(facts.range(s1 * s1).low == 0);
  CHECK(facts.range(Dim(7)) == Range{7, 7});
  facts.assume_equal(s1, 2 * s0);
  CHECK(facts.range(s1) == Range{2, 128});
  facts.assume_less_equal(s2 * s3, 100);
  CHECK(facts.range(s2 * s3).high == 100);
  facts.set_range({'s', 0}, {5, 5});
  CHECK(facts.simplify(s1 + i0 * s0) == 5 * i0 + 10);
}

TEST_CASE("answers come from differences") {
  Facts facts;
  facts.set_range({'s', 0}, {2, 10});
  CHECK(facts.is_equal(s0, s0) == true);
  CHECK(facts.is_equal(s0, s0 + 1) == false);
  CHECK(facts.is_equal(s0, 1) == false);
  CHECK_FALSE(facts.is_equal(s0, 5));
  CHECK(facts.is_less(s0, 11) == true);
  CHECK(facts.is_less(s0, 2) == false);
  CHECK(facts.is_less_equal(s0, 10) == true);
  CHECK(facts.is_less_equal(s0, 1) == false);
  CHECK_FALSE(facts.is_less(s0, 5));
  CHECK_FALSE(facts.is_less(s0, s1));
  facts.assume_less_equal(s1, s2);
  facts.assume_less_equal(s2, s1);
  CHECK(facts.is_equal(s1, s2) == true);
  facts.assume_less(s2, s3);
  CHECK(facts.is_less(s1, s3) == true);
  CHECK(facts.is_equal(s1, s3) == false);
}

TEST_CASE("assumptions about one symbol become its range") {
  Facts facts;
  facts.assume_less_equal(3, s0);
  facts.assume_less(2 * s0, 21);
  CHECK(lines_of(facts) == "s0 in [3, 10]; ");
  facts.assume_equal(mod(s0, 4), 0);
  CHECK(lines_of(facts) == "s0 in [4, 8]; s0 multiple 4; ");
  facts.assume_less(4, s0);
  CHECK(facts.simplify(s0) == 8);
}

TEST_CASE("what is known of a replaced symbol moves to what replaces it") {
  Facts facts;
  facts.set_range({'s', 2}, {8, 4096});
  facts.set_multiple({'s', 2}, 8);
  facts.assume_less(s4, s2);
  facts.assume_equal(s2, s0 * s1);
  CHECK(lines_of(facts) == "s2 = s0*s1; mod(s0*s1, 8) = 0; -s0*s1 + 4096 >= 0; s0*s1 - 8 >= 0; s0*s1 - s4 - 1 >= 0; ");
  CHECK(facts.range(s2) == Range{8, 4096});
  CHECK(facts.proves_multiple(s2, 8));
  CHECK(facts.proves_less(s4, s0 * s1));
  facts.set_range({'s', 2}, {Range::kLowest, 100});
  CHECK(facts.range(s0 * s1).high == 100);
  facts.assume_equal(s0, 4);
  CHECK(facts.simplify(s2) == 4 * s1);
  CHECK(facts.proves_less_equal(s1, 25));
}

TEST_CASE("chains of equalities have no cycles") {
  Facts facts;
  facts.assume_equal(s1, s2);
  facts.assume_equal(s2, s3);
  facts.assume_equal(s3, s1);
  CHECK(facts.simplify(s3 - s2) == 0);
  CHECK(facts.simplify(s1 - s2) == 0);
  facts.assume_equal(s0, s1 + 1);
  facts.assume_equal(s4, s0 + s3);
  CHECK(facts.simplify(s4) == 2 * s1 + 1);
  facts.assume_equal(s1, max(s1, 3));
  CHECK(facts.proves_less_equal(3, s1));
  CHECK_THROWS_AS(facts.assume_equal(s0, s1), ArgumentError);
}

TEST_CASE("contradictions are refused and leave the facts as they were") {
  Facts facts = loops(1, 1);
  facts.set_range({'s', 1}, {1, 10});
  const std::vector<std::string> lines = facts.print();
  CHECK_THROWS_WITH_AS(facts.set_range({'s', 1}, {11, 20}),
                       "facts: no value is left for s1: [11, 20] and [1, 10], multiple of 1; at least one must be left", ArgumentError);
  CHECK_THROWS_AS(facts.set_range({'s', 1}, {5, 4}), ArgumentError);
  CHECK_THROWS_AS(facts.set_multiple({'s', 1}, 11), ArgumentError);
  CHECK_THROWS_AS(facts.set_multiple({'s', 1}, 0), ArgumentError);
  CHECK_THROWS_AS(facts.assume_equal(s1, 12), ArgumentError);
  CHECK_THROWS_AS(facts.assume_equal(s0, i0), ArgumentError);
  CHECK_THROWS_AS(facts.assume_equal(2 * s0 * s1, 2 * s2 * s3 + 1), ArgumentError);
  CHECK_THROWS_AS(facts.assume_less(s0, i0), ArgumentError);
  CHECK_THROWS_AS(facts.assume_less(s1, 1), ArgumentError);
  CHECK_THROWS_AS(facts.assume_less_equal(i0 + 11, i0 + s1), ArgumentError);
  CHECK(facts.print() == lines);
}

TEST_CASE("facts print and read back") {
  Facts facts = loops(2, 1);
  facts.set_range({'s', 3}, {Range::kLowest, 7});
  facts.set_multiple({'s', 1}, 8);
  facts.assume_equal(s4, 3 * s0 + 1);
  facts.assume_equal(s2 * s3, s0 * s1 * i2);
  CHECK(lines_of(facts) ==
        "i0 in [0, inf]; i1 in [0, inf]; s0 in [1, inf]; s1 in [8, inf]; s1 multiple 8; s2 in [1, inf]; s3 in [1, 7]; s4 = 3*s0 + 1; "
        "i2*s0*s1 = s2*s3; -i0 + s0 - 1 >= 0; -i1 + s1 - 1 >= 0; ");
  Facts read;
  for (const std::string& line : facts.print()) read.parse_line(line);
  CHECK(read == facts);
  CHECK(read.proves_less(i0, s0));
}

TEST_CASE("lines that are no facts are refused") {
  Facts facts;
  for (const char* line :
       {"", "s0", "s0 in", "s0 in [", "s0 in [1]", "s0 in [1, ]", "s0 in [2, 1]", "s0 + 1 in [1, 2]", "s0 multiple x", "s0 multiple 0",
        "3 multiple 3", "s0 = ", "1 = 2", "s0 >= ", "-1 >= 0", "s0 in [1, 99999999999999999999]", "s0 in [0, 4611686018427387904]"}) {
    CHECK_THROWS_AS_MESSAGE(facts.parse_line(line), ArgumentError, line);
  }
  CHECK(facts.print().empty());
}

}  // namespace
}  // namespace resilin
