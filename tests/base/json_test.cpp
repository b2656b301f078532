// tests/base/json_test.cpp -- JSON reads, writes and refuses.
#include "resilin/base/json.h"

#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

namespace resilin {
namespace {

std::string error_of(std::string_view text, std::size_t limit_bytes = 1000) {
  try {
    parse_json(text, limit_bytes);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "no error";
}

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') + std::string(static_cast<std::size_t>(levels), ']');
}

TEST_CASE("a document reads into values by kind") {
  const Json json = parse_json(R"( {"a": [1, -2.5, true, null], "b": {"c": "x"}, "d": {}, "e": [] , "f": 1e2} )");
  CHECK(json.object().size() == 5);
  CHECK(json.at("a").array()[0].integer() == 1);
  CHECK(json.at("a").array()[0].number() == 1.0);
  CHECK(json.at("a").array()[1].number() == -2.5);
  CHECK(json.at("a").array()[2].flag());
  CHECK(json.at("a").array()[3].is_null());
  CHECK(json.at("b").at("c").text() == "x");
  CHECK(json.at("f").number() == 100.0);
  CHECK_FALSE(json.at("f").is_integer());
  CHECK(json.find("z") == nullptr);
  CHECK_THROWS_WITH_AS(json.at("z"), "json: the key \"z\" is missing; the object must have it", ArgumentError);
  CHECK_THROWS_WITH_AS(json.at("b").integer(), "json: the value is an object; an integer is needed", ArgumentError);
  CHECK_THROWS_AS(json.at("a").at("b"), ArgumentError);
}

TEST_CASE("integers of 64 bits are exact and longer ones are refused") {
  CHECK(parse_json("9223372036854775807").integer() == std::numeric_limits<i64>::max());
  CHECK(parse_json("-9223372036854775808").integer() == std::numeric_limits<i64>::min());
  CHECK(parse_json("9007199254740993").integer() == 9007199254740993);
  CHECK(error_of("[9223372036854775808]") == "parse_json: an integer beyond 64 bits at byte 1; JSON is needed");
  CHECK(error_of("1e999") == "parse_json: a number beyond a double at byte 0; JSON is needed");
}

TEST_CASE("escapes become UTF-8") {
  CHECK(parse_json(R"("\"\\\/\b\f\n\r\t")").text() == "\"\\/\b\f\n\r\t");
  CHECK(parse_json(R"("\u0041\u00e9\u20AC\ud83d\ude00\u0000")").text() == std::string("Aé€😀\0", 11));
  CHECK(parse_json("\"é€😀\"").text() == "é€😀");
}

TEST_CASE("what is written reads back equal") {
  const Json json(Json::Object{{"text", "quote \" slash \\ \n \x01 é"},
                               {"numbers", Json::Array{1, -1.5, 1e300, 3.0, 5e-324, i64{1} << 62}},
                               {"flags", Json::Array{true, false, nullptr}},
                               {"empty", Json::Object{}},
                               {"", Json::Array{}}});
  CHECK(parse_json(write_json(json)) == json);
  CHECK(write_json(Json::Object{{"a", Json::Array{1, 3.0, "x"}}, {"b", nullptr}}) == R"({"a":[1,3.0,"x"],"b":null})");
  CHECK_THROWS_AS(write_json(std::numeric_limits<double>::quiet_NaN()), ArgumentError);
}

TEST_CASE("malformed texts are refused with the byte where they go wrong") {
  CHECK(error_of("{\"a\":1,}") == "parse_json: no key at byte 7; JSON is needed");
  CHECK(error_of("[1 2]") == "parse_json: no comma at byte 3; JSON is needed");
  CHECK(error_of("{\"a\":1,\"a\":2}") == "parse_json: a repeated key at byte 10; JSON is needed");
  CHECK(error_of("1 x") == "parse_json: text after the value at byte 2; JSON is needed");
  for (const char* text : {"",
                           " ",
                           "{",
                           "[",
                           "[1,",
                           "{\"a\"",
                           "{\"a\":",
                           "{1:2}",
                           "[,]",
                           "tru",
                           "nul",
                           "-",
                           "01",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "+1",
                           "0x1",
                           "NaN",
                           "Infinity",
                           "'a'",
                           "\"a",
                           "\"\\",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\ud800\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\udc00\"",
                           "\"\n\"",
                           "]",
                           "}",
                           "[1]]",
                           "\"\\u+123\"",
                           "\"\\u-123\""}) {
    CAPTURE(text);
    CHECK(error_of(text) != "no error");
  }
}

TEST_CASE("text that is not UTF-8 is refused") {
  for (const char* bytes : {"\"\xff\"", "\"\xc0\x80\"", "\"\xe0\x80\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
                            "\"\xf0\x80\x80\x80\"", "\"\xc3\"", "\"\x80\""}) {
    CAPTURE(bytes);
    CHECK(error_of(bytes).find("not UTF-8") != std::string::npos);
  }
}

TEST_CASE("depth and size are limited") {
  CHECK(parse_json(nested(65)).is_array());
  CHECK(error_of(nested(66)).find("64 levels") != std::string::npos);
  CHECK(error_of(std::string(100'000, '['), 1'000'000).find("64 levels") != std::string::npos);
  CHECK(error_of("[1]", 2) == "parse_json: the text is too long: 3 bytes; at most 2 are read");
}

TEST_CASE("every prefix of a document is refused without harm") {
  const std::string text = R"({"a":[1,-2.5e3,{"b":"\u00e9\ud83d\ude00é"}],"c":true})";
  for (std::size_t size = 0; size < text.size(); ++size) CHECK(error_of(text.substr(0, size)) != "no error");
  CHECK(error_of(text) == "no error");
}

}  // namespace
}  // namespace resilin
