// tests/dist/wire/codec_test.cpp -- values as payloads: their bytes, their way back, and payloads that nobody wrote.
#include "resilin/dist/wire/codec.h"

#include <array>
#include <random>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

namespace resilin::dist {
namespace {

enum class Colour { Red, Green };
constexpr std::array<std::string_view, 2> enum_names(Colour*) { return {"red", "green"}; }

struct Inner {
  std::int16_t a = 0;
  bool b = false;
  static constexpr auto fields() { return std::tuple{field("a", &Inner::a), field("b", &Inner::b)}; }
  friend bool operator==(const Inner&, const Inner&) = default;
};

struct Outer {
  std::uint64_t number = 0;
  std::string text;
  std::vector<Inner> list;
  std::optional<double> maybe;
  Colour colour = Colour::Red;
  std::array<std::uint8_t, 2> pair{};
  std::variant<std::uint32_t, std::string> either;
  static constexpr auto fields() {
    return std::tuple{field("number", &Outer::number), field("text", &Outer::text),     field("list", &Outer::list),
                      field("maybe", &Outer::maybe),   field("colour", &Outer::colour), field("pair", &Outer::pair),
                      field("either", &Outer::either)};
  }
  friend bool operator==(const Outer&, const Outer&) = default;
};

const Outer kValue{7, "ab", {{-2, true}, {3, false}}, 1.5, Colour::Green, {8, 9}, std::string("z")};

std::string message_of(std::string_view payload) {
  try {
    decode<Outer>(payload);
  } catch (const DistError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("a value has the bytes that its fields say, in their order") {
  const char expected[] =
      "\7\0\0\0\0\0\0\0"          // number
      "\2\0\0\0ab"                // text
      "\2\0\0\0\xfe\xff\1\3\0\0"  // list
      "\1\0\0\0\0\0\0\xf8\x3f"    // maybe
      "\1\0\0\0"                  // colour
      "\x8\x9"                    // pair
      "\1\1\0\0\0z";              // either
  CHECK(encode(kValue) == std::string(expected, sizeof expected - 1));
}

TEST_CASE("a value comes back from its bytes") {
  CHECK(decode<Outer>(encode(kValue)) == kValue);
  CHECK(decode<Outer>(encode(Outer{})) == Outer{});
}

TEST_CASE("a payload that is cut anywhere or too long is refused") {
  const std::string whole = encode(kValue);
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK(message_of(whole.substr(0, size)).starts_with("wire: a payload"));
  CHECK(message_of(whole + "x") == "wire: a payload is too long: 1 bytes follow its value; none may");
}

TEST_CASE("four billion announced items cost nothing") {
  std::string payload(8, '\0');
  payload += std::string(4, '\xff');
  CHECK(message_of(payload) == "wire: a payload announces too much: 4294967295 items; its 0 bytes hold at most 0");
  payload += "abc";
  CHECK(message_of(payload) == "wire: a payload announces too much: 4294967295 items; its 3 bytes hold at most 3");
}

TEST_CASE("numbers that name nothing are refused") {
  std::string flag = encode(Inner{});
  flag[2] = 2;
  CHECK_THROWS_WITH_AS(decode<Inner>(flag), "wire: a payload holds no alternative: number 2; it must be below 2", DistError);
  CHECK_THROWS_WITH_AS(decode<Colour>(std::string("\2\0\0\0", 4)), "wire: a payload holds no enumerator: number 2; it must be below 2",
                       DistError);
}

TEST_CASE("mutated payloads give values or errors") {
  std::mt19937_64 random(7);
  const std::string whole = encode(kValue);
  int values = 0, errors = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string bytes = whole;
    for (std::uint64_t change = random() % 3 + 1; change > 0; --change) bytes[random() % bytes.size()] = static_cast<char>(random());
    try {
      const Outer value = decode<Outer>(bytes);
      CHECK(encode(value) == bytes);  // one value has one text
      ++values;
    } catch (const DistError&) {
      ++errors;
    }
  }
  CHECK(values > 1000);
  CHECK(errors > 1000);
}

}  // namespace
}  // namespace resilin::dist
