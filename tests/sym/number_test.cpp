// tests/sym/number_test.cpp -- scalar operands: kinds, values and text.
#include "resilin/sym/number.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

namespace resilin {
namespace {

void check_round_trip(const Number& number, std::string_view text) {
  CHECK(cat(number) == text);
  CHECK(parse_number(text) == number);
}

TEST_CASE("a number keeps the kind of its C++ value") {
  CHECK(Number(true).kind() == NumberKind::Bool);
  CHECK(Number(3).kind() == NumberKind::Integer);
  CHECK(Number(3u).kind() == NumberKind::Integer);
  CHECK(Number(0.5f).kind() == NumberKind::Float);
  CHECK(Number() == Number(0.0));
  CHECK(Number(1) != Number(1.0));
  CHECK(Number(1) != Number(true));
}

TEST_CASE("a number reads as double and as integer") {
  CHECK(Number(0.75).as_double() == 0.75);
  CHECK(Number(-3).as_double() == -3.0);
  CHECK(Number(true).as_double() == 1.0);
  CHECK(Number(-2.9).as_integer() == -2);
  CHECK(Number(7).as_integer() == 7);
  CHECK(Number(-0x1p63).as_integer() == std::numeric_limits<i64>::min());
  CHECK_THROWS_AS(Number(0x1p63).as_integer(), ArgumentError);
  CHECK_THROWS_AS(Number(std::nan("")).as_integer(), ArgumentError);
}

TEST_CASE("an argument has no value yet") {
  const Number v = Number::argument(NumberKind::Float, 2);
  CHECK(v.is_argument());
  CHECK_THROWS_WITH_AS(v.as_double(), "number: the value is known only at run time: v2:f64; a constant is needed here", DataDependentError);
  CHECK_THROWS_AS(v.as_integer(), DataDependentError);
}

TEST_CASE("numbers print and read back bit for bit") {
  check_round_trip(true, "true");
  check_round_trip(false, "false");
  check_round_trip(3, "3");
  check_round_trip(std::numeric_limits<i64>::min(), "-9223372036854775808");
  check_round_trip(1.5, "0x1.8p+0");
  check_round_trip(-0.0, "-0x0p+0");
  check_round_trip(std::numeric_limits<double>::infinity(), "inf");
  check_round_trip(std::numeric_limits<double>::quiet_NaN(), "nan");
  check_round_trip(-std::numeric_limits<double>::quiet_NaN(), "nan");
  check_round_trip(std::numeric_limits<double>::denorm_min(), "0x0.0000000000001p-1022");
  check_round_trip(Number::argument(NumberKind::Float, 2), "v2:f64");
  check_round_trip(Number::argument(NumberKind::Integer, 0), "v0:i64");
  check_round_trip(Number::argument(NumberKind::Bool, 17), "v17:bool");
  CHECK(parse_number("0.1") == Number(0.1));
  CHECK(parse_number("1e3") == Number(1000.0));
}

TEST_CASE("text that is no number is refused") {
  for (const char* text : {"", "-", "True", "v", "v:f64", "v1", "v1:", "v1:f32", "v-1:f64", "v99999999999:f64", "1 ", " 1", "0x", "1.5.2",
                           "--1", "99999999999999999999", "nan(1)"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_number(text), ArgumentError);
  }
}

TEST_CASE("hashes of numbers agree with their equality") {
  CHECK(FieldTraits<Number>::hash(1, Number(2.5)) == FieldTraits<Number>::hash(1, Number(2.5)));
  CHECK(FieldTraits<Number>::hash(1, Number(1)) != FieldTraits<Number>::hash(1, Number(true)));
  CHECK(FieldTraits<Number>::hash(1, Number::argument(NumberKind::Float, 0)) != FieldTraits<Number>::hash(1, Number(0.0)));
}

}  // namespace
}  // namespace resilin
