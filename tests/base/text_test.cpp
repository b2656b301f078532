// tests/base/text_test.cpp -- joined text and exact numbers.
#include "resilin/base/text.h"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

namespace resilin {
namespace {

TEST_CASE("cat joins values of every printable kind") {
  CHECK(cat("a", 1, ' ', true, -2.5, std::string("s"), std::uint64_t{18446744073709551615u}) == "a1 true-2.5s18446744073709551615");
  CHECK(cat(std::vector<i64>{1, 2, 3}, std::vector<std::string>{"x"}) == "[1, 2, 3][x]");
  CHECK(cat(std::vector<i64>{}) == "[]");
  CHECK(cat(0.1f) == "0.10000000149011612");
}

TEST_CASE("hex floats read back bit for bit") {
  CHECK(hex_float(1.5) == "0x1.8p+0");
  for (const double value : {0.0, -0.0, 1.0, -0.1, 3e-310, 5e-324, 1.7976931348623157e308, 12345.678, -1.0 / 3.0}) {
    const double back = parse_float(hex_float(value));
    CHECK(back == value);
    CHECK(std::signbit(back) == std::signbit(value));
  }
  CHECK(hex_float(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(hex_float(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(parse_float("-inf") == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(parse_float(hex_float(std::nan("")))));
  CHECK(parse_float("2.5e-1") == 0.25);
}

TEST_CASE("parse_float refuses what is not a number") {
  for (const char* text : {"", "-", "0x", "1.0f", "abc", "--1", "1 ", " 1", "infinity", "0x-1", "1e999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_float(text), ArgumentError);
  }
}

TEST_CASE("parse_integer reads 64 bits and refuses the rest") {
  CHECK(parse_integer("-9223372036854775808") == std::numeric_limits<i64>::min());
  CHECK(parse_integer("9223372036854775807") == std::numeric_limits<i64>::max());
  for (const char* text : {"", "-", "+1", "1.0", "9223372036854775808", "0x10", "1 "}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_integer(text), ArgumentError);
  }
}

}  // namespace
}  // namespace resilin
